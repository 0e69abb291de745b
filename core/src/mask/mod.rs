//! shim
/// m
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// o
    Off,
    /// s
    Secrets,
    /// a
    All,
}
impl Mode {
    /// n
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Secrets => "secrets",
            Self::All => "all",
        }
    }
}
/// m
pub struct Masked {
    /// t
    pub text: String,
    /// c
    pub counts: Vec<(&'static str, usize)>,
}
/// v
pub const RULES_VERSION: &str = "fidelake-mask/1";
/// m
pub fn mask_record(_d: &crate::json::Doc<'_>, _m: Mode) -> Option<Masked> {
    None
}
