//! The modules keep their order: data flows down the list in `src/lib.rs`, imports point up it.

use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The names between backquotes in the list at the top of `src/lib.rs`.
fn order() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let list = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .skip_while(|line| !line.contains("in this order"));
    let names = list
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .map(str::to_owned);
    names.collect()
}

/// Top modules that a source names: `crate::lake::X`, `crate::{lake::X, report}`.
fn named(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        let word = |text: &str| -> String {
            text.trim_start()
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect()
        };
        let Some(inner) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (at, letter) in inner.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    found.push(word(&inner[start..at]));
                    start = at + 1;
                    if letter == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

#[test]
fn imports_point_up_the_list_of_modules() {
    let order = order();
    assert!(order.len() >= 5, "{order:?}");
    let place = |name: &str| order.iter().position(|known| known == name);
    let mut wrong = Vec::new();
    let mut lines: Vec<(String, usize)> = Vec::new();
    for path in sources(&root().join("src")) {
        let relative = path.strip_prefix(root().join("src")).unwrap();
        let top = relative.iter().next().unwrap().to_str().unwrap();
        let top = top.strip_suffix(".rs").unwrap_or(top);
        if matches!(top, "lib" | "main") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        lines.push((relative.display().to_string(), text.lines().count()));
        let Some(own) = place(top) else {
            wrong.push(format!("{top} does not stand in the list of src/lib.rs"));
            continue;
        };
        for name in named(&text) {
            match place(&name) {
                Some(at) if at <= own => {}
                Some(_) => wrong.push(format!(
                    "{} uses {name}, which comes after {top}",
                    relative.display()
                )),
                None => wrong.push(format!(
                    "{} uses {name}, which is not in the list",
                    relative.display()
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    lines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (name, count) in lines.iter().take(5) {
        eprintln!("{count:5} lines: src/{name}");
    }
}

#[test]
fn the_core_knows_no_arrow_no_runtime_and_no_files() {
    let manifest = std::fs::read_to_string(root().join("core/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let names: Vec<&str> = manifest["dependencies"]
        .as_table()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for foreign in [
        "arrow",
        "parquet",
        "datafusion",
        "deltalake",
        "tokio",
        "fidelake",
        "polars",
    ] {
        let has = names.iter().any(|name| name.starts_with(foreign));
        assert!(!has, "core depends on {foreign}");
    }
    let files = sources(&root().join("core/src"));
    let texts: Vec<String> = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    for (path, text) in files.iter().zip(&texts) {
        // Modules of tests may read the files they need.
        let name = path.file_stem().unwrap().to_str().unwrap();
        let declared = format!("#[cfg(test)]\nmod {name};");
        if texts.iter().any(|text| text.contains(&declared)) {
            continue;
        }
        let product = text.split("#[cfg(test)]").next().unwrap();
        for foreign in ["std::fs", "std::net", "std::process"] {
            assert!(
                !product.contains(foreign),
                "{} uses {foreign}",
                path.display()
            );
        }
    }
}

#[test]
fn one_version_of_the_engine_is_locked() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    for name in ["datafusion", "arrow", "parquet", "deltalake"] {
        let packages = lock["package"].as_array().unwrap().iter();
        let versions: Vec<_> = packages
            .filter(|package| package["name"].as_str() == Some(name))
            .map(|package| package["version"].as_str().unwrap())
            .collect();
        assert_eq!(versions.len(), 1, "{name}: {versions:?}");
    }
}
