//! Names of tools: their words, their style, and short forms of them.

/// How the words of a name are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Snake,
    Kebab,
    Camel,
    Pascal,
}

/// The words of the last part of a name (`a.b.getUserDetails`: get, user, details), in lower case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    let mut before: Option<char> = None;
    for letter in last_part(name).chars() {
        if !letter.is_alphanumeric() {
            fresh = true;
            before = None;
            continue;
        }
        if letter.is_uppercase() && before.is_some_and(|b| b.is_lowercase() || b.is_numeric()) {
            fresh = true;
        }
        if std::mem::take(&mut fresh) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words
}

fn last_part(name: &str) -> &str {
    name.rsplit(['.', '/', ':']).next().unwrap_or(name)
}

fn style(name: &str) -> Style {
    let part = last_part(name);
    if part.contains('-') {
        Style::Kebab
    } else if part.chars().next().is_some_and(char::is_uppercase) {
        Style::Pascal
    } else if part.chars().any(char::is_uppercase) {
        Style::Camel
    } else {
        Style::Snake
    }
}

/// A name in the style of `like`, made of these words, with what stood before its last part.
pub(super) fn named(like: &str, words: &[String]) -> String {
    let part = last_part(like);
    let mut out = like[..like.len() - part.len()].to_owned();
    let style = style(like);
    for (at, word) in words.iter().enumerate() {
        match style {
            Style::Snake | Style::Kebab if at > 0 => {
                out.push(if style == Style::Snake { '_' } else { '-' });
                out.push_str(word);
            }
            Style::Camel if at == 0 => out.push_str(word),
            Style::Camel | Style::Pascal => {
                let mut letters = word.chars();
                out.extend(letters.next().into_iter().flat_map(char::to_uppercase));
                out.push_str(letters.as_str());
            }
            Style::Snake | Style::Kebab => out.push_str(word),
        }
    }
    out
}

/// Letters of one abbreviated word.
const SHORT: usize = 4;

/// The consonants of each word in capitals: `permit goal` becomes `PRMT_GL`.
pub(super) fn abbreviated(name: &str) -> String {
    let short = words(name).into_iter().map(|word| {
        let mut kept = String::new();
        for (at, letter) in word.chars().enumerate() {
            if at == 0 || !matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u') {
                kept.extend(letter.to_uppercase());
            }
        }
        kept.chars().take(SHORT).collect::<String>()
    });
    let short: Vec<String> = short.collect();
    if short.is_empty() {
        "TL".to_owned()
    } else {
        short.join("_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_styles_of_names() {
        for (name, parts, other) in [
            ("get_user_details", "get user details", "get_user_log"),
            ("getUserDetails", "get user details", "getUserLog"),
            ("geo.LocationSearch2", "location search2", "geo.GetUserLog"),
            ("read-file", "read file", "get-user-log"),
        ] {
            assert_eq!(words(name).join(" "), parts);
            let made = named(name, &["get".into(), "user".into(), "log".into()]);
            assert_eq!(made, other.replace("geo.LocationSearch2", ""));
        }
    }

    #[test]
    fn abbreviations_by_hand() {
        assert_eq!(abbreviated("get_user_details"), "GT_USR_DTLS");
        assert_eq!(abbreviated("a.permitGoal"), "PRMT_GL");
        assert_eq!(abbreviated("___"), "TL");
        assert_eq!(abbreviated("ÄußereListe"), "ÄSSR_LST");
    }
}
