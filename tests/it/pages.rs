//! `fidelake serve --http` and `fidelake report --out`: what a browser gets, and what it never gets.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::readers::python;
use crate::support::{Place, Ran, assert_said, listening, sample, skipped, text};

/// Pages that are served, until the end of their test.
struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Served {
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut args = vec!["serve", "--http", "127.0.0.1:0"];
        args.extend(options);
        let (child, address) = listening(&mut place.command(&args), "http://");
        Self { child, address }
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host = if headers.contains("Host:") {
            ""
        } else {
            "Host: localhost\r\n"
        };
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let patience = Duration::from_secs(60);
        stream.set_read_timeout(Some(patience)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}{length}Connection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut answer = Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head,
            body: bytes[end + 4..].to_vec(),
        };
        if answer.header("transfer-encoding") == Some("chunked") && method != "HEAD" {
            answer.body = joined(&answer.body);
        }
        answer
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text().to_owned()
    }
}

/// The pieces of a body put together; one that broke off has no last piece.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        rest = &rest[end + 2..];
        if size == 0 {
            return out;
        }
        out.extend_from_slice(&rest[..size]);
        rest = &rest[size + 2..];
    }
}

/// A page as a reader without eyes for tags gets it: one line per block.
fn words(page: &str) -> String {
    let main = page.split_once("<main").unwrap().1;
    let main = main
        .split_once('>')
        .unwrap()
        .1
        .split("</main>")
        .next()
        .unwrap();
    let mut out = String::new();
    let mut rest = main;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find('>').unwrap() + at;
        let tag = &rest[at + 1..end];
        let name: String = tag
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '/')
            .collect();
        match name.as_str() {
            "svg" => {
                let skipped = rest[at..].find("</svg>").unwrap() + at;
                out.push_str("[plot]\n");
                rest = &rest[skipped + "</svg>".len()..];
                continue;
            }
            "th" | "td" | "option" => out.push_str(" | "),
            "/tr" | "/p" | "/h1" | "/h2" | "/h3" | "/h4" | "/dd" | "/li" | "/summary" | "/div"
            | "/pre" | "br" | "/caption" | "/select" => out.push('\n'),
            _ => {}
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    let lines = out
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        // What is shown until the content comes, if that takes a while.
        .filter(|line| !line.contains("is being added up"));
    let text = lines.collect::<Vec<_>>().join("\n");
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

fn told(text: String) -> Ran {
    Ran {
        code: Some(0),
        stdout: text,
        stderr: String::new(),
    }
}

fn airline() -> Place {
    let place = Place::new();
    place.import(&[
        text(&sample("airline_gold.jsonl")),
        text(&sample("airline_probe.jsonl")),
        text(&sample("files.jsonl")),
    ]);
    place.done(&["profile"]);
    place
}

#[test]
fn every_page_says_what_the_lake_holds() {
    let place = airline();
    place.done(&["mine", "--min-calls", "2"]);
    let served = Served::start(&place, &[]);
    for (name, path) in [
        ("overview", "/"),
        ("heat", "/heat?environment=airline"),
        (
            "calls",
            "/calls?environment=airline&api=book_reservation&outcome=ok+-%3E+invalid_arguments",
        ),
        (
            "trajectory",
            "/trajectory?environment=airline&id=airline%2Fprobe%2F8&call=6.0",
        ),
        ("budget", "/budget"),
        ("monitor", "/monitor"),
        ("sql", "/sql?q=heat&environment=airline&run=1"),
    ] {
        let page = served.page(path);
        assert_said!(place, format!("page_{name}"), told(words(&page)));
    }
    let patterns = words(&served.page("/patterns"));
    assert!(
        patterns.contains("book_reservation is ok on sim, invalid_arguments on real"),
        "{patterns}"
    );
    // Every link of every page leads somewhere.
    let mut seen = vec!["/".to_owned()];
    let mut at = 0;
    while at < seen.len() && at < 120 {
        let path = seen[at].clone();
        at += 1;
        let answer = served.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        if !answer
            .header("content-type")
            .unwrap()
            .starts_with("text/html")
        {
            continue;
        }
        let page = answer.text();
        for part in page.split("href=\"").skip(1) {
            let to = part.split('"').next().unwrap().replace("&amp;", "&");
            let to = to.split('#').next().unwrap().to_owned();
            if to.starts_with('/') && !seen.contains(&to) {
                seen.push(to);
            }
        }
    }
    assert!(seen.len() > 60, "{seen:?}");
    let policy = served.get("/");
    let policy = policy.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"));
}

#[test]
fn files_hold_what_the_query_gives() {
    let place = airline();
    let served = Served::start(&place, &[]);
    for query in [
        "q=environments",
        "q=heat&environment=airline",
        "q=calls&environment=airline&api=book_reservation",
        "q=calls&outcome=ok+-%3E+invalid_arguments",
        "q=examples&api=get_reservation_details",
        "q=worst_calls",
        "q=over_time",
    ] {
        let page = served.page(&format!("/sql?{query}"));
        let sql = page
            .split_once("<code>-- ")
            .unwrap()
            .1
            .split("</code>")
            .next()
            .unwrap();
        let sql = format!(
            "-- {}",
            sql.replace("&gt;", ">")
                .replace("&lt;", "<")
                .replace("&quot;", "\"")
                .replace("&amp;", "&")
        );
        place.write("query.sql", sql);
        let wanted = place
            .done(&["sql", "--format", "csv", "--file", "query.sql"])
            .stdout;
        let csv = served.get(&format!("/data.csv?{query}"));
        assert_eq!(csv.status, 200);
        assert_eq!(csv.text(), wanted, "{query}");
        assert!(wanted.lines().count() > 1, "{query}");
        assert!(
            csv.header("content-disposition")
                .unwrap()
                .starts_with("attachment; filename=\"fidelake-")
        );
        let parquet = served.get(&format!("/data.parquet?{query}"));
        assert_eq!(
            parquet.header("content-type"),
            Some("application/vnd.apache.parquet")
        );
        let bytes = bytes::Bytes::from(parquet.body);
        let rows =
            parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        let rows: usize = rows
            .build()
            .unwrap()
            .map(|batch| batch.unwrap().num_rows())
            .sum();
        assert!(
            rows > 0 && rows < wanted.lines().count() + 1,
            "{query}: {rows}"
        );
    }
    for made in [
        "q=estimate",
        "q=trajectory&environment=airline&id=airline%2Fprobe%2F8",
    ] {
        assert!(
            served
                .get(&format!("/data.csv?{made}"))
                .text()
                .lines()
                .count()
                > 1,
            "{made}"
        );
        assert!(
            served
                .get(&format!("/data.parquet?{made}"))
                .body
                .starts_with(b"PAR1"),
            "{made}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let place = airline();
    let served = Served::start(&place, &[]);
    for (path, status, said) in [
        ("/nowhere", 404, "there is no page"),
        ("/../../etc/passwd", 404, "there is no page"),
        ("/%2e%2e/%2e%2e/etc/passwd", 404, "there is no page"),
        (
            "/heat?environment=airline&environment=files",
            400,
            "given twice",
        ),
        (
            "/heat?dimension=rew",
            400,
            "one of all, obs, act, trans is needed",
        ),
        ("/heat?from=-1", 400, "a number from 0"),
        ("/heat?form=1", 400, "none of this page"),
        ("/calls?cause=bad", 400, "one of structural"),
        ("/trajectory", 400, "is missing"),
        ("/trajectory?id=nothing", 404, "there is no trajectory"),
        (
            "/trajectory?id=airline%2Fprobe%2F8&call=x",
            400,
            "turn and place",
        ),
        ("/pattern?id=zzz", 404, "patterns"),
        ("/sql?q=DROP+TABLE", 404, "there is no query"),
        ("/data.csv?q=nothing", 404, "there is no query"),
        ("/data.csv", 400, "is missing"),
        (
            "/text?environment=airline&run=x&turn=0&index=0",
            404,
            "no such run",
        ),
        (
            "/text?environment=airline&run=x&turn=a&index=0",
            400,
            "a number is needed",
        ),
        ("/?version=99", 404, "there is no lake version 99"),
        ("/?version=x", 400, "a number from 0"),
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(answer.text().contains(said), "{path}: {}", answer.text());
        assert!(answer.header("content-security-policy").is_some());
    }
    let long = format!("/heat?environment={}", "x".repeat(20_000));
    assert_eq!(served.get(&long).status, 414);
    let quote = served.page("/calls?environment=airline%27+OR+%271%27%3D%271");
    assert!(quote.contains("No compared call is like this"));
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let answer = served.ask(method, "/", "", "x=1");
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, HEAD")),
            "{method}"
        );
    }
    assert_eq!(served.ask("GET", "/", "", "body").status, 413);
    let head = served.ask("HEAD", "/heat", "", "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for (headers, status) in [
        ("Host: evil.example\r\n", 403),
        ("Host: 127.0.0.1.evil.example:80\r\n", 403),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n", 200),
    ] {
        assert_eq!(
            served.ask("GET", "/", headers, "").status,
            status,
            "{headers}"
        );
    }
}

#[test]
fn beyond_this_machine_only_with_a_token() {
    let place = airline();
    let ran = place.run(&["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("--token-file") && ran.stderr.contains("TLS"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.run(&["serve"]).code, Some(2));
    place.write("token", "open-sesame-open-sesame\n");
    let served = Served::start(&place, &["--token-file", "token"]);
    let refused = served.get("/");
    assert_eq!(refused.status, 401);
    assert!(
        refused
            .header("www-authenticate")
            .unwrap()
            .starts_with("Basic")
    );
    // u:open-sesame-open-sesame, and u:wrong
    let right = "Authorization: Basic dTpvcGVuLXNlc2FtZS1vcGVuLXNlc2FtZQ==\r\n";
    let bearer = "Authorization: Bearer open-sesame-open-sesame\r\n";
    assert_eq!(served.ask("GET", "/", right, "").status, 200);
    assert_eq!(served.ask("GET", "/", bearer, "").status, 200);
    assert_eq!(
        served
            .ask("GET", "/", "Authorization: Basic dTp3cm9uZw==\r\n", "")
            .status,
        401
    );
    assert_eq!(served.ask("GET", "/data.csv?q=heat", "", "").status, 401);
}

/// Payloads as an attacker would have them.
fn hostile() -> Place {
    let evil = "</pre></script><script>document.title='owned'</script><img src=x onerror=alert(1)>\u{202e}\"'javascript:alert(1)";
    let place = Place::new();
    let mut lines = String::new();
    for (arm, answer) in [
        ("sim", json!({ evil: evil, "n": 1 })),
        ("real", json!({ evil: "other", "n": 2 })),
    ] {
        let run = json!({
            "fidelake": 1, "trajectory_id": format!("t/{evil}"), "environment": "e<script>\"'", "arm": arm, "repeat": 0, "task": evil,
            "calls": [{"turn": 0, "index": 0, "name": format!("tool{evil}"), "arguments": {"q": evil},
                       "result": {"content": answer, "is_error": false}},
                      {"turn": 1, "index": 0, "name": "javascript:alert(1)", "arguments": {},
                       "result": {"content": format!("{evil}{arm}{}", "x".repeat(40_000)), "is_error": arm == "real"}}],
            "verdicts": [{"judge": evil, "agent": evil, "reward": 1.0}],
        });
        let _ = writeln!(lines, "{run}");
    }
    place.write("evil.jsonl", lines);
    place.import(&["evil.jsonl"]);
    place.done(&["profile"]);
    place
}

#[test]
fn payloads_are_text_and_nothing_else() {
    let place = hostile();
    let served = Served::start(&place, &[]);
    let mut seen = vec![
        "/".to_owned(),
        "/heat".into(),
        "/calls".into(),
        "/budget".into(),
        "/sql?q=examples&run=1".into(),
    ];
    let mut at = 0;
    let mut texts = 0;
    while at < seen.len() && at < 150 {
        let path = seen[at].clone();
        at += 1;
        let answer = served.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        if !answer
            .header("content-type")
            .unwrap()
            .starts_with("text/html")
        {
            continue;
        }
        let page = answer.text();
        texts += usize::from(path.starts_with("/text"));
        harmless(page, &path);
        for part in page.split("href=\"").skip(1) {
            let to = part.split('"').next().unwrap().replace("&amp;", "&");
            assert!(
                to.starts_with(['/', '#']) || to == "data:,",
                "{path} links to {to}"
            );
            let to = to.split('#').next().unwrap().to_owned();
            if to.starts_with('/') && !seen.contains(&to) {
                seen.push(to);
            }
        }
    }
    assert!(texts > 0, "{seen:?}");
    place.done(&["report", "--out", "report.html"]);
    harmless(
        &std::fs::read_to_string(place.path("report.html")).unwrap(),
        "report.html",
    );
}

/// Nothing of a payload stands in a page as markup. What a choice sends is as it stands in the
/// lake, between quotes; what it shows is not.
fn harmless(page: &str, path: &str) {
    let mut parts = page.split(" value=\"");
    let mut page = parts.next().unwrap().to_owned();
    for part in parts {
        page.push_str(part.split_once('"').unwrap().1);
    }
    let own = page
        .matches("<script src=\"/script.js\" defer></script>")
        .count();
    assert_eq!(page.matches("<script").count(), own, "{path}");
    assert!(
        !page.contains("<img") && !page.contains('\u{202e}'),
        "{path}"
    );
    assert!(
        !page.contains("href=\"javascript") && !page.contains(" onerror=alert(1)>"),
        "{path}"
    );
}

#[test]
fn a_lake_that_grows_or_goes_is_followed() {
    let place = Place::new();
    place.import(&[text(&sample("airline_gold.jsonl"))]);
    let served = Served::start(&place, &[]);
    assert!(served.page("/").contains("version 1"));
    place.done(&["profile"]);
    // Whoever comes first may still get the version before, and is told so.
    let begun = Instant::now();
    loop {
        let page = served.page("/heat");
        if page.contains(", version 2,") {
            break;
        }
        assert!(page.contains("is being opened"), "{page}");
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    let old = served.page("/?version=1");
    assert!(
        old.contains("is pinned; the newest is 2") && old.contains("/heat?version=1"),
        "{old}"
    );
    std::fs::rename(place.lake(), place.path("gone")).unwrap();
    let gone = served.get("/");
    assert_eq!(gone.status, 503);
    assert!(gone.text().contains("no such folder"), "{}", gone.text());
    std::fs::rename(place.path("gone"), place.lake()).unwrap();
    assert!(served.page("/heat").contains(", version 2,"));
}

#[test]
fn a_monitor_beside_the_lake_is_shown() {
    let place = airline();
    let mut lines = String::new();
    for n in 0..80 {
        let gap = if n < 60 { 0.05 } else { 0.9 };
        let _ = writeln!(
            lines,
            "{}",
            json!({"id": n.to_string(), "environment": "shop", "api": "<b>pay", "gaps": {"obs": gap}})
        );
    }
    place.write("pairs.jsonl", &lines);
    let mut monitor = place.command(&["monitor", "--stdin"]);
    monitor.stdin(std::fs::File::open(place.path("pairs.jsonl")).unwrap());
    let ran = Ran::of(&mut monitor);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let served = Served::start(&place, &[]);
    let page = served.page("/monitor");
    assert!(
        page.contains("80 observations charted") && page.contains("&lt;b&gt;pay"),
        "{page}"
    );
    let csv = served.get("/data.csv?q=monitor_streams");
    assert!(
        csv.text()
            .starts_with("environment,api,outcome,dimension,state"),
        "{}",
        csv.text()
    );
    place.write("none.sqlite", "no database");
    let served = Served::start(&place, &["--monitor-state", "none.sqlite"]);
    assert_eq!(served.get("/monitor").status, 503);
}

#[test]
fn a_report_is_one_file() {
    let place = airline();
    place.done(&["mine", "--min-calls", "2"]);
    let ran = place.done(&["report", "--out", "report.html"]);
    assert!(ran.stderr.contains("page: report.html"));
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    for part in [
        "<h1>Overview",
        "API × outcome",
        "Side by side",
        "<h1>Patterns",
        "<h1>Budget",
        "<h1>Monitor",
        "FROM call_gaps_now",
        "data:text/csv",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("href=\"/") && !page.contains("src=") && !page.contains("<script"));
    assert!(page.contains("default-src 'none'"));
    assert_eq!(place.run(&["report"]).code, Some(2));
    assert!(
        place
            .done(&["report", "--out", "old.html", "--version", "1"])
            .stderr
            .contains("old.html")
    );
}

/// A browser of Debian's package `chromium`, and the Python that drives it.
fn browser() -> Option<std::path::PathBuf> {
    for program in ["/usr/bin/chromium", "/usr/bin/chromedriver"] {
        if !std::path::Path::new(program).exists() {
            skipped(&format!(
                "needs {program} (Debian: chromium, chromium-driver)"
            ));
            return None;
        }
    }
    python()
}

#[test]
fn a_browser_clicks_from_the_map_to_the_query() {
    let Some(python) = browser() else {
        return;
    };
    let place = airline();
    place.done(&["mine", "--min-calls", "2"]);
    place.done(&["report", "--out", "report.html"]);
    let served = Served::start(&place, &[]);
    let evil = hostile();
    let hostile = Served::start(&evil, &[]);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/pages.py");
    let mut command = Command::new(python);
    command.arg(script);
    for address in [&served.address, &hostile.address] {
        command.arg(format!("http://{address}"));
    }
    let ran = Ran::of(command.arg(place.path("report.html")));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    eprint!("{}", ran.stdout);
}
