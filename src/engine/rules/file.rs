//! The file as it is spelled: every pattern with its place, for messages.

use serde::Deserialize;
use toml::Spanned;

use fidelake_core::gap::{PathRule, PathRules, RuleAction};

use super::{Declared, Said, Tools};

/// A mistake: its place in bytes, and what it is.
pub(super) type Wrong = (usize, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    version: Spanned<i64>,
    #[serde(default)]
    environment: Vec<EnvironmentFile>,
    #[serde(default)]
    path: Vec<PathFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvironmentFile {
    name: Spanned<String>,
    #[serde(default)]
    reads: Vec<Spanned<String>>,
    #[serde(default)]
    writes: Vec<Spanned<String>>,
    #[serde(default)]
    readback: Vec<Readback>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathFile {
    environment: Option<Spanned<String>>,
    api: Option<Spanned<String>>,
    path: Spanned<String>,
    rule: Spanned<Actions>,
}

/// One action, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Actions {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Readback {
    after: Spanned<String>,
    call: Spanned<String>,
}

impl File {
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let file: Self = toml::from_str(text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            (at, e.message().to_owned())
        })?;
        if *file.version.get_ref() != 1 {
            let message = "version must be 1: this program knows no other".to_owned();
            return Err((file.version.span().start, message));
        }
        Ok(file)
    }

    /// `text` is the file: places of single actions are looked up in it.
    pub(super) fn said(self, text: &str) -> Result<Said, Wrong> {
        let environments = self.environment.into_iter();
        let tools = environments.map(EnvironmentFile::tools);
        let mut paths = Vec::new();
        for path in self.path {
            paths.extend(path.rules(text)?);
        }
        Ok(Said {
            declared: Declared {
                environments: tools.collect::<Result<_, _>>()?,
            },
            paths,
        })
    }
}

impl PathFile {
    fn rules(self, text: &str) -> Result<Vec<PathRule>, Wrong> {
        let span = self.rule.span();
        let place = span.start;
        let place_of = |action: &str| {
            let spelled = text.get(span.clone()).unwrap_or_default();
            place + spelled.find(action).unwrap_or(0)
        };
        let actions = match self.rule.into_inner() {
            Actions::One(action) => vec![action],
            Actions::Several(actions) => actions,
        };
        if actions.is_empty() {
            let what = "rule names no action: ignore, set, multiset, key_by=FIELD, precision=X, class=NAME or cosmetic=W";
            return Err((place, what.to_owned()));
        }
        let scope = |name: Option<Spanned<String>>| match name {
            Some(name) => not_empty(name).map(Spanned::into_inner),
            None => Ok("*".to_owned()),
        };
        let (environment, api) = (scope(self.environment)?, scope(self.api)?);
        let mut rules: Vec<PathRule> = Vec::new();
        let mut kinds: Vec<(&str, String)> = Vec::new();
        for spelled in actions {
            let place = place_of(&spelled);
            let action = RuleAction::parse(&spelled).map_err(|e| (place, e.to_string()))?;
            let kind = decides(&action);
            if let Some((_, other)) = kinds.iter().find(|(known, _)| *known == kind) {
                let what = format!("{spelled:?} and {other:?} both say {kind}: keep one");
                return Err((place, what));
            }
            kinds.push((kind, spelled));
            let rule = PathRule::new(self.path.get_ref().as_str(), action);
            rules.push(rule.within(environment.as_str(), api.as_str()));
        }
        // Checked one by one, because only here the place is known.
        PathRules::new(rules.clone()).map_err(|e| {
            let path = self.path.get_ref();
            let what = format!(
                "{path:?} is no path: {} (character {})",
                e.kind,
                e.offset + 1
            );
            (self.path.span().start, what)
        })?;
        Ok(rules)
    }
}

impl EnvironmentFile {
    fn tools(self) -> Result<Tools, Wrong> {
        let readbacks = self.readback.into_iter();
        let readbacks = readbacks.map(|r| Ok((pattern(r.after)?, pattern(r.call)?)));
        let all = |list: Vec<Spanned<String>>| -> Result<Vec<_>, Wrong> {
            list.into_iter().map(pattern).collect()
        };
        Ok(Tools {
            name: pattern(self.name)?,
            reads: all(self.reads)?,
            writes: all(self.writes)?,
            readbacks: readbacks.collect::<Result<_, Wrong>>()?,
        })
    }
}

/// What an action decides: only one of a rule can decide it.
fn decides(action: &RuleAction) -> &'static str {
    match action {
        RuleAction::Ignore => "whether it counts",
        RuleAction::Array(_) => "how elements are paired",
        RuleAction::Precision(_) => "how exact numbers are",
        RuleAction::Class(_) => "how values are compared",
        RuleAction::Cosmetic(_) => "what a difference weighs",
    }
}

fn not_empty(text: Spanned<String>) -> Result<Spanned<String>, Wrong> {
    if text.get_ref().is_empty() {
        let what = "an empty name matches nothing: write a name, a pattern, or leave it out";
        return Err((text.span().start, what.to_owned()));
    }
    Ok(text)
}

fn pattern(text: Spanned<String>) -> Result<glob::Pattern, Wrong> {
    let text = not_empty(text)?;
    glob::Pattern::new(text.get_ref()).map_err(|e| {
        let message = format!("{:?} is no pattern: {}", text.get_ref(), e.msg);
        (text.span().start, message)
    })
}
