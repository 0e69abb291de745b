//! Aborted at every step of a write, then run again: as if nothing had happened.

use std::collections::BTreeMap;
use std::path::Path;

use fidelake::lake::Lake;

use crate::generate;
use crate::support::{AllRows, Counts, Place, assert_same_rows, newest};

/// Input that leads to several commits of every table that grows with it.
fn inputs(place: &Place) {
    place.write("first.jsonl", generate::file(1000, 40, 1));
    place.write("in/a.jsonl", generate::file(0, 60, 2));
    place.write("in/b.jsonl", generate::file(45, 60, 2));
}

const FIRST: &[&str] = &["import", "first.jsonl", "--format", "json"];
const IMPORT: &[&str] = &["import", "in", "--format", "json"];

/// The names that a command passes, with how often.
fn passed(place: &Place, args: &[&str]) -> BTreeMap<String, usize> {
    let log = place.path("passed");
    let _ = std::fs::remove_file(&log);
    let status = place
        .command(args)
        .env("FIDELAKE_FAILPOINT_LOG", &log)
        .output()
        .unwrap()
        .status;
    assert!(status.success(), "{args:?}");
    let mut names = BTreeMap::new();
    for name in std::fs::read_to_string(&log).unwrap_or_default().lines() {
        assert!(!name.is_empty(), "a line of the log without a name");
        *names.entry(name.to_owned()).or_insert(0) += 1;
    }
    names
}

/// Every name, at its first and at its last time.
fn points(names: &BTreeMap<String, usize>) -> Vec<String> {
    let mut points = Vec::new();
    for (name, times) in names {
        points.push(format!("{name}#1"));
        if *times > 1 {
            points.push(format!("{name}#{times}"));
        }
    }
    points
}

fn abort(place: &Place, args: &[&str], point: &str) {
    let output = place
        .command(args)
        .env("FIDELAKE_FAILPOINT", point)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "{point}: it did not abort");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A place with the inputs and a copy of the lake of `of`.
fn like(of: &Place) -> Place {
    let place = Place::new();
    inputs(&place);
    copy(&of.lake(), &place.lake());
    place
}

/// A lake with the first import only, one with both, and what the second printed.
fn clean() -> (Place, Place, Counts) {
    let before = Place::new();
    inputs(&before);
    before.done(FIRST);
    let after = like(&before);
    let counts = Counts::parse(&after.done(IMPORT).stdout);
    assert!(
        counts.duplicates >= 10 && counts.rejected > 10,
        "{counts:?}"
    );
    (before, after, counts)
}

#[test]
fn an_import_aborted_at_the_first_of_every_step_goes_on() {
    goes_on(|point| point.ends_with("#1"));
}

#[test]
fn an_import_aborted_at_the_last_of_every_step_goes_on() {
    goes_on(|point| !point.ends_with("#1"));
}

fn goes_on(wanted_points: impl Fn(&str) -> bool) {
    let (before, after, wanted) = clean();
    let names = passed(&like(&before), IMPORT);
    let several = [
        "messages",
        "calls",
        "observations",
        "verdicts",
        "runs",
        "trajectories",
        "rejected",
        "catalogs",
    ];
    for table in several {
        let times = names[&format!("commit:before:{table}")];
        assert!(times > 1, "{table} is committed {times} times: {names:?}");
    }
    let mut points = points(&names);
    points.retain(|point| wanted_points(point));
    eprintln!("{} steps, {} points: {names:?}", names.len(), points.len());
    assert!(points.len() >= 15, "{points:?}");
    let rows = AllRows::without(&after.lake(), &[]);
    for point in &points {
        let place = like(&before);
        abort(&place, IMPORT, point);
        let counts = Counts::parse(&place.done(IMPORT).stdout);
        if point.starts_with("write:version_committed") {
            // All was done, only not said.
            assert_eq!(
                (counts.records, counts.imported),
                (wanted.records, 0),
                "{point}"
            );
        } else {
            assert_eq!(counts, wanted, "{point}");
        }
        rows.assert_in(&place.lake(), point);
        assert_eq!(newest(&place.lake()), newest(&after.lake()), "{point}");
        assert!(
            Lake::open(&place.lake())
                .unwrap()
                .intents()
                .unwrap()
                .is_empty(),
            "{point}"
        );
        assert_eq!(
            place.done(&["repair"]).stdout,
            "the lake is whole at version 2\n",
            "{point}"
        );
    }
}

#[test]
fn an_import_aborted_twice_goes_on() {
    let (before, after, wanted) = clean();
    let names = passed(&like(&before), IMPORT);
    let place = like(&before);
    abort(&place, IMPORT, "commit:after:calls#2");
    abort(&place, IMPORT, "commit:before:runs");
    abort(&place, IMPORT, "write:tables_committed");
    assert!(names.contains_key("write:tables_committed"));
    assert_eq!(Counts::parse(&place.done(IMPORT).stdout), wanted);
    assert_same_rows(&place.lake(), &after.lake(), &[], "three aborts");
}

