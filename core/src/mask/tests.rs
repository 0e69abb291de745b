use proptest::prelude::*;

use super::*;
use crate::json::{Kind, Node, push_json_string};

fn masked(text: &str, mode: Mode) -> String {
    let doc = Doc::parse(text).unwrap();
    mask_record(&doc, mode).map_or_else(|| text.to_owned(), |m| m.text)
}

fn quote(text: &str) -> String {
    let mut out = String::new();
    push_json_string(text, &mut out);
    out
}

/// Same kinds, keys, lengths and places; only strings may differ.
fn same_structure(a: Node<'_>, b: Node<'_>) {
    assert_eq!(a.kind(), b.kind());
    match a.kind() {
        Kind::Object => {
            assert_eq!(a.len(), b.len());
            for ((ka, va), (kb, vb)) in a.entries().zip(b.entries()) {
                assert_eq!(ka, kb);
                same_structure(va, vb);
            }
        }
        Kind::Array => {
            assert_eq!(a.len(), b.len());
            for (va, vb) in a.elements().zip(b.elements()) {
                same_structure(va, vb);
            }
        }
        Kind::String => {}
        _ => assert_eq!(a.raw(), b.raw()),
    }
}

const TOKEN: &str = "8f14e45fceea167a5a36dedd4bea2543";
const JWT: &str =
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";

