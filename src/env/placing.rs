//! A session's own folder in what goes out and what comes back.
//!
//! Its path is another one in every session. `${workspace}` stands for it on
//! both ways, so that arguments reach it, answers of two sessions can be
//! compared, and a value out of an answer is an argument in any other session.

use std::borrow::Cow;
use std::path::Path;

use fidelake_core::json::push_json_string;

use super::answer::{Answer, Note};

/// Stands for the folder in commands, variables, working folders, arguments and answers.
pub(super) const WORKSPACE: &str = "${workspace}";

/// JSON text with the folder's path where `${workspace}` stands.
pub(super) fn placed<'a>(json: &'a str, folder: &Path) -> Cow<'a, str> {
    if json.contains(WORKSPACE) {
        Cow::Owned(json.replace(WORKSPACE, &inside_json(folder)))
    } else {
        Cow::Borrowed(json)
    }
}

/// JSON text with `${workspace}` where the folder's path stands; how often it did.
pub(super) fn named<'a>(json: &'a str, folder: &Path) -> (Cow<'a, str>, usize) {
    let path = inside_json(folder);
    // Some writers escape slashes.
    let spellings = [path.replace('/', "\\/"), path];
    let mut text = Cow::Borrowed(json);
    let mut found = 0;
    for spelling in &spellings {
        let times = text.matches(spelling.as_str()).count();
        if times > 0 {
            text = Cow::Owned(text.replace(spelling.as_str(), WORKSPACE));
            found += times;
        }
    }
    (text, found)
}

/// Names the folder in an answer. A note keeps what its path was.
pub(super) fn name_in(answer: &mut Answer, folder: &Path) {
    let mut found = 0;
    for part in [
        &mut answer.content,
        &mut answer.structured,
        &mut answer.state,
    ] {
        let Some(json) = part else { continue };
        if let (Cow::Owned(text), times) = named(json, folder) {
            *part = Some(text);
            found += times;
        }
    }
    if found > 0 {
        let times = match found {
            1 => "once".to_owned(),
            found => format!("{found} times"),
        };
        let said = format!("{} is written as {WORKSPACE}, {times}", folder.display());
        answer.notes.push(Note::new("workspace", said));
    }
}

/// The path as it stands in a JSON string.
fn inside_json(folder: &Path) -> String {
    let mut quoted = String::new();
    push_json_string(&folder.to_string_lossy(), &mut quoted);
    quoted.trim_matches('"').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_out_by_its_path_and_comes_back_by_its_name() {
        let folder = Path::new("/tmp/own-1");
        let sent = placed(r#"{"path":"${workspace}/a.txt"}"#, folder);
        assert_eq!(sent, r#"{"path":"/tmp/own-1/a.txt"}"#);
        assert_eq!(
            named(&sent, folder),
            (r#"{"path":"${workspace}/a.txt"}"#.into(), 1)
        );
        let mut answer = Answer {
            content: Some(r#"[{"text":"in \/tmp\/own-1\/b, /tmp/own-1 and /tmp"}]"#.to_owned()),
            structured: Some(r#"{"n": 1.10}"#.to_owned()),
            ..Answer::default()
        };
        name_in(&mut answer, folder);
        assert_eq!(
            answer.content.as_deref(),
            Some(r#"[{"text":"in ${workspace}\/b, ${workspace} and /tmp"}]"#)
        );
        assert_eq!(answer.structured.as_deref(), Some(r#"{"n": 1.10}"#));
        assert_eq!(
            answer.notes,
            [Note::new(
                "workspace",
                "/tmp/own-1 is written as ${workspace}, 2 times"
            )]
        );
    }

    #[test]
    fn an_answer_without_the_path_stays_as_it_came() {
        let mut answer = Answer {
            content: Some("[]".to_owned()),
            ..Answer::default()
        };
        name_in(&mut answer, Path::new("/tmp/own-1"));
        assert_eq!(
            (answer.content.as_deref(), answer.notes.len()),
            (Some("[]"), 0)
        );
    }
}
