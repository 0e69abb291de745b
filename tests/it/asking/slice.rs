use super::{HANDMADE, SAMPLE, assert_said};

#[test]
fn cells_by_dimension() {
    let lake = &*SAMPLE;
    assert_said!(
        "slice_obs",
        lake.ask(&["slice", "--by", "api,outcome", "--min-calls", "3"])
    );
    assert_said!(
        "slice_trans",
        lake.ask(&["slice", "--by", "cause", "--dimension", "trans"])
    );
    assert_said!(
        "slice_act",
        lake.ask(&[
            "slice",
            "--by",
            "outcome_sim,outcome_real",
            "--dimension",
            "act",
            "--where",
            "outcome_sim <> outcome_real"
        ])
    );
    assert_said!(
        "slice_rew",
        lake.ask(&[
            "slice",
            "--by",
            "labels.plan,environment_version_real",
            "--dimension",
            "rew"
        ])
    );
    assert_said!(
        "slice_all",
        HANDMADE.ask(&["slice", "--by", "environment,api", "--dimension", "all"])
    );
    assert_said!(
        "slice_unknown_values",
        HANDMADE.ask(&["slice", "--by", "outcome,policy"])
    );
}

#[test]
fn heat_tables() {
    let lake = &*SAMPLE;
    assert_said!(
        "slice_pivot",
        lake.ask(&["slice", "--by", "api,outcome", "--pivot"])
    );
    assert_said!(
        "slice_pivot_csv",
        lake.ask(&["slice", "--by", "api,cause", "--pivot", "--format", "csv"])
    );
    assert_said!(
        "slice_pivot_three",
        lake.ask(&["slice", "--by", "api,outcome,cause", "--pivot"])
    );
}

#[test]
fn what_cannot_be_sliced() {
    let lake = &*SAMPLE;
    assert_said!("slice_unknown_column", lake.ask(&["slice", "--by", "apo"]));
    assert_said!(
        "slice_unknown_label",
        lake.ask(&["slice", "--by", "labels.plam"])
    );
    assert_said!("slice_twice", lake.ask(&["slice", "--by", "api,api"]));
    assert_said!(
        "slice_rew_of_calls",
        lake.ask(&["slice", "--by", "api", "--dimension", "rew"])
    );
    assert_said!(
        "slice_where_syntax",
        lake.ask(&["slice", "--by", "api", "--where", "weight > 0.5) OR (1 = 1"])
    );
    assert_said!(
        "slice_where_number",
        lake.ask(&["slice", "--by", "api", "--where", "weight"])
    );
    assert_said!(
        "slice_where_nothing",
        lake.ask(&[
            "slice",
            "--by",
            "api",
            "--where",
            "api = 'none' -- a comment"
        ])
    );
}

/// Cells are parts of the whole: their calls and shares add up, whatever the cut.
#[test]
fn cells_add_up() {
    for by in ["api", "api,outcome", "trajectory_id", "labels.plan,cause"] {
        for dimension in ["obs", "act", "trans", "all"] {
            let rows = SAMPLE.rows(&["slice", "--by", by, "--dimension", dimension]);
            let calls: i64 = rows.iter().map(|row| row["calls"].as_i64().unwrap()).sum();
            assert_eq!(calls, 194, "{by} {dimension}");
            for share in ["share_gap", "share_calls"] {
                let sum: f64 = rows.iter().filter_map(|row| row[share].as_f64()).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{by} {dimension} {share}: {sum}");
            }
            for row in &rows {
                let (gap, low, high) = (
                    row["gap"].as_f64(),
                    row["low"].as_f64(),
                    row["high"].as_f64(),
                );
                assert!(gap.is_none_or(|gap| (0.0..=1.0).contains(&gap)));
                if let (Some(gap), Some(low), Some(high)) = (gap, low, high) {
                    assert!(low <= gap && gap <= high, "{row}");
                    assert!(row["trajectories"].as_i64() >= Some(5), "{row}");
                }
            }
        }
    }
}

/// The cell of all calls is what the functions themselves say of all calls.
#[test]
fn one_cell_is_the_whole() {
    let sql = "SELECT gap_region(trajectory_key, weight, obs_raw, obs_reliability) AS r, \
               trans_gap(gap_ratio(weight, outcome_raw, outcome_reliability), gap_ratio(weight, state_raw, state_reliability), \
               gap_ratio(weight, idempotency_raw, idempotency_reliability), \
               gap_ratio(weight, read_after_write_raw, read_after_write_reliability), gap_ratio(weight, latency_raw, latency_reliability)) AS t FROM call_gaps_now";
    let whole = &SAMPLE.rows(&["sql", sql])[0];
    let obs = &SAMPLE.rows(&["slice", "--by", "environment"])[0];
    for name in ["gap", "low", "high"] {
        let (a, b) = (
            whole["r"][name].as_f64().unwrap(),
            obs[name].as_f64().unwrap(),
        );
        assert!((a - b).abs() < 1e-12, "{name}: {a} {b}");
    }
    let trans = &SAMPLE.rows(&["slice", "--by", "environment", "--dimension", "trans"])[0];
    assert!((whole["t"].as_f64().unwrap() - trans["gap"].as_f64().unwrap()).abs() < 1e-12);
}
