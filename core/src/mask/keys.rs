//! Which keys hold secrets, in any case and in snake, camel or kebab spelling.

use super::prefilter;

/// What a key says about the string under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyClass {
    /// A person's secret word: masked whatever it looks like.
    Password,
    /// A short number: masked if it is one.
    Pin,
    /// Surely a secret: masked unless it is a placeholder or prose.
    Secret,
    /// `token` and the like, which often are something else: only what looks random.
    Maybe,
    /// A header with a scheme.
    Authorization,
    /// A header with `name=value` pairs.
    Cookie,
    /// A telephone number.
    Phone,
}

/// Words before `token` that make it a secret for sure.
const TOKEN_OF: &[&str] = &[
    "access", "refresh", "auth", "oauth", "bearer", "session", "id", "csrf", "xsrf", "security",
    "bot", "api", "secret", "private", "client", "personal", "jwt", "login", "sso", "github",
    "gitlab", "slack", "hf",
];

/// Words that make it something else: places in a list, pieces of text, coins.
const TOKEN_NOT_OF: &[&str] = &[
    "page",
    "next",
    "prev",
    "previous",
    "progress",
    "continuation",
    "continue",
    "sync",
    "cursor",
    "resume",
    "pagination",
    "start",
    "stop",
    "end",
    "special",
    "pad",
    "bos",
    "eos",
    "unk",
    "mask",
    "sep",
    "cls",
    "max",
    "min",
    "total",
    "first",
    "last",
    "skip",
    "change",
    "scroll",
    "position",
    "search",
    "delta",
    "base",
    "quote",
    "sell",
    "buy",
    "from",
    "to",
    "in",
    "out",
    "input",
    "output",
    "native",
    "reward",
    "lp",
    "erc20",
    "nft",
    "query",
    "stream",
    "marker",
    "batch",
    "num",
    "per",
    "idempotency",
    "client_request",
];

/// What a key says, `None` for nearly all of them.
pub(super) fn key_class(key: &str) -> Option<KeyClass> {
    if key.len() > 64 {
        return None;
    }
    let (needle, range) = prefilter::last_key_needle(key)?;
    let tail = flat(&key[range.end..])?;
    let plain_tail = tail.bytes().all(|b| b.is_ascii_digit());
    let is_hash = matches!(tail.as_str(), "hash" | "value" | "confirmation" | "confirm");
    if !plain_tail && !is_hash {
        return None;
    }
    let before = flat(&key[..range.start])?;
    let exact = before.is_empty() && tail.is_empty();
    Some(match needle {
        "password" | "passwd" | "passphrase" | "passcode" | "pwd" => KeyClass::Password,
        "pin" | "otp" | "cvv" | "cvc" => {
            let named = exact
                || matches!(
                    before.as_str(),
                    "card" | "user" | "atm" | "login" | "account"
                );
            if !named {
                return None;
            }
            KeyClass::Pin
        }
        "token" => token_class(&key[..range.start], &before, exact)?,
        "secret" => {
            // `is_secret`, `top_secret` and `no_secret` are properties, not secrets.
            if matches!(before.as_str(), "is" | "top" | "no" | "has") {
                return None;
            }
            KeyClass::Secret
        }
        "credential" | "credentials" | "jwt" => KeyClass::Maybe,
        "cookie" => {
            if !(exact || before == "set" || before == "http") {
                return None;
            }
            KeyClass::Cookie
        }
        "authorization" => {
            if !(exact || before == "proxy" || before == "http" || before == "x") {
                return None;
            }
            KeyClass::Authorization
        }
        "phone" | "telephone" | "mobile" | "whatsapp" | "fax" | "cell" | "tel" => {
            let named = tail.is_empty() || plain_tail;
            let is_tel = needle == "tel" || needle == "cell";
            if !named || (is_tel && !exact) {
                return None;
            }
            KeyClass::Phone
        }
        "phonenumber" | "phone_number" | "phone-number" | "mobilenumber" | "mobile_number"
        | "contactnumber" | "contact_number" => KeyClass::Phone,
        // The many kinds of keys.
        _ => KeyClass::Secret,
    })
}

