//! Recipes, right and wrong.

use super::*;

fn error(text: &str) -> String {
    Recipe::parse(Path::new("r.toml"), text)
        .unwrap_err()
        .to_string()
}

#[test]
fn defaults() {
    let recipe = Recipe::parse(Path::new("r.toml"), "version = 1\n").unwrap();
    assert_eq!(recipe.gate.kind, GateKind::Quantile);
    assert_eq!(recipe.gate.unknown, Unknown::Keep);
    assert_eq!(recipe.source.arm, Arm::Sim);
    assert_eq!(recipe.groups.by, GroupBy::GroupId);
    assert!(!recipe.groups.mix_policies);
    assert_eq!(recipe.output.max_shard_bytes, 500_000_000);
    assert_eq!(recipe.output.formats, [crate::curate::Format::Parquet]);
    assert_eq!(recipe.privacy.mask.mode(), fidelake_core::mask::Mode::Off);
    assert_eq!(recipe.repair.below, None);
}

#[test]
fn every_mistake_has_a_place_and_says_what_is_right() {
    let cases = [
        (
            "version = 1\n[gate]\nkind = \"perfect\"\n",
            "r.toml:3:8",
            "`quantile`",
        ),
        (
            "version = 1\n[gate]\nkinds = \"seed\"\n",
            "r.toml:3:1",
            "`kind`",
        ),
        ("version = 1\n[gat]\n", "r.toml:2:2", "`gate`"),
        ("version = 2\n", "r.toml:1:11", "version 1"),
        ("[gate]\n", "r.toml:1:1", "`version = 1`"),
        (
            "version = 1\n[gate]\nunknown = \"weight\"\n",
            "r.toml:3:11",
            "unknown_weight = 0.5",
        ),
        (
            "version = 1\n[gate]\nunknown_weight = 0.5\n",
            "r.toml:3:18",
            "unknown = \"weight\"",
        ),
        (
            "version = 1\n[gate]\nunknown = \"weight\"\nunknown_weight = 7.0\n",
            "r.toml:4:18",
            "0.0 to 1.0",
        ),
        (
            "version = 1\n[output]\nrows_per_shard = 0\n",
            "r.toml:3:18",
            "from 1 on",
        ),
        (
            "version = 1\n[output]\nrows_per_shard = \"x\"\n",
            "r.toml:3:18",
            "a whole number",
        ),
        (
            "version = 1\n[output]\nname = \"\"\n",
            "r.toml:3:8",
            "one line",
        ),
        (
            "version = 1\n[output]\nformats = [\"verl\"]\n",
            "r.toml:3:12",
            "`verl-rl`",
        ),
        (
            "version = 1\n[output]\nformats = [\"mds\", \"mds\"]\n",
            "r.toml:3:19",
            "\"mds\" is named twice",
        ),
        (
            "version = 1\n[output]\nformats = []\n",
            "r.toml:3:11",
            "at least one",
        ),
        (
            "version = 1\n[output]\nformats = [\"mds\"]\nmax_shard_bytes = 4000000000\n",
            "r.toml:4:19",
            "mds holds at most",
        ),
        (
            "version = 1\n[repair]\nbelow = 1.5\n",
            "r.toml:3:9",
            "up to 1.0",
        ),
        (
            "version = 1\n[source]\narm = \"real\"\n[repair]\nbelow = 0.5\n",
            "r.toml:5:9",
            "arm = \"sim\"",
        ),
        (
            "version = 1\n[privacy]\nmask = \"some\"\n",
            "r.toml:3:8",
            "`secrets`",
        ),
        (
            "version = 1\n[source]\nwhere = \" \"\n",
            "r.toml:3:9",
            "condition",
        ),
        (
            "version = 1\n[source]\narm = \"both\"\n",
            "r.toml:3:7",
            "`sim` or `real`",
        ),
        ("version = 1\nversion = 1\n", "r.toml:2:1", "duplicate"),
        ("version = \n", "r.toml:1:1", ""),
    ];
    for (text, place, right) in cases {
        let message = error(text);
        assert!(message.starts_with(place), "{text:?}: {message}");
        assert!(message.contains(right), "{text:?}: {message}");
    }
}

#[test]
fn a_curation_is_named_by_recipe_and_lake_version() {
    let recipe = |text| Recipe::parse(Path::new("r"), text).unwrap();
    let one = recipe("version = 1\n");
    assert_eq!(
        one.curation_id(3, &[]),
        recipe("version = 1\n").curation_id(3, &[])
    );
    assert_ne!(one.curation_id(3, &[]), one.curation_id(4, &[]));
    assert_ne!(
        one.curation_id(3, &[]),
        recipe("version  = 1\n").curation_id(3, &[])
    );
    assert_eq!(one.hash().len(), 64);
}
