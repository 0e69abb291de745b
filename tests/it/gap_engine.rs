//! What the gaps of real recordings say, and what noise does to them.

use serde_json::{Value, json};

use crate::support::{Place, decoded, shared, skipped};

/// Rows of a query, as the program prints them.
fn ask(place: &Place, sql: &str) -> Vec<Value> {
    let ran = place.done(&["sql", "--format", "ndjson", sql]);
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn profiled(place: &Place) -> Value {
    let ran = place.done(&["profile", "--format", "json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A recording against itself with every tool answer changed by `change`; how many were.
fn against_itself(place: &Place, name: &str, change: impl Fn(&str) -> String) -> Option<usize> {
    let file = shared(name)?;
    let mut whole: Value = serde_json::from_slice(&decoded(&file)).unwrap();
    place.write("sim.json", whole.to_string());
    let mut changed = 0;
    visit(&mut whole, &mut |message| {
        if message["role"] != "tool" {
            return;
        }
        let Some(content) = message["content"].as_str() else {
            return;
        };
        let other = change(content);
        if other != content {
            changed += 1;
            message["content"] = other.into();
        }
    });
    place.write("real.json", whole.to_string());
    place.import(&["sim.json", "--arm", "sim"]);
    place.import(&["real.json", "--arm", "real"]);
    profiled(place);
    Some(changed)
}

fn visit(value: &mut Value, see: &mut dyn FnMut(&mut Value)) {
    if value.get("role").is_some() {
        see(value);
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, see)),
        Value::Object(fields) => fields.values_mut().for_each(|item| visit(item, see)),
        _ => {}
    }
}

#[test]
fn a_renamed_field_is_found_where_it_is_and_nowhere_else() {
    let place = Place::new();
    let file = "tau/tau_bench_gpt-4o-airline.json.zst";
    let rename = |text: &str| text.replace("\"province\":", "\"state\":");
    let Some(changed) = against_itself(&place, file, rename) else {
        return skipped("no shared data");
    };
    assert_eq!(changed, 120);
    let found = ask(
        &place,
        "SELECT api, paths_missing, paths_extra, paths_value, paths_type, cause, max(obs_distance) AS gap, \
         max(obs_value) AS value, count(*) AS n \
         FROM call_gaps_now WHERE obs_distance > 0 GROUP BY ALL",
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let row = &found[0];
    assert_eq!(
        (&row["api"], &row["n"], &row["cause"]),
        (
            &json!("get_user_details"),
            &json!(120),
            &json!("structural")
        )
    );
    assert_eq!(
        [
            &row["paths_missing"],
            &row["paths_extra"],
            &row["paths_value"],
            &row["paths_type"]
        ],
        [1, 1, 0, 0]
    );
    assert!(row["gap"].as_f64().unwrap() < 0.1, "{row}");
    assert_eq!(row["value"], 0.0);
    // The rest of 1,164 calls is equal, whatever its outcome.
    let equal = ask(
        &place,
        "SELECT count(*) AS n FROM call_gaps_now WHERE cause = 'none'",
    );
    assert_eq!(equal[0]["n"], 1164 - 120);
    let evidence = ask(
        &place,
        "SELECT path, kind, severity, count(*) AS n FROM evidence_now GROUP BY path, kind, severity ORDER BY path",
    );
    assert_eq!(
        json!(evidence),
        json!([
            {"path": "$.address.province", "kind": "missing", "severity": "warn", "n": 5},
            {"path": "$.address.state", "kind": "extra", "severity": "info", "n": 5},
        ])
    );
}

#[test]
fn a_version_in_a_url_is_cosmetic() {
    let place = Place::new();
    let file = "tau/tau2_airline_run1.results.json.zst";
    let newer = |text: &str| text.replace("/2.12/", "/2.14/");
    let Some(changed) = against_itself(&place, file, newer) else {
        return skipped("no shared data");
    };
    assert_eq!(changed, 10);
    let found = ask(
        &place,
        "SELECT count(*) AS n, max(obs_distance) AS gap, sum(paths_cosmetic) AS cosmetic, \
         sum(paths_value + paths_missing + paths_extra + paths_type) AS others \
         FROM call_gaps_now WHERE obs_distance > 0",
    );
    assert_eq!(
        (&found[0]["n"], &found[0]["others"]),
        (&json!(10), &json!(0))
    );
    assert!(found[0]["gap"].as_f64().unwrap() < 0.02, "{found:?}");
    let kinds = ask(&place, "SELECT DISTINCT kind, cosmetic FROM evidence_now");
    assert_eq!(
        json!(kinds),
        json!([{"kind": "cosmetic", "cosmetic": "url_version"}])
    );
}

#[test]
fn roots_and_cascades_of_a_real_pair_of_worlds() {
    let Some(file) = shared("tau/airline_dual.jsonl") else {
        return skipped("no shared data");
    };
    let place = Place::new();
    place.import(&[file.to_str().unwrap()]);
    profiled(&place);
    let wrong = ask(
        &place,
        "SELECT api, cause, count(*) AS n FROM call_gaps_now \
         WHERE paths_value > 0 AND api <> 'search_onestop_flight' GROUP BY api, cause ORDER BY api",
    );
    // The cabin that was kept: a root where it is written, a cascade where it is read.
    assert_eq!(
        json!(wrong),
        json!([
            {"api": "cancel_reservation", "cause": "state", "n": 1},
            {"api": "update_reservation_baggages", "cause": "state", "n": 1},
            {"api": "update_reservation_flights", "cause": "structural", "n": 13},
        ])
    );
    // Letter case of error texts is cosmetic.
    let texts = ask(
        &place,
        "SELECT DISTINCT cosmetic FROM evidence_now WHERE path = '$' AND kind = 'cosmetic'",
    );
    assert_eq!(json!(texts), json!([{"cosmetic": "letter_case"}]));
    // A wrong cabin is worse than a renamed field, and that than a null.
    let ranked = ask(
        &place,
        "SELECT api FROM call_gaps_now WHERE api IN ('update_reservation_flights', 'get_user_details', 'get_reservation_details') \
         GROUP BY api ORDER BY exact_mean(obs_distance) DESC",
    );
    let names = [
        "update_reservation_flights",
        "get_user_details",
        "get_reservation_details",
    ];
    assert_eq!(json!(ranked), json!(names.map(|api| json!({"api": api}))));
}

#[test]
fn answers_that_are_equal_as_values_have_no_gap() {
    let Some(file) = shared("mirrorapi/pairs.jsonl.zst") else {
        return skipped("no shared data");
    };
    let place = Place::new();
    place.import(&[file.to_str().unwrap()]);
    profiled(&place);
    // Spelled otherwise, but the same canonical value.
    let found = ask(
        &place,
        "SELECT count(*) AS n, max(g.obs_distance) AS gap, sum(CASE WHEN s.content <> r.content THEN 1 ELSE 0 END) AS spelled \
         FROM call_gaps_now AS g \
         JOIN observations AS s ON s.trajectory_key = g.trajectory_key AND s.arm = 'sim' \
         JOIN observations AS r ON r.trajectory_key = g.trajectory_key AND r.arm = 'real' \
         WHERE s.structured = r.structured AND s.structured_rule = r.structured_rule AND s.outcome = r.outcome",
    );
    assert!(found[0]["n"].as_i64().unwrap() > 100, "{found:?}");
    assert!(found[0]["spelled"].as_i64().unwrap() > 0, "{found:?}");
    assert_eq!(found[0]["gap"], 0.0);
}

/// Runs of one tool whose answers hold an id, a time, a price that jitters and an order;
/// the first twelve trajectories were run twice in both arms.
pub(crate) fn noisy() -> String {
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut lines = String::new();
    for trajectory in 0..30 {
        for arm in ["sim", "real"] {
            for repeat in 0..if trajectory < 12 { 2 } else { 1 } {
                let first = random(4) as usize;
                let tags: Vec<&str> = ["a1", "b2", "c3", "d4"]
                    .iter()
                    .cycle()
                    .skip(first)
                    .take(4)
                    .copied()
                    .collect();
                let answer = json!({
                    "id": format!("{:08x}", random(1 << 32)),
                    "at": format!("2026-01-{:02}T10:{:02}:00Z", 1 + random(28), random(60)),
                    "price": 10.0 + random(1000) as f64 / 1000.0 + 0.0001,
                    "name": "same",
                    "tags": tags,
                });
                let call = json!({"turn": 0, "index": 0, "name": "get", "arguments": {"n": trajectory},
                    "result": {"content": answer.to_string()}});
                let run = json!({"fidelake": 1, "trajectory_id": format!("t{trajectory}"), "environment": "shop",
                    "arm": arm, "repeat": repeat, "calls": [call]});
                lines.push_str(&format!("{run}\n"));
            }
        }
    }
    lines
}

#[test]
fn what_is_learned_touches_those_without_repeats_and_edits_stay() {
    let place = Place::new();
    place.write("noisy.jsonl", noisy());
    place.import(&["noisy.jsonl"]);
    let early = place.run(&["learn"]);
    assert_eq!(early.code, Some(1));
    assert!(
        early.stderr.contains("run `fidelake profile` first"),
        "{}",
        early.stderr
    );
    assert_eq!(profiled(&place)["trajectories"], 30);
    let gap = "SELECT noise, gap_ratio(weight, obs_raw, obs_reliability) AS gap FROM call_gaps_now GROUP BY noise ORDER BY noise";
    let before = ask(&place, gap);
    assert_eq!(before[1]["noise"], "unknown");
    assert!(before[1]["gap"].as_f64().unwrap() > 0.5, "{before:?}");

    place.done(&["learn"]);
    let classes = ask(
        &place,
        "SELECT path, class, edited FROM volatile_paths_now ORDER BY path",
    );
    let class = |path: &str, class: Value| json!({"path": path, "class": class, "edited": false});
    assert_eq!(
        json!(classes),
        json!([
            class("$.at", json!("form")),
            class("$.id", json!("form")),
            class("$.price", json!("tolerant")),
            class("$.tags", Value::Null),
        ])
    );
    // Exactly the eighteen that have no repeats of their own.
    let report = profiled(&place);
    assert_eq!(
        (&report["trajectories"], &report["unchanged"]),
        (&json!(18), &json!(12))
    );
    let after = ask(&place, gap);
    assert_eq!(after[0]["noise"], "learned");
    assert!(after[0]["gap"].as_f64().unwrap() < 0.1, "{after:?}");
    assert_eq!(profiled(&place)["trajectories"], 0);
    // Learned again from the same runs: nothing is new.
    let version = place.done(&["learn", "--format", "json"]).stdout;
    assert!(version.contains("\"renewed\":[]"), "{version}");

    place.done(&["learn", "--set", "shop", "get", "$.tags", "ignore"]);
    place.done(&["learn"]);
    let edited = ask(
        &place,
        "SELECT path, class FROM volatile_paths_now WHERE edited",
    );
    assert_eq!(
        json!(edited),
        json!([{"path": "$.tags", "class": "ignore"}])
    );
    assert_eq!(profiled(&place)["trajectories"], 18);
    // An edit can be taken back, and made again.
    place.done(&["learn", "--set", "shop", "get", "$.tags", "learned"]);
    let edits = "SELECT count(*) AS n FROM volatile_paths_now WHERE edited";
    assert_eq!(ask(&place, edits)[0]["n"], 0);
    let path = "SELECT class FROM volatile_paths_now WHERE path = '$.tags'";
    assert_eq!(ask(&place, path)[0]["class"], Value::Null);
    place.done(&["learn", "--set", "shop", "get", "$.tags", "ignore"]);
    assert_eq!(ask(&place, edits)[0]["n"], 1);
    let unknown = place.done(&["learn", "--set", "shop", "got", "$.tags", "ignore"]);
    assert!(
        unknown
            .stderr
            .contains("no call of got in environment shop"),
        "{}",
        unknown.stderr
    );
    assert_eq!(profiled(&place)["trajectories"], 0);
    // What people say holds before what was learned, whatever its scope.
    let rules = place.lake().join("_fidelake/rules.toml");
    let said = "version = 1\n[[path]]\npath = \"$..id\"\nrule = \"class=exact\"\n";
    std::fs::write(&rules, said).unwrap();
    assert_eq!(profiled(&place)["trajectories"], 30);
    let differing = "SELECT count(*) AS n FROM evidence_now WHERE path = '$.id' AND kind = 'value'";
    assert_eq!(ask(&place, differing)[0]["n"], 5);
    std::fs::write(
        &rules,
        said.replace("path =", "environment = \"shop\"\napi = \"get\"\npath ="),
    )
    .unwrap();
    assert_eq!(profiled(&place)["trajectories"], 0);
    std::fs::remove_file(&rules).unwrap();
    assert_eq!(profiled(&place)["trajectories"], 30);
    // Replaced profiles go when the lake is compacted, and no number with them.
    let current = ask(&place, "SELECT * FROM profiles_now ORDER BY trajectory_id");
    let said = place.done(&["compact"]).stdout;
    assert!(
        said.contains("profiles: 96 rows of replaced profiles removed"),
        "{said}"
    );
    assert_eq!(
        ask(&place, "SELECT * FROM profiles_now ORDER BY trajectory_id"),
        current
    );
    assert_eq!(
        ask(&place, "SELECT count(*) AS n FROM profiles")[0]["n"],
        30
    );
}

#[test]
fn rules_of_a_lake_touch_what_they_name() {
    let place = Place::new();
    place.write("noisy.jsonl", noisy());
    place.import(&["noisy.jsonl"]);
    profiled(&place);
    let rules = place.lake().join("_fidelake/rules.toml");
    let elsewhere =
        "version = 1\n[[path]]\nenvironment = \"bank\"\npath = \"$.id\"\nrule = \"ignore\"\n";
    std::fs::write(&rules, elsewhere).unwrap();
    assert_eq!(profiled(&place)["trajectories"], 0);
    let here = "version = 1\n[[path]]\napi = \"ge*\"\npath = \"$.tags\"\nrule = \"multiset\"\n\
                [[path]]\npath = \"$..id\"\nrule = \"class=form\"\n\
                [[path]]\npath = \"$.at\"\nrule = [\"class=form\", \"cosmetic=0\"]\n\
                [[path]]\npath = \"$.price\"\nrule = \"precision=5\"\n";
    std::fs::write(&rules, here).unwrap();
    assert_eq!(profiled(&place)["trajectories"], 30);
    let worst = ask(&place, "SELECT max(obs_distance) AS d FROM call_gaps_now");
    assert_eq!(worst[0]["d"], 0.0);
    assert_eq!(profiled(&place)["trajectories"], 0);
    // A mistake stops before anything is computed.
    std::fs::write(
        &rules,
        "version = 1\n\n[[path]]\npath = \"$.a[\"\nrule = \"ignore\"\n",
    )
    .unwrap();
    let ran = place.run(&["profile"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("rules.toml:4: \"$.a[\" is no path"),
        "{}",
        ran.stderr
    );
    for (said, wrong) in [
        (
            "path = \"$.a\"\nrule = [\n  \"class=form\",\n  \"sets\",\n]\n",
            "rules.toml:6: ",
        ),
        (
            "path = \"$.a\"\nrule = [\"set\", \"multiset\"]\n",
            "rules.toml:4: \"multiset\" and \"set\" both say how elements are paired",
        ),
        (
            "path = \"$.a\"\napi = \"\"\nrule = \"set\"\n",
            "rules.toml:4: an empty name matches nothing",
        ),
    ] {
        std::fs::write(&rules, format!("version = 1\n[[path]]\n{said}")).unwrap();
        let ran = place.run(&["profile"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains(wrong), "{}", ran.stderr);
    }
}

/// Profiles made step by step look at what is new only; the numbers must be those of
/// a lake that got everything at once.
#[test]
fn step_by_step_gives_what_all_at_once_gives() {
    let text = std::fs::read_to_string("sample_data/airline_probe.jsonl").unwrap();
    let runs: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let number = |run: &Value| {
        let id = run["trajectory_id"].as_str().unwrap();
        runs.iter()
            .filter(|other| other["trajectory_id"].as_str().unwrap() < id)
            .count()
            / 4
    };
    // Before the third step no hash of a state is seen on both arms. From then on they
    // are compared, which touches every trajectory of the environment.
    let own_states = |run: &Value, step: usize| {
        let mut run = run.clone();
        let arm = run["arm"].as_str().unwrap().to_owned();
        let calls = run["calls"].as_array_mut().unwrap();
        for call in calls.iter_mut().filter(|_| step < 2) {
            let hash = call["state_hash"].as_str().unwrap();
            call["state_hash"] = format!("{arm}-{hash}").into();
        }
        run
    };
    let step_of = |run: &Value| match (number(run), run["repeat"].as_i64().unwrap()) {
        (0..=4, 0) => 0,
        (5..=6, _) => 1,
        (7, _) | (1, 1) => 2,
        (8..=9, _) | (2, 1) => 3,
        _ => 4,
    };
    let (stepwise, whole) = (Place::new(), Place::new());
    let mut computed = Vec::new();
    for step in 0..5 {
        let lines: String = runs
            .iter()
            .filter(|run| step_of(run) == step)
            .map(|run| format!("{}\n", own_states(run, step)))
            .collect();
        let name = format!("{step}.jsonl");
        stepwise.write(&name, &lines);
        whole.write(&name, &lines);
        stepwise.import(&[&name]);
        if step == 4 {
            // Files of earlier steps are rewritten: all trajectories are looked at.
            stepwise.done(&["compact"]);
        }
        computed.push(profiled(&stepwise)["trajectories"].as_i64().unwrap());
    }
    whole.import(&["0.jsonl", "1.jsonl", "2.jsonl", "3.jsonl", "4.jsonl"]);
    profiled(&whole);
    // Five new; two new; one new and six that compare their states from now on and one
    // of them with a repeat; two new and one with a repeat; the rest.
    assert_eq!(computed[..4], [5, 2, 8, 3]);
    for table in ["call_gaps_now", "profiles_now"] {
        let sql = format!(
            "SELECT * EXCEPT (generation) FROM {table} ORDER BY environment, trajectory_key{}",
            if table == "call_gaps_now" {
                ", slot"
            } else {
                ""
            }
        );
        let (a, b) = (ask(&stepwise, &sql), ask(&whole, &sql));
        assert!(!a.is_empty());
        assert_eq!(a, b, "{table}");
    }
}

/// A write that one world refuses is one divergence with what is read of it later, whatever
/// the refusal says.
#[test]
fn a_refused_write_explains_the_read_behind_it() {
    for refusal in ["Error: invalid cabin", "Error: cabin cannot be changed"] {
        let place = Place::new();
        let mut lines = String::new();
        for (arm, answer, cabin) in [
            ("sim", r#"{"id":"RES777","cabin":"economy"}"#, "economy"),
            ("real", refusal, "business"),
        ] {
            for repeat in 0..2 {
                let arguments = json!({"id": "RES777", "cabin": "economy"});
                let read = json!({"id": "RES777", "cabin": cabin}).to_string();
                let calls = json!([
                    {"turn": 0, "index": 0, "name": "set_cabin", "arguments": arguments, "result": {"content": answer}},
                    {"turn": 1, "index": 0, "name": "get_res", "arguments": {"id": "RES777"}, "result": {"content": read}},
                ]);
                let run = json!({"fidelake": 1, "trajectory_id": "t", "environment": "air", "arm": arm,
                    "repeat": repeat, "calls": calls});
                lines.push_str(&format!("{run}\n"));
            }
        }
        place.write("runs.jsonl", lines);
        place.import(&["runs.jsonl"]);
        place.write(
            "lake/_fidelake/rules.toml",
            "version = 1\n[[environment]]\nname = \"air\"\nreads = [\"get_*\"]\nwrites = [\"set_*\"]\n",
        );
        profiled(&place);
        let causes = ask(&place, "SELECT cause FROM call_gaps_now ORDER BY turn");
        assert_eq!(
            json!(causes),
            json!([{"cause": "structural"}, {"cause": "state"}]),
            "{refusal}"
        );
    }
}

/// One more run of one old trajectory: the smallest thing that can be new.
#[test]
fn one_repeat_of_one_old_trajectory_is_computed() {
    let place = Place::new();
    let gold = std::fs::read_to_string("sample_data/airline_gold.jsonl").unwrap();
    place.write("gold.jsonl", &gold);
    place.import(&["gold.jsonl"]);
    assert_eq!(profiled(&place)["trajectories"], 15);
    let mut one: Value = serde_json::from_str(gold.lines().next().unwrap()).unwrap();
    one["repeat"] = 2.into();
    place.write("one.jsonl", format!("{one}\n"));
    place.import(&["one.jsonl"]);
    let report = profiled(&place);
    assert_eq!(
        (&report["trajectories"], &report["unchanged"]),
        (&json!(1), &json!(14))
    );
    assert_eq!(profiled(&place)["trajectories"], 0);
}
