//! The named, versioned rule set.

/// The version of the rules. A change of what is masked is a new version: it is
/// part of an import's identity.
pub const RULES_VERSION: &str = "fidelake-mask/1";

/// What a rule protects; [`super::Mode::Secrets`] leaves `Personal` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Whoever holds it gets in.
    Secrets,
    /// Whoever reads it can reach a person.
    Personal,
}

impl Class {
    /// The word in tables and help.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Personal => "personal",
        }
    }
}

/// One rule, for printing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The name that [`super::Masked::counts`] uses.
    pub name: &'static str,
    /// What it protects.
    pub class: Class,
    /// What it matches, for people.
    pub matches: &'static str,
}

/// The rules by number. The order is that of [`TABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Password,
    Token,
    Authorization,
    Cookie,
    PrivateKey,
    Jwt,
    KeyPrefix,
    UrlQuery,
    UrlPassword,
    Email,
    Phone,
}

const TABLE: [Rule; 11] = [
    Rule {
        name: "password",
        class: Class::Secrets,
        matches: "strings under password, passwd, pwd, passphrase, passcode, pin, otp, cvv; `password: x` in text",
    },
    Rule {
        name: "token",
        class: Class::Secrets,
        matches: "strings under api_key, access_token, client_secret, private_key and the like; `api_key: x` in text",
    },
    Rule {
        name: "authorization",
        class: Class::Secrets,
        matches: "authorization headers, also in header lists; `Bearer x` and `Basic x` in text",
    },
    Rule {
        name: "cookie",
        class: Class::Secrets,
        matches: "cookie and set-cookie headers",
    },
    Rule {
        name: "private_key",
        class: Class::Secrets,
        matches: "PEM blocks that hold a private key",
    },
    Rule {
        name: "jwt",
        class: Class::Secrets,
        matches: "JSON web tokens",
    },
    Rule {
        name: "key_prefix",
        class: Class::Secrets,
        matches: "keys known by their beginning: sk-, ghp_, github_pat_, glpat-, xoxb-, AKIA, AIza, hf_, npm_, SG. and the like",
    },
    Rule {
        name: "url_query",
        class: Class::Secrets,
        matches: "keys, tokens and signatures in the query of a URL",
    },
    Rule {
        name: "url_password",
        class: Class::Secrets,
        matches: "the password in scheme://user:password@host",
    },
    Rule {
        name: "email",
        class: Class::Personal,
        matches: "e-mail addresses",
    },
    Rule {
        name: "phone",
        class: Class::Personal,
        matches: "telephone numbers with + or in the form 555-123-4567; any number under a key like phone or mobile",
    },
];

/// All rules, in a fixed order.
pub fn rules() -> impl Iterator<Item = Rule> {
    TABLE.into_iter()
}

/// How often each rule has masked something.
#[derive(Default)]
pub(super) struct Counts([usize; TABLE.len()]);

impl Counts {
    pub(super) fn add(&mut self, rule: Id) {
        self.0[rule as usize] += 1;
    }

    pub(super) fn named(&self) -> Vec<(&'static str, usize)> {
        TABLE
            .iter()
            .zip(self.0)
            .filter(|(_, count)| *count > 0)
            .map(|(rule, count)| (rule.name, count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree() {
        let mut counts = Counts::default();
        for id in [Id::Password, Id::KeyPrefix, Id::Phone] {
            counts.add(id);
        }
        let names: Vec<_> = counts.named().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["password", "key_prefix", "phone"]);
        assert_eq!(rules().count(), Id::Phone as usize + 1);
    }
}
