//! What stands around every page: head, ways to the others, and where the numbers come from.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::links::Links;
use crate::lake::LakeVersion;
use crate::report::safe;

/// One stylesheet for pages and reports.
pub(super) const STYLE: &str = include_str!("style.css");

/// What pages can do better where scripts run; all of them work without.
pub(super) const SCRIPT: &str = include_str!("script.js");

/// The pages of the bar at the top.
pub(super) const BAR: [(&str, &str); 7] = [
    ("/", "Overview"),
    ("/heat", "Heat map"),
    ("/calls", "Calls"),
    ("/patterns", "Patterns"),
    ("/budget", "Budget"),
    ("/monitor", "Monitor"),
    ("/sql", "SQL"),
];

/// A page without its content.
#[derive(Debug)]
pub(super) struct Frame<'f> {
    /// Its title.
    pub(super) title: &'f str,
    /// The entry of the bar that it belongs to.
    pub(super) place: &'f str,
    /// How it links.
    pub(super) links: Links,
    /// The lake's name.
    pub(super) lake: &'f str,
    /// The version that is shown; none: the lake cannot be read.
    pub(super) version: Option<&'f LakeVersion>,
    /// The newest version.
    pub(super) newest: Option<i64>,
}

impl Frame<'_> {
    /// The whole page.
    pub(super) fn around(&self, content: &Markup) -> String {
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (safe(self.title)) " · fidelake" }
                    link rel="icon" href="data:,";
                    link rel="stylesheet" href="/style.css";
                    script src="/script.js" defer {}
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header.top {
                        a.brand href=(self.links.to("/", &[])) { "fidelake" }
                        nav aria-label="Pages" {
                            ul {
                                @for (path, name) in BAR {
                                    @let here = (path == self.place).then_some("page");
                                    li { a href=(self.links.to(path, &[])) aria-current=[here] { (name) } }
                                }
                            }
                        }
                    }
                    (self.notice())
                    main #main tabindex="-1" { (content) }
                    (self.foot())
                }
            }
        }
        .into_string()
    }

    /// Another version than the newest is shown: say so, and why.
    fn notice(&self) -> Markup {
        let (Some(version), Some(newest)) = (self.version, self.newest) else {
            return html! {};
        };
        if version.version == newest {
            return html! {};
        }
        html! {
            p.notice role="status" {
                @if self.links.version.is_some() {
                    "Lake version " (version.version) " is pinned; the newest is " (newest) ". "
                    a href=(self.place) { "Show the newest" }
                } @else {
                    "Lake version " (newest) " is being opened; this is version " (version.version)
                    ". Load the page again in a moment."
                }
            }
        }
    }

    fn foot(&self) -> Markup {
        html! {
            footer {
                @if let Some(version) = self.version {
                    p {
                        "Lake " b { (safe(self.lake)) } ", version " (version.version) ", "
                        (safe(&version.operation)) " at "
                        time datetime=(safe(&version.time)) { (minutes(&version.time)) " UTC" } ". "
                        @if self.links.version.is_none() {
                            @let pinned = Links { version: Some(version.version), ..self.links };
                            a href=(pinned.to(self.place, &[])) { "Pin this version" }
                        }
                    }
                }
                p { "Gaps run from 0, no difference, to 1. Fidelity is 1 less the gap. What was not measured is –, never 0 or 1." }
            }
        }
    }
}

/// `2026-07-31T12:00:00.000Z` without its seconds.
pub(super) fn minutes(time: &str) -> String {
    let time = safe(time).replace('T', " ");
    time.get(..16).unwrap_or(&time).to_owned()
}

/// A page that is one file: no script at all, nothing that is loaded.
pub(super) fn alone(title: &str, content: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (safe(title)) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                main #main tabindex="-1" { (content) }
            }
        }
    }
    .into_string()
}
