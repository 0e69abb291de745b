//! The rules of a recipe, as they are typed: what they leave, what they say, and what
//! the gate does to real data.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Place, Ran, assert_said, sample, shared, text};

/// A lake of the sample data, profiled.
fn sampled() -> Place {
    let place = Place::new();
    for name in ["airline_gold.jsonl", "airline_probe.jsonl", "files.jsonl"] {
        place.import(&[text(&sample(name))]);
    }
    place.done(&["profile"]);
    place
}

fn explained(place: &Place, recipe: &str) -> Value {
    place.write("r.toml", recipe);
    let ran = place.done(&["curate", "r.toml", "--explain", "--format", "json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn refused(place: &Place, recipe: &str, words: &[&str]) {
    place.write("r.toml", recipe);
    let ran = place.run(&["curate", "r.toml", "--explain"]);
    assert_eq!(ran.code, Some(1), "{recipe}\n{}", ran.stdout);
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
}

/// Runs before and after a rule.
fn rule(plan: &Value, name: &str) -> (u64, u64) {
    let rules = plan["counts"]["rules"].as_array().unwrap();
    let rule = rules.iter().find(|rule| rule["rule"] == name);
    let rule = rule.unwrap_or_else(|| panic!("no rule {name}: {rules:?}"));
    (
        rule["runs_in"].as_u64().unwrap(),
        rule["runs_out"].as_u64().unwrap(),
    )
}

const JUDGE: &str = "version = 1\nseed = 3\n[source]\nwhere = \"environment = 'airline'\"\njudge = \"record.py final state equals gold replay\"\n[groups]\nmix_policies = true\n";

#[test]
fn a_plan_is_explained_and_nothing_is_written() {
    let place = sampled();
    let all = format!(
        "{JUDGE}[gate]\nunknown = \"drop\"\n[difficulty]\njoint = true\nmin_trajectories = 3\n[duplicates]\nsimilarity = 0.9\n\
         [[quota]]\nby = \"api\"\nmax_share = 0.9\n[[quota]]\nby = \"policy\"\nmax_rows = 20\n[diversity]\nrows = 20\n\
         [split]\nvalidation = 0.2\ntest = 0.1\n"
    );
    place.write("r.toml", &all);
    let before = place.done(&["log", "--format", "json"]).stdout;
    assert_said!(
        place,
        "curate_explain",
        place.run(&["curate", "r.toml", "--explain"])
    );
    assert_eq!(place.done(&["log", "--format", "json"]).stdout, before);
    let plan = explained(&place, &all);
    // Every rule takes what the one before it left.
    let rules = plan["counts"]["rules"].as_array().unwrap();
    for two in rules.windows(2) {
        assert_eq!(two[0]["runs_out"], two[1]["runs_in"], "{rules:?}");
    }
    assert_eq!(rules[rules.len() - 1]["runs_out"], plan["counts"]["rows"]);
    assert_eq!(plan["counts"]["rows"], 20);
    // The shards are what the plan says, and the same each time.
    for out in ["one", "two"] {
        place.done(&["curate", "r.toml", "--out", out]);
    }
    let manifest =
        |out: &str| std::fs::read_to_string(place.path(out).join("manifest.json")).unwrap();
    assert_eq!(manifest("one"), manifest("two"));
    let written: Value = serde_json::from_str(&manifest("one")).unwrap();
    for key in ["counts", "gate", "joint", "curation_id", "weight_scale"] {
        assert_eq!(written[key], plan[key], "{key}");
    }
    check_shards(&place, "one");
    let topology = explained(
        &place,
        &format!("{JUDGE}[diversity]\nrows = 10\nby = \"topology\"\n"),
    );
    assert_eq!(rule(&topology, "[diversity]"), (56, 10));
    let whole = format!("{JUDGE}whole = true\n[[quota]]\nby = \"outcome\"\nmax_rows = 9\n");
    let (_, left) = rule(&explained(&place, &whole), "[[quota]] outcome");
    assert!(left > 0 && left <= 9 && left % 2 == 0, "{left}");
}

/// Other people's readers compute every weight and advantage again.
fn check_shards(place: &Place, out: &str) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = Ran::of(&mut Command::new(root.join("tools/python-env.sh")));
    let python = python.stdout.lines().last().unwrap().to_owned();
    let mut check = Command::new(python);
    check
        .arg(root.join("tests/python/shards.py"))
        .arg(place.path(out));
    let ran = Ran::of(&mut check);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn why_names_the_rule_or_the_weight() {
    let place = sampled();
    let recipe = format!(
        "{JUDGE}[difficulty]\njoint = true\nmin_trajectories = 3\n[[quota]]\nby = \"policy\"\nvalues = {{probe = 0}}\n"
    );
    place.write("r.toml", &recipe);
    let none = place.run(&["why", "airline/gold/8"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("no curation yet"), "{}", none.stderr);
    let by_recipe = place
        .done(&["why", "airline/gold/8", "--recipe", "r.toml"])
        .stdout;
    place.done(&["curate", "r.toml", "--out", "out"]);
    assert_eq!(place.done(&["why", "airline/gold/8"]).stdout, by_recipe);
    assert!(by_recipe.contains("a row of weight"), "{by_recipe}");
    let quota = place.done(&["why", "airline/probe/8"]).stdout;
    assert!(quota.contains("left out by [[quota]] policy"), "{quota}");
    let other = place.done(&["why", "files/folders"]);
    assert!(other.stdout.contains("[source] where"), "{}", other.stdout);
    let missing = place.run(&["why", "airline/nobody"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("no trajectory \"airline/nobody\""),
        "{}",
        missing.stderr
    );
    // The weight is the one that was recorded.
    let ran = place.done(&["why", "airline/gold/8", "--format", "json"]);
    let fates: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let sql =
        "SELECT run_id, fidelity_weight FROM curation_rows WHERE trajectory_id = 'airline/gold/8'";
    let rows = crate::support::query(&place.lake(), sql);
    assert_eq!(rows.len(), 2);
    for row in rows {
        let fate = fates
            .iter()
            .find(|fate| fate["run_id"] == row["run_id"])
            .unwrap();
        assert_eq!(fate["fidelity_weight"], row["fidelity_weight"]);
    }
}

/// Runs of one arm with verdicts (judge, reward, success).
fn run(
    id: &str,
    labels: &Value,
    calls: &[&str],
    verdicts: &[(&str, Value, Option<bool>)],
) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, name)| json!({"turn": at, "index": 0, "name": name, "arguments": {"n": at}, "result": {"content": "ok"}}))
        .collect();
    let verdicts: Vec<Value> = verdicts
        .iter()
        .map(|(judge, reward, success)| json!({"judge": judge, "reward": reward, "success": success}))
        .collect();
    let line = json!({"fidelake": 1, "trajectory_id": id, "environment": "shop", "arm": "sim", "task_id": id,
        "group_id": "g", "task": format!("Please find the cheapest blue bicycle with number {id} and buy it today"),
        "labels": labels, "calls": calls, "verdicts": verdicts});
    format!("{line}\n")
}

#[test]
fn several_judges_come_to_one_reward_as_the_recipe_says() {
    let place = Place::new();
    let none = json!({});
    let file = [
        run(
            "a",
            &none,
            &[],
            &[
                ("x", json!(1.0), None),
                ("y", json!(0.0), None),
                ("z", json!(1.0), None),
            ],
        ),
        run(
            "b",
            &none,
            &[],
            &[
                ("x", json!(1.0), None),
                ("y", json!(1.0), None),
                ("z", json!(1.0), None),
            ],
        ),
        run(
            "c",
            &none,
            &[],
            &[("x", json!(0.5), Some(false)), ("y", json!(0.0), None)],
        ),
        run("d", &none, &[], &[]),
    ];
    place.write("runs.jsonl", file.concat());
    place.import(&["runs.jsonl"]);
    let rewards = |rule: &str| -> Vec<(String, f64)> {
        let name = format!("{rule}.toml").replace(['"', ' ', '='], "");
        place.write(&name, format!("version = 1\n{rule}\n"));
        place.done(&["curate", &name, "--out", &format!("out-{name}")]);
        let sql = "SELECT r.trajectory_id AS id, r.reward AS reward FROM curation_rows AS r JOIN \
                   (SELECT curation_id FROM curations ORDER BY curated_at DESC LIMIT 1) AS c \
                   ON c.curation_id = r.curation_id ORDER BY r.trajectory_id";
        let rows = crate::support::query(&place.lake(), sql);
        let one = |row: &Value| {
            (
                row["id"].as_str().unwrap().to_owned(),
                row["reward"].as_f64().unwrap(),
            )
        };
        rows.iter().map(one).collect()
    };
    let named = |list: &[(&str, f64)]| -> Vec<(String, f64)> {
        list.iter().map(|(id, r)| ((*id).to_owned(), *r)).collect()
    };
    assert_eq!(
        rewards("rewards.rule = \"mean\""),
        named(&[("a", 2.0 / 3.0), ("b", 1.0), ("c", 0.25)])
    );
    assert_eq!(
        rewards("rewards.rule = \"min\""),
        named(&[("a", 0.0), ("b", 1.0), ("c", 0.0)])
    );
    assert_eq!(
        rewards("rewards.rule = \"majority\""),
        named(&[("a", 1.0), ("b", 1.0), ("c", 0.0)])
    );
    assert_eq!(
        rewards("rewards.rule = \"all\""),
        named(&[("a", 0.0), ("b", 1.0), ("c", 0.0)])
    );
    assert_eq!(
        rewards("source.judge = \"y\""),
        named(&[("a", 0.0), ("b", 1.0), ("c", 0.0)])
    );
    let plan = explained(
        &place,
        "version = 1\n[rewards]\nrule = \"mean\"\nmissing = 0.5\nmin = 0.5\n",
    );
    assert_eq!(plan["counts"]["conflicting_verdicts"], 1);
    assert_eq!(plan["counts"]["reward_assumed"], 1);
    assert_eq!(rule(&plan, "[rewards] min"), (4, 3));
    refused(&place, "version = 1\n", &["3 judges", "\"x\""]);
    refused(
        &place,
        "version = 1\n[source]\njudge = \"x\"\n[rewards]\nrule = \"mean\"\n",
        &["r.toml:3:9", "leave one"],
    );
    refused(
        &place,
        "version = 1\n[rewards]\nrule = \"all\"\nmin = 2.0\n",
        &["min in [rewards] left out all 3"],
    );
    refused(
        &place,
        "version = 1\n[rewards]\nrule = \"all\"\n[gate]\nunknown = \"drop\"\n",
        &["unknown = \"drop\"", "fidelake profile"],
    );
    // All unknown, and one group of one: said.
    let said = place.run(&["curate", "r.toml", "--explain"]).stderr;
    assert!(said.contains("left out all"), "{said}");
    place.write(
        "one.toml",
        "version = 1\n[source]\nwhere = \"trajectory_id = 'b'\"\njudge = \"x\"\n",
    );
    let said = place.done(&["curate", "one.toml", "--explain"]).stderr;
    assert!(
        said.contains("nothing is known of the fidelity of any row"),
        "{said}"
    );
}

#[test]
fn scales_that_differ_and_rewards_that_are_no_numbers_are_said() {
    let place = Place::new();
    let none = json!({});
    let nan = run("n", &none, &[], &[("x", json!("NAN"), None)]).replace("\"NAN\"", "NaN");
    let file = [
        run(
            "a",
            &none,
            &[],
            &[("x", json!(0.5), None), ("y", json!(90.0), None)],
        ),
        run("b", &none, &[], &[("x", json!(40.0), None)]),
        nan,
    ];
    place.write("runs.jsonl", file.concat());
    place.import(&["runs.jsonl"]);
    let plan = explained(&place, "version = 1\n[source]\njudge = \"x\"\n");
    assert_eq!(
        plan["counts"]["reward_not_finite"].as_u64().unwrap()
            + plan["counts"]["without_reward"].as_u64().unwrap(),
        1
    );
    assert_eq!(plan["counts"]["mixed_scale_groups"], 1);
    place.write(
        "far.jsonl",
        run(
            "c",
            &none,
            &[],
            &[("w", json!(0.2), None), ("y", json!(70.0), None)],
        ),
    );
    place.import(&["far.jsonl"]);
    refused(
        &place,
        "version = 1\n[source]\nwhere = \"trajectory_id = 'c'\"\n[rewards]\nrule = \"mean\"\n",
        &["r.toml:4:1", "different scales", "majority"],
    );
}

#[test]
fn licences_and_hold_out_tasks_stay_out() {
    let place = Place::new();
    let of = |name: &str| json!({"license": name});
    let good: [(&str, Value, Option<bool>); 1] = [("x", json!(1.0), None)];
    let file = [
        run("1", &of("MIT"), &["find", "buy", "pay"], &good),
        run("2", &of("cc-by-nc-4.0"), &["find", "buy"], &good),
        run("3", &json!({}), &["find", "ask"], &good),
        run("4", &of("mit"), &["look", "ask"], &good),
        run("5", &of("mit"), &["other"], &good),
    ];
    place.write("runs.jsonl", file.concat());
    place.import(&["runs.jsonl"]);
    let plan = explained(&place, "version = 1\n[licenses]\nallow = [\"mit\"]\n");
    assert_eq!(rule(&plan, "[licenses]"), (5, 3));
    let plan = explained(
        &place,
        "version = 1\n[licenses]\nallow = [\"mit\"]\nmissing = \"keep\"\n",
    );
    assert_eq!(rule(&plan, "[licenses]"), (5, 4));
    refused(
        &place,
        "version = 1\n[licenses]\nallow = [\"gpl\"]\n",
        &["[licenses] left out every run"],
    );

    let text = "PLEASE find the cheapest blue bicycle with number 3 and buy it... today!";
    let calls = json!([{"name": "look", "arguments": {"n": 0}}, {"name": "ask", "arguments": "{\"n\": 1}"}]);
    let held = json!([{"id": 1}, {"id": "x", "task": text}, {"id": "y", "calls": calls}]);
    place.write("held/tasks.json", held.to_string());
    let holdout =
        |more: &str| format!("version = 1\n[[holdout]]\nfile = \"held/tasks.json\"\n{more}");
    assert_eq!(
        rule(
            &explained(&place, &holdout("similarity = 1.0\n")),
            "[[holdout]]"
        ),
        (5, 2)
    );
    let by_id = explained(&place, &holdout("match = [\"task_id\"]\n"));
    assert_eq!(rule(&by_id, "[[holdout]]"), (5, 4));
    assert_eq!(by_id["holdouts"][0]["tasks"], 3);
    // Compressed, whatever its name.
    let packed = zstd::encode_all(held.to_string().as_bytes(), 1).unwrap();
    place.write("held/tasks.json", packed);
    let again = explained(&place, &holdout("match = [\"task_id\"]\n"));
    assert_eq!(rule(&again, "[[holdout]]"), (5, 4));
    place.write("held/tasks.json", held.to_string());
    let elsewhere = explained(&place, &holdout("environment = \"airline\"\n"));
    assert_eq!(rule(&elsewhere, "[[holdout]]"), (5, 5));
    place.write("r.toml", holdout("similarity = 1.0\n"));
    let why = |id: &str| place.done(&["why", id, "--recipe", "r.toml"]).stdout;
    assert!(
        why("1").contains("its task id \"1\" stands in tasks.json"),
        "{}",
        why("1")
    );
    assert!(
        why("3").contains("100 % of the text of record 2"),
        "{}",
        why("3")
    );
    assert!(
        why("4").contains("100 % of the calls of record 3"),
        "{}",
        why("4")
    );
    // Another hold-out file is another curation.
    place.write("held/tasks.json", json!([{"id": 1}]).to_string());
    assert_ne!(
        explained(&place, &holdout(""))["curation_id"],
        by_id["curation_id"]
    );
    place.write("held/tasks.json", "{\"id\": 1}\n{\"id\": \n");
    refused(&place, &holdout(""), &["held/tasks.json:2", "not JSON"]);
    std::fs::remove_file(place.path("held/tasks.json")).unwrap();
    refused(&place, &holdout(""), &["r.toml:3:8", "no hold-out file"]);
}

#[test]
fn mistakes_have_their_place() {
    let place = Place::new();
    place.write(
        "runs.jsonl",
        run("1", &json!({}), &["a"], &[("x", json!(1.0), None)]),
    );
    place.import(&["runs.jsonl"]);
    for (recipe, words) in [
        (
            "[[quota]]\nby = \"colour\"\nmax_rows = 3\n",
            ["r.toml:3:6", "colour"],
        ),
        ("[[quota]]\nby = \"policy\"\n", ["r.toml:3:6", "max_rows"]),
        (
            "[split]\ntest = 1.0\n",
            ["r.toml:3:8", "nothing to train on"],
        ),
        ("[split]\ntest = 2.0\n", ["r.toml:3:8", "0.0 to 1.0"]),
        (
            "[duplicates]\nsimilarity = 0.1\n",
            ["r.toml:3:14", "0.3 to 1.0"],
        ),
        ("[gate]\nalpha = 3.0\n", ["r.toml:3:9", "stand together"]),
        (
            "[gate]\ndimensions = [\"obs\"]\nmin_dimensions = 2\n",
            ["r.toml:4:18", "only 1"],
        ),
        (
            "[source]\nat = \"yesterday\"\n",
            ["r.toml:3:6", "2026-07-31"],
        ),
        ("[source]\nversion = 99\n", ["99", "version"]),
        ("seed = -1\n", ["r.toml:2:8", "from 0 on"]),
        ("[rewards]\nrule = \"best\"\n", ["r.toml:3:8", "`majority`"]),
    ] {
        refused(&place, &format!("version = 1\n{recipe}"), &words);
    }
}

#[test]
fn tau_bench_trials_make_groups_of_four() {
    let Some(file) = shared("tau/tau_bench_gpt-4o-airline.json.zst") else {
        return;
    };
    let place = Place::new();
    place.import(&[text(&file)]);
    place.write("r.toml", "version = 1\n[difficulty]\njoint = true\nk = 4\n");
    place.done(&["curate", "r.toml", "--out", "out"]);
    let manifest = std::fs::read_to_string(place.path("out/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(
        (&manifest["counts"]["rows"], &manifest["counts"]["groups"]),
        (&json!(200), &json!(50))
    );
    // Every advantage column again, by numpy.
    check_shards(&place, "out");
    let rows = crate::support::query(
        &place.lake(),
        "SELECT group_id, count(*) AS n FROM curation_rows GROUP BY group_id",
    );
    assert!(rows.len() == 50 && rows.iter().all(|row| row["n"] == 4));
}

/// The share of weight on low fidelity before and after a gate, of the newest curation.
fn low_fidelity(place: &Place) -> Value {
    let ran = place.done(&["sql", "--named", "low_fidelity_weight", "--format", "json"]);
    let rows: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    rows.last().unwrap().clone()
}

/// Imports, profiles, and curates what a filter by reward alone would take.
fn gated(what: &str, files: &[&str], rewards: &str) -> Value {
    let place = Place::new();
    for file in files {
        place.import(&[file]);
    }
    place.done(&["profile"]);
    place.write("r.toml", format!("version = 1\n[source]\n{rewards}[groups]\nmix_policies = true\n[difficulty]\njoint = true\n"));
    place.done(&["curate", "r.toml", "--out", "out"]);
    let found = low_fidelity(&place);
    let plan: Value = serde_json::from_str(
        &place
            .done(&["curate", "r.toml", "--explain", "--format", "json"])
            .stdout,
    )
    .unwrap();
    eprintln!("{what}: {found}");
    let lower_by = found["lower_by"].as_f64().unwrap();
    assert!(lower_by >= 0.5, "{what}: {found}");
    // Every stratum of feasible difficulty keeps its share, or says that it does not.
    for stratum in plan["joint"]["strata"].as_array().unwrap() {
        let share = stratum["share"].as_f64().unwrap();
        let off = (stratum["share_joint"].as_f64().unwrap() - share).abs();
        assert!(
            off <= 0.1 * share || stratum["clipped"] == true,
            "{what}: {stratum}"
        );
    }
    found
}

#[test]
fn the_gate_takes_weight_from_low_fidelity() {
    let gold = sample("airline_gold.jsonl");
    let probe = sample("airline_probe.jsonl");
    let judged = "judge = \"record.py final state equals gold replay\"\n[rewards]\nmin = 1.0\n";
    gated("sample data", &[text(&gold), text(&probe)], judged);
    if let Some(file) = shared("tau/airline_dual.jsonl") {
        gated("airline_dual", &[text(&file)], "[rewards]\nmin = 1.0\n");
    }
    if let Some(file) = shared("mirrorapi/pairs.jsonl.zst") {
        gated(
            "mirrorapi",
            &[text(&file)],
            "[rewards]\nmissing = 1.0\nmin = 1.0\n",
        );
    }
}