#[test]
fn secrets_go_and_everything_else_stays() {
    for (text, gone) in [
        (r#"{"password":"hunter2"}"#.to_owned(), "hunter2"),
        (r#"{"Password" :  "p\u00e4ss\n"}"#.to_owned(), "ss\\n"),
        (format!(r#"{{"apiKey":"{TOKEN}","n":1.50}}"#), TOKEN),
        (
            format!(r#"{{"headers":{{"Authorization":"Bearer {TOKEN}"}}}}"#),
            TOKEN,
        ),
        (
            format!(r#"[{{"name":"Authorization","value":"token {TOKEN}"}}]"#),
            TOKEN,
        ),
        (format!(r#"[["X-Api-Key","{TOKEN}"]]"#), TOKEN),
        (
            r#"{"set-cookie":["sid=abcdef; Path=/","x=y"]}"#.to_owned(),
            "abcdef",
        ),
        (format!(r#"{{"text":"your token is {JWT}."}}"#), JWT),
        (format!(r#"{{"text":"use sk-proj-{TOKEN} here"}}"#), TOKEN),
        (
            r#"["AKIAIOSFODNN7EXAMPL0"]"#.to_owned(),
            "AKIAIOSFODNN7EXAMPL0",
        ),
        (format!(r#"["ghp_{TOKEN}abcd"]"#), TOKEN),
        (format!(r#"["https://a.b/c?x=1&key={TOKEN}#f"]"#), TOKEN),
        (r#"["postgres://me:s3cr3t@db/x"]"#.to_owned(), "s3cr3t"),
        (
            r#"["Authorization: Basic dXNlcjpwYXNzd29yZA=="]"#.to_owned(),
            "dXNlcjpw",
        ),
        (
            r#"{"arguments":"{\"pass\\u0077ord\":\"hunter2\"}"}"#.to_owned(),
            "hunter2",
        ),
        (
            r#"{"content":"{'user': 1, 'password': 'hunter2'}"}"#.to_owned(),
            "hunter2",
        ),
        (
            r#"{"content":"{\"a\": \"{\\\"password\\\": \\\"hunter2\\\"}\"}"}"#.to_owned(),
            "hunter2",
        ),
        (
            r#"{"content":"{\"response\": \"{\"password\": \"hunter2\"}\""}"#.to_owned(),
            "hunter2",
        ),
        (
            format!(
                "[\"-----BEGIN RSA PRIVATE KEY-----\\n{TOKEN}\\n{TOKEN}\\n-----END RSA PRIVATE KEY-----\\n\"]"
            ),
            TOKEN,
        ),
    ] {
        let out = masked(&text, Mode::Secrets);
        assert!(
            out.contains("<masked:") && !out.contains(gone),
            "{text} -> {out}"
        );
        same_structure(
            Doc::parse(&text).unwrap().root(),
            Doc::parse(&out).unwrap().root(),
        );
        assert_eq!(masked(&out, Mode::Secrets), out, "{text}");
    }
}

#[test]
fn only_the_secret_is_cut_out() {
    let source = r#"{"n": 1.50, "n": 1e400, "t" : "x\u0041 \ud83d Bearer 8f14e45fceea167a5a36 \/", "z":null}"#;
    let hash = crate::json::key::Key::of(b"8f14e45fceea167a5a36").to_string();
    let want = source.replace(
        "8f14e45fceea167a5a36",
        &format!("<masked:token:{}>", &hash[..8]),
    );
    assert_eq!(masked(source, Mode::Secrets), want);
}

#[test]
fn equal_secrets_stay_equal_and_passwords_tell_nothing() {
    let text = format!(
        r#"{{"api_key":"{TOKEN}","u":"https://a.b/?api_key={TOKEN}","password":"{TOKEN}"}}"#
    );
    let doc = Doc::parse(&text).unwrap();
    let out = mask_record(&doc, Mode::Secrets).unwrap();
    assert_eq!(
        out.counts,
        [("password", 1), ("token", 1), ("url_query", 1)]
    );
    let start = out.text.find("<masked:token:").unwrap();
    let label = &out.text[start..start + 23];
    assert_eq!(out.text.matches(label).count(), 2);
    assert!(out.text.contains(r#""password":"<masked:password>""#));
}

#[test]
fn what_only_sounds_like_a_secret_stays() {
    for text in [
        r#"{"nextPageToken":"CAUQAA8f14e45fceea167a5a36","progressToken":"8f14e45fceea167a"}"#,
        r#"{"usage":{"tokens":"12","max_tokens":1024,"token_ids":[1,2]},"password":12345,"secret":true,"token":null}"#,
        r#"{"properties":{"password":{"type":"string","description":"The password"},"token":{"type":"string"}},"required":["password","token"]}"#,
        r#"{"password":"","api_key":"YOUR_API_KEY","token":"<token>","secret":"****"}"#,
        r#"{"tool_call_id":"call_oIHazX6yQrB8hUwl4cRilFKj","token":"bitcoin","user_token":"USDC"}"#,
        r#"{"token":"0x6b175474e89094c44da98b954eedeac495271d0f"}"#,
        r#"{"password":"The password of the new user"}"#,
        r#"{"text":"password: str = None, token = get_token(), Basic Understanding, Bearer authentication"}"#,
        r#"{"flight":"HAT069","id":"credit_card_4421486","passenger":"Mia","compass":"north"}"#,
        r#"["sk-fading-circle-with-many-words-in-it","task-8f14e45fceea167a5a36dedd"]"#,
        r#"["https://user@host/x","http://localhost:8080/@scope","https://a.b/c?pageToken=8f14e45fceea167a5a36"]"#,
        r#"{"url":"https://user:password@host/"}"#,
        r#"{"last_four":"7447","date":"2024-05-13","mail":"ana@example.com","phone":"+59899123456"}"#,
    ] {
        let doc = Doc::parse(text).unwrap();
        assert_eq!(mask_record(&doc, Mode::Secrets), None, "{text}");
    }
}

#[test]
fn all_adds_people() {
    let source = r#"{"phone":"555 0100 22","mobile":["0912345678"],"to":"<ana@example.com> or +687 27.25.92 00","last_four":"7447"}"#;
    assert_eq!(
        masked(source, Mode::All),
        r#"{"phone":"<masked:phone>","mobile":["<masked:phone>"],"to":"<<masked:email>> or <masked:phone>","last_four":"7447"}"#
    );
    for text in [
        r#"{"id":"credit_card_4421486","t":"2024-05-13T10:00:00+00:00","at":"03:00:00+1","lat":"40.7127837"}"#,
        r#"["Mon Dec 02 00:00:00 +0000 2024", "1732863383553", "555-0100", "icon@2x.png"]"#,
    ] {
        assert_eq!(
            mask_record(&Doc::parse(text).unwrap(), Mode::All),
            None,
            "{text}"
        );
    }
    assert_eq!(mask_record(&Doc::parse(source).unwrap(), Mode::Off), None);
}

#[test]
fn modes_have_names() {
    for mode in [Mode::Off, Mode::Secrets, Mode::All] {
        assert_eq!(Mode::parse(mode.name()), Some(mode));
    }
    assert_eq!(Mode::parse("on"), None);
}

#[test]
fn hostile_records_cost_little() {
    let deep = "[".repeat(300_000) + "\"password=hunter2\"" + &"]".repeat(300_000);
    let out = mask_record(&Doc::parse(&deep).unwrap(), Mode::All).unwrap();
    assert!(!out.text.contains("hunter2"));
    for body in [
        "[".repeat(1_000_000),
        "{\\\"password\\\":".repeat(50_000),
        "password=".repeat(300_000),
        "a@b.cd@".repeat(50_000),
        "://a:b".repeat(200_000),
        "-----BEGIN PRIVATE KEY-----".repeat(20_000),
        "\\ud83dsk-".repeat(100_000),
        "token: \\\"".repeat(100_000),
        "+1 2 3 4 5 6 7 ".repeat(100_000),
        "eyJaaaaaaaaaa.".repeat(100_000),
    ] {
        let record = format!("{{\"x\":NaN,\"password\":[\"{body}\",1],\"y\":\"{body}\"}}");
        let doc = Doc::parse(&record).unwrap();
        if let Some(out) = mask_record(&doc, Mode::All) {
            assert!(Doc::parse(&out.text).is_ok());
        }
    }
}

fn leaf() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "password",
        "token",
        "api_key",
        "Authorization",
        "Bearer ",
        "Basic ",
        "\"",
        "'",
        ": ",
        "=",
        ":",
        ",",
        "{",
        "}",
        "[",
        "]",
        "\\",
        "\\n",
        "\n",
        "&",
        "?",
        "://",
        "@",
        ".com",
        "a",
        "Z",
        "é",
        "😀",
        " ",
        "hunter2",
        "sk-a1b2c3d4e5f6a7b8c9d0e1",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
        "+1 555 010 2030",
        "555-010-2030",
        "ana@example.com",
        "<",
        ">",
        "<masked:token:1a2b3c4d>",
        "\\u0070",
        "cookie",
        "phone",
        "a1b2c3d4e5f6a7b8c9d0",
    ]);
    prop::collection::vec(pieces, 0..9).prop_map(|parts| parts.concat())
}

fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        leaf().prop_map(|text| quote(&text)),
        Just("\"\\ud83d password=x1y2\"".to_owned()),
        Just("NaN".to_owned()),
        Just("null".to_owned()),
        Just("1.50".to_owned()),
    ];
    let key = prop::sample::select(vec![
        "password",
        "apiKey",
        "token",
        "name",
        "value",
        "Set-Cookie",
        "authorization",
        "phone",
        "x",
        "secret",
    ]);
    scalar.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| format!("[{}]", v.join(", "))),
            prop::collection::vec((key.clone(), inner.clone()), 0..4).prop_map(|v| {
                let entries: Vec<_> = v.iter().map(|(k, v)| format!("\"{k}\": {v}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
            inner.prop_map(|text| quote(&text)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn structure_is_kept_and_masking_twice_changes_nothing(text in json()) {
        let doc = Doc::parse(&text).unwrap();
        for mode in [Mode::Secrets, Mode::All] {
            let mut counts = rules::Counts::default();
            let edits = walk::document(&doc, mode, &mut counts);
            match mask_record(&doc, mode) {
                Some(out) => {
                    let again = Doc::parse(&out.text).unwrap();
                    same_structure(doc.root(), again.root());
                    prop_assert_eq!(mask_record(&again, mode), None, "{}", out.text);
                }
                // The quick pass never overlooks what the rules would find.
                None => prop_assert!(edits.is_empty(), "{}: {:?}", text, edits),
            }
        }
    }

    #[test]
    fn a_planted_secret_never_comes_out(
        secret in "[a-zA-Z0-9]{6}[0-9]{3}[a-zA-Z]{12,20}",
        key in prop::sample::select(vec!["password", "api_key", "accessToken", "client-secret", "X-API-Key"]),
        python: bool,
        depth in 0usize..6,
        before in "[ -~é\n]{0,12}",
    ) {
        let mut text = if python {
            let before = before.replace(['\\', '\'', '\n'], "");
            quote(&format!("{{'a': '{before}', '{key}': '{secret}', 'b': None}}"))
        } else {
            format!(r#"{{"a": {}, "{key}": {}}}"#, quote(&before), quote(&secret))
        };
        for level in 0..depth {
            text = if level % 2 == 0 { quote(&text) } else { format!(r#"{{"x": {text}, "y": [1]}}"#) };
        }
        let out = masked(&text, Mode::Secrets);
        prop_assert!(!out.contains(&secret), "{}", out);
        prop_assert!(out.contains("<masked:"));
    }

    #[test]
    fn records_without_candidates_are_left_alone(
        entries in prop::collection::vec(("[a-j]{1,8}", "[a-zA-Z0-9 ,.!]{0,40}"), 0..6)
    ) {
        let body: Vec<_> = entries.iter().map(|(k, v)| format!("\"{k}\":\"{v}\"")).collect();
        let text = format!("{{{}}}", body.join(","));
        let doc = Doc::parse(&text).unwrap();
        prop_assert_eq!(mask_record(&doc, Mode::Secrets), None);
    }

    #[test]
    fn any_text_is_masked_without_panic(text in ".*") {
        let record = quote(&text);
        let _ = masked(&record, Mode::All);
    }
}

#[test]
fn an_image_is_left_alone_and_a_dump_of_settings_is_not() {
    let image = format!(
        "data:image/png;base64,{}==",
        "iVBORw0KGgoAAAANSUhEUg".repeat(300)
    );
    let record = format!(r#"{{"calls":[{{"result":{{"content":"{image}"}}}}]}}"#);
    let doc = crate::json::Doc::parse(&record).unwrap();
    assert!(super::mask_record(&doc, Mode::Secrets).is_none());
    let dump = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY\\n".repeat(100);
    let record = format!(r#"{{"calls":[{{"result":{{"content":"{dump}"}}}}]}}"#);
    let doc = crate::json::Doc::parse(&record).unwrap();
    assert!(super::mask_record(&doc, Mode::Secrets).is_some());
}