fn token_class(prefix: &str, before: &str, exact: bool) -> Option<KeyClass> {
    if exact {
        return Some(KeyClass::Maybe);
    }
    let word = last_word(prefix);
    if TOKEN_NOT_OF.contains(&word.as_str()) {
        return None;
    }
    let sure =
        TOKEN_OF.contains(&word.as_str()) || before.ends_with("access") || before.ends_with("auth");
    Some(if sure {
        KeyClass::Secret
    } else {
        KeyClass::Maybe
    })
}

/// The last word before the needle: `nextPage` and `next_page_` give `page`.
fn last_word(prefix: &str) -> String {
    let prefix = prefix.trim_end_matches(['_', '-', '.', ' ']);
    let bytes = prefix.as_bytes();
    let mut from = bytes.len();
    while from > 0 {
        let b = bytes[from - 1];
        if matches!(b, b'_' | b'-' | b'.' | b' ') {
            break;
        }
        from -= 1;
        let camel = b.is_ascii_uppercase() && from > 0 && bytes[from - 1].is_ascii_lowercase();
        if camel {
            break;
        }
    }
    prefix[from..].to_ascii_lowercase()
}

/// The letters and digits of an identifier in lower case; `None` if it is none.
fn flat(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for b in text.bytes() {
        match b {
            b'_' | b'-' | b'.' | b' ' => {}
            _ if b.is_ascii_alphanumeric() => out.push(b.to_ascii_lowercase() as char),
            _ => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_secrets_in_every_spelling() {
        use KeyClass::*;
        for (key, class) in [
            ("password", Password),
            ("PASSWORD", Password),
            ("userPassword", Password),
            ("db-password", Password),
            ("smtp.passwd", Password),
            ("password2", Password),
            ("passwordHash", Password),
            ("api_key", Secret),
            ("apiKey", Secret),
            ("API-Key", Secret),
            ("API key", Secret),
            ("X-API-Key", Secret),
            ("openai_api_key", Secret),
            ("X-RapidAPI-Key", Secret),
            ("access_token", Secret),
            ("accessToken", Secret),
            ("X-Auth-Token", Secret),
            ("refreshToken", Secret),
            ("x-amz-security-token", Secret),
            ("client_secret", Secret),
            ("clientSecret", Secret),
            ("secretAccessKey", Secret),
            ("aws_secret_access_key", Secret),
            ("privateKey", Secret),
            ("token", Maybe),
            ("deviceToken", Maybe),
            ("Authorization", Authorization),
            ("proxy-authorization", Authorization),
            ("Set-Cookie", Cookie),
            ("cookie", Cookie),
            ("pin", Pin),
            ("phone", Phone),
            ("phoneNumber", Phone),
            ("tel", Phone),
        ] {
            assert_eq!(key_class(key), Some(class), "{key}");
        }
    }

    #[test]
    fn keys_that_only_sound_like_it() {
        for key in [
            "nextPageToken",
            "next_token",
            "progressToken",
            "page_token",
            "continuationToken",
            "tokens",
            "max_tokens",
            "total_tokens",
            "token_ids",
            "token_type",
            "tokenCount",
            "tool_call_id",
            "passenger",
            "passengers",
            "compass",
            "secretary",
            "passwordPolicy",
            "keyboard",
            "monkey",
            "publicKey",
            "key",
            "shipping",
            "pincode",
            "hotel",
            "telegram",
            "mobileApp",
            "eosToken",
            "inputToken",
            "cookies_enabled",
            "forgotPasswordUrl",
            "is_secret",
            "authorizationUrl",
            "primaryKey",
            "foreign_key",
            "",
        ] {
            assert_eq!(key_class(key), None, "{key}");
        }
    }
}
