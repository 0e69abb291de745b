//! Names with `*` in them.

/// Whether `name` is of the form `glob`, where `*` stands for any text.
pub(super) fn matches(glob: &str, name: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else {
        return glob == name;
    };
    let Some(mut left) = name.strip_prefix(first) else {
        return false;
    };
    // The earliest place of each middle part leaves the most room for the rest.
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.len() >= last.len() && left.ends_with(last)
}

/// How much a glob says: the characters it names; one without `*` says most.
pub(super) fn specificity(glob: &str) -> usize {
    match glob.contains('*') {
        true => glob.len() - glob.matches('*').count(),
        false => usize::MAX / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_by_hand() {
        for (glob, name) in [
            ("*", ""),
            ("*", "a"),
            ("a*", "a"),
            ("*a", "ba"),
            ("get_*_by_*", "get_user_by_id"),
            ("a*b*b", "abbb"),
            ("**", "x"),
            ("a", "a"),
        ] {
            assert!(matches(glob, name), "{glob} {name}");
        }
        for (glob, name) in [
            ("a", "b"),
            ("a*a", "a"),
            ("a*", "ba"),
            ("*b*c", "cb"),
            ("", "a"),
        ] {
            assert!(!matches(glob, name), "{glob} {name}");
        }
        assert!(specificity("ab*") < specificity("abc*") && specificity("abc*") < specificity("a"));
    }
}
