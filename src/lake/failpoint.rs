//! Names for the steps of a write, so that tests can stop the program there.
//!
//! Without the cargo feature `failpoints` this compiles to nothing. With it,
//! `FIDELAKE_FAILPOINT=name` (or `name#3`, the third time it is passed) aborts
//! the process there, as `kill -9` would, and `FIDELAKE_FAILPOINT_LOG=file`
//! appends every name that is passed.

/// Passes the step `name`.
#[cfg(feature = "failpoints")]
pub(crate) fn pass(name: &str) {
    use std::collections::HashMap;
    use std::io::Write as _;
    use std::sync::Mutex;

    static PASSED: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

    if let Ok(file) = std::env::var("FIDELAKE_FAILPOINT_LOG")
        && let Ok(mut file) = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
    {
        // One write: `writeln!` makes two, and two threads that pass a step at once then share a line.
        let _ = file.write_all(format!("{name}\n").as_bytes());
    }
    let Ok(wanted) = std::env::var("FIDELAKE_FAILPOINT") else {
        return;
    };
    let (wanted, nth) = match wanted.rsplit_once('#') {
        Some((name, nth)) => (name.to_owned(), nth.parse().unwrap_or(1)),
        None => (wanted, 1),
    };
    if wanted != name {
        return;
    }
    let mut passed = PASSED
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let count = passed.get_or_insert_default().entry(wanted).or_insert(0);
    *count += 1;
    if *count == nth {
        std::process::abort();
    }
}

/// Passes the step `name`.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn pass(_name: &str) {}