#[test]
fn an_aborted_import_can_be_dropped() {
    let (before, after, wanted) = clean();
    let rows = AllRows::without(&before.lake(), &[]);
    for point in ["commit:after:calls#2", "write:tables_committed"] {
        let place = like(&before);
        abort(&place, IMPORT, point);
        // Others are told, readers see the state before.
        let other = place.run(FIRST);
        assert_eq!(other.code, Some(0), "what is there already changes nothing");
        place.write("other.jsonl", generate::file(5000, 5, 9));
        let other = place.run(&["import", "other.jsonl"]);
        assert_eq!(other.code, Some(1), "{point}");
        assert!(other.stderr.contains("repair --drop"), "{}", other.stderr);
        rows.assert_in(&place.lake(), point);
        let id = Lake::open(&place.lake()).unwrap().intents().unwrap()[0]
            .id
            .clone();
        let drop = ["repair", "--drop", id.as_str()];
        // Aborted in the middle of the repair, and repaired again.
        let steps = passed(&like(&place), &drop);
        for step in points(&steps) {
            let place = like(&place);
            abort(&place, &drop, &step);
            let again = place.run(&drop);
            if step.starts_with("repair:dropped") {
                assert_eq!(again.code, Some(1), "{step}: it was dropped already");
            } else {
                assert_eq!(again.code, Some(0), "{step}: {}", again.stderr);
            }
            rows.assert_in(&place.lake(), &step);
        }
        place.done(&drop);
        rows.assert_in(&place.lake(), point);
        place.done(&["import", "other.jsonl"]);
        assert_eq!(Counts::parse(&place.done(IMPORT).stdout), wanted);
        let again = like(&after);
        again.write("other.jsonl", generate::file(5000, 5, 9));
        again.done(&["import", "other.jsonl"]);
        assert_same_rows(&place.lake(), &again.lake(), &["attempt"], point);
    }
}

#[test]
fn a_lake_whose_creation_is_aborted_anywhere_is_made() {
    let wanted = Place::new();
    inputs(&wanted);
    let names = passed(&wanted, FIRST);
    let points: Vec<String> = points(&names)
        .into_iter()
        .filter(|point| point.starts_with("lake:"))
        .collect();
    assert!(points.len() >= 11, "{points:?}");
    let rows = AllRows::without(&wanted.lake(), &[]);
    for point in &points {
        let place = Place::new();
        inputs(&place);
        abort(&place, FIRST, point);
        // A reader says what it is; a writer finishes it.
        let log = place.run(&["log"]);
        let made = point.starts_with("lake:created");
        assert_eq!(log.code, Some(i32::from(!made)), "{point}: {}", log.stderr);
        place.done(FIRST);
        rows.assert_in(&place.lake(), point);
        assert_eq!(newest(&place.lake()), 1, "{point}");
    }
}

#[test]
fn compact_aborted_anywhere_changes_no_row() {
    let (_, after, _) = clean();
    changes_no_row(&after, &["compact"]);
}

#[test]
fn vacuum_aborted_anywhere_changes_no_row() {
    let (_, after, _) = clean();
    after.done(&["compact"]);
    changes_no_row(&after, &["vacuum", "--keep-days", "0"]);
}

fn changes_no_row(base: &Place, command: &[&str]) {
    let rows = AllRows::without(&base.lake(), &[]);
    let names = passed(&like(base), command);
    assert!(names.len() >= 10, "{names:?}");
    for point in points(&names) {
        let place = like(base);
        abort(&place, command, &point);
        rows.assert_in(&place.lake(), &point);
        let intents = Lake::open(&place.lake()).unwrap().intents().unwrap();
        if let Some(intent) = intents.first() {
            // Dropping it is the other way out.
            let dropped = like(&place);
            dropped.done(&["repair", "--drop", &intent.id]);
            rows.assert_in(&dropped.lake(), &point);
            assert_eq!(dropped.done(&["repair"]).code, Some(0));
        }
        place.done(command);
        rows.assert_in(&place.lake(), &point);
        let whole = place.done(&["repair"]).stdout;
        assert!(whole.starts_with("the lake is whole"), "{point}: {whole}");
    }
}

#[test]
fn a_profile_aborted_anywhere_goes_on() {
    const PROFILE: &[&str] = &["profile"];

    let (_, imported, _) = clean();
    let wanted = like(&imported);
    wanted.done(PROFILE);
    for step in points(&passed(&like(&imported), PROFILE)) {
        let place = like(&imported);
        abort(&place, PROFILE, &step);
        place.done(PROFILE);
        assert_same_rows(&place.lake(), &wanted.lake(), &[], &step);
        // And once more: nothing is left to do.
        let again = place.done(PROFILE);
        assert!(
            again.stdout.starts_with("0 trajectories"),
            "{}",
            again.stdout
        );
    }
}

