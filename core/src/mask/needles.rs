//! What the quick pass looks for, as data. Everything in lower case.

/// Words in keys.
pub(super) const KEY_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "token",
    "secret",
    "credential",
    "credentials",
    "jwt",
    "cookie",
    "authorization",
];

/// Words before `key` that make it a secret, with every separator.
pub(super) const KEY_OF: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "app",
    "master",
    "signing",
    "encryption",
    "subscription",
    "account",
    "shared",
    "service",
    "license",
    "consumer",
    "ssh",
    "deploy",
    "hmac",
];

/// Words in keys of telephone numbers.
pub(super) const PHONE_WORDS: &[&str] = &[
    "phone",
    "telephone",
    "mobile",
    "whatsapp",
    "fax",
    "cell",
    "tel",
    "phonenumber",
    "phone_number",
    "phone-number",
    "mobilenumber",
    "mobile_number",
    "contactnumber",
    "contact_number",
];

/// What a needle may be the sign of.
#[derive(Clone, Copy)]
pub(super) enum Needle {
    /// The end of a key.
    Key,
    /// `key`, a secret only behind some words.
    KeyOf,
    /// The beginning of a value as it is really spelled, and how many token
    /// characters must follow.
    Prefix(&'static str, usize),
    /// A name in a query of a URL.
    Query,
    Scheme,
    Url,
    /// `\u00`: a letter of a needle may be spelled so.
    Unicode,
    /// `\x`: the same in Python.
    Hex,
}

use Needle::{Hex, Key, KeyOf, Prefix, Query, Scheme, Unicode, Url};

pub(super) const SECRETS: &[(&str, Needle)] = &[
    ("password", Key),
    ("passwd", Key),
    ("passphrase", Key),
    ("passcode", Key),
    ("pwd", Key),
    ("pin", Key),
    ("otp", Key),
    ("cvv", Key),
    ("cvc", Key),
    ("token", Key),
    ("secret", Key),
    ("credential", Key),
    ("jwt", Key),
    ("cookie", Key),
    ("authorization", Key),
    ("key", KeyOf),
    ("sk-", Prefix("sk-", 20)),
    ("k_live_", Prefix("k_live_", 16)),
    ("k_test_", Prefix("k_test_", 16)),
    ("ghp_", Prefix("ghp_", 36)),
    ("gho_", Prefix("gho_", 36)),
    ("ghu_", Prefix("ghu_", 36)),
    ("ghs_", Prefix("ghs_", 36)),
    ("ghr_", Prefix("ghr_", 36)),
    ("github_pat_", Prefix("github_pat_", 22)),
    ("glpat-", Prefix("glpat-", 20)),
    ("xox", Prefix("xox", 12)),
    ("xapp-", Prefix("xapp-", 20)),
    ("akia", Prefix("AKIA", 16)),
    ("asia", Prefix("ASIA", 16)),
    ("aiza", Prefix("AIza", 35)),
    ("hf_", Prefix("hf_", 30)),
    ("npm_", Prefix("npm_", 36)),
    ("sg.", Prefix("SG.", 30)),
    ("eyj", Prefix("eyJ", 20)),
    ("whsec_", Prefix("whsec_", 24)),
    ("ya29.", Prefix("ya29.", 20)),
    ("pypi-age", Prefix("pypi-AgE", 30)),
    ("dckr_pat_", Prefix("dckr_pat_", 20)),
    ("dop_v1_", Prefix("dop_v1_", 40)),
    ("shpat_", Prefix("shpat_", 32)),
    ("shpca_", Prefix("shpca_", 32)),
    ("shppa_", Prefix("shppa_", 32)),
    ("shpss_", Prefix("shpss_", 32)),
    ("r8_", Prefix("r8_", 37)),
    ("gsk_", Prefix("gsk_", 40)),
    ("xai-", Prefix("xai-", 60)),
    ("tvly-", Prefix("tvly-", 20)),
    ("pplx-", Prefix("pplx-", 40)),
    ("lsv2_", Prefix("lsv2_", 30)),
    ("nvapi-", Prefix("nvapi-", 40)),
    ("-----begin", Prefix("-----BEGIN", 0)),
    ("sig=", Query),
    ("signature=", Query),
    ("appid=", Query),
    ("auth=", Query),
    ("hmac=", Query),
    ("pass=", Query),
    ("bearer", Scheme),
    ("basic", Scheme),
    ("://", Url),
    ("\\u00", Unicode),
    ("\\x", Hex),
];

/// The rest of the words in keys, for [`Mode::All`]; longer ones contain these.
pub(super) const PHONES: &[(&str, Needle)] = &[
    ("phone", Key),
    ("mobile", Key),
    ("whatsapp", Key),
    ("fax", Key),
    ("cell", Key),
    ("tel", Key),
    ("mobilenumber", Key),
    ("mobile_number", Key),
    ("phonenumber", Key),
    ("phone_number", Key),
    ("phone-number", Key),
    ("contactnumber", Key),
    ("contact_number", Key),
];