/// The interrupted run cannot be finished: what it computed from is no longer so.
#[test]
fn a_profile_aborted_before_the_rules_changed_is_begun_anew() {
    const PROFILE: &[&str] = &["profile"];
    const RULES: &str = "version = 1\n[[path]]\npath = \"$.status\"\nrule = \"ignore\"\n";

    let (_, imported, _) = clean();
    let ruled = |place: &Place| place.write("lake/_fidelake/rules.toml", RULES);
    let wanted = like(&imported);
    ruled(&wanted);
    wanted.done(PROFILE);
    let steps = points(&passed(&like(&imported), PROFILE));
    // Begun, amid the ranges, half committed. Behind its commit it is no longer interrupted.
    let steps = steps.iter().filter(|step| {
        let places = ["write:begun#1", "profile:range#1", "commit:after:call_gaps"];
        places.iter().any(|place| step.starts_with(place))
    });
    for step in steps {
        let place = like(&imported);
        abort(&place, PROFILE, step);
        ruled(&place);
        place.done(PROFILE);
        // The undoing is a lake version of its own, and artefacts are numbered by these.
        let anew = ["generation", "artefact_id", "lake_version"];
        assert_same_rows(&place.lake(), &wanted.lake(), &anew, step);
    }
}

#[test]
fn learning_aborted_anywhere_goes_on() {
    let place = Place::new();
    place.write("noisy.jsonl", crate::gap_engine::noisy());
    place.import(&["noisy.jsonl"]);
    place.done(&["profile"]);
    for command in [
        &["learn"][..],
        &["learn", "--set", "shop", "get", "$.tags", "ignore"],
    ] {
        let wanted = like(&place);
        wanted.done(command);
        for step in points(&passed(&like(&place), command)) {
            let place = like(&place);
            abort(&place, command, &step);
            place.done(command);
            assert_same_rows(&place.lake(), &wanted.lake(), &[], &step);
        }
    }
}

#[test]
fn compact_aborted_anywhere_removes_what_was_replaced() {
    let place = Place::new();
    place.write("noisy.jsonl", crate::gap_engine::noisy());
    place.import(&["noisy.jsonl"]);
    for command in ["profile", "learn", "profile"] {
        place.done(&[command]);
    }
    let wanted = like(&place);
    wanted.done(&["compact"]);
    for step in points(&passed(&like(&place), &["compact"])) {
        let place = like(&place);
        abort(&place, &["compact"], &step);
        place.done(&["compact"]);
        assert_same_rows(&place.lake(), &wanted.lake(), &[], &step);
    }
}

#[test]
fn a_dual_run_aborted_anywhere_goes_on() {
    use crate::dual::{Bench, visit};

    const RUN: &[&str] = &["dual", "run", "plan.toml"];
    let bench = || {
        let bench = Bench::new();
        bench.trajectories(&[("a", visit("a")), ("b", visit("b"))]);
        let real = "budget = 40\nallow = [\"*\"]\nrepeatable = [\"*\"]";
        bench.plan("", "", real, "");
        bench
    };
    let names: BTreeMap<String, usize> = passed(&bench().place, RUN)
        .into_iter()
        .filter(|(name, _)| {
            ["dual:", "write:", "commit:"]
                .iter()
                .any(|room| name.starts_with(room))
        })
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for point in points(&names) {
        let bench = bench();
        abort(&bench.place, RUN, &point);
        bench.place.done(RUN);
        assert_eq!(
            bench
                .number("SELECT count(*) FROM runs WHERE repeat = 0 AND termination = 'completed'"),
            4,
            "{point}"
        );
        assert_eq!(bench.number("SELECT count(*) FROM runs"), 4, "{point}");
        assert_eq!(
            bench.number("SELECT count(*) FROM observations"),
            20,
            "{point}"
        );
        let real = &bench.status()["trial/real"];
        let ledger = bench.number("SELECT count(*) FROM ledger WHERE arm = 'real'");
        let distinct = bench.number("SELECT count(DISTINCT seq) FROM ledger WHERE arm = 'real'");
        assert_eq!(
            (real["calls"].as_i64(), distinct),
            (Some(ledger), ledger),
            "{point}"
        );
        assert_eq!(real["spent"], ledger, "{point}");
        let seen = i64::try_from(bench.seen("real").len()).unwrap();
        assert!(seen <= ledger && ledger <= 40, "{point}: {seen} {ledger}");
        bench.assert_no_payload();
    }
}
