//! Who may ask, and which page a request is for. Pages change nothing: GET and HEAD only. No
//! part of a request is ever the name of a file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, StatusCode};
use maud::{Markup, PreEscaped, html};

use super::answer::{Reply, asset, html as page, reply, whole};
use super::asked::Asked;
use super::book::Book;
use super::data::Form;
use super::error::{PageError, PageResult};
use super::frame::{Frame, SCRIPT, STYLE};
use super::links::Links;
use super::shelf::Shelf;
use super::{
    base64, budget, calls, data, heat, monitor, overview, patterns, sql, text, trajectory,
};
use crate::monitor::Token;
use crate::report::{safe, safe_lines};
use crate::web::{is_from_here, names_this_machine};

/// Longest query of an address, in bytes.
const LONGEST: usize = 16 << 10;

/// A page that can begin without its content begins after this.
const MOMENT: Duration = Duration::from_millis(150);

/// What every request is checked and answered with.
#[derive(Debug)]
pub(super) struct Door {
    /// It listens on this machine only.
    pub(super) loopback: bool,
    /// Who has it may look; none: everybody who gets here.
    pub(super) token: Option<Token>,
    pub(super) shelf: Arc<Shelf>,
    /// Where a monitor keeps its state.
    pub(super) state: PathBuf,
}

impl Door {
    /// Answers a request.
    pub(super) async fn handle(self: &Arc<Self>, request: Request<Incoming>) -> Reply {
        if let Some(refused) = self.refuses(&request) {
            return refused;
        }
        match request.uri().path() {
            "/style.css" => return asset("text/css; charset=utf-8", STYLE),
            "/script.js" => return asset("text/javascript; charset=utf-8", SCRIPT),
            _ => {}
        }
        let query = request.uri().query().unwrap_or_default();
        match self.answer(request.uri().path(), query).await {
            Ok(reply) => reply,
            Err(error) => self.told(&error),
        }
    }

    /// Why a request is not answered, if it is not.
    fn refuses(&self, request: &Request<Incoming>) -> Option<Reply> {
        let headers = request.headers();
        if self.loopback && !names_this_machine(headers) {
            // A web page may have had its name resolved to this machine.
            return Some(self.refusal(
                StatusCode::FORBIDDEN,
                "these pages are for this machine only, and were asked for under another name",
                "Use http://127.0.0.1 or http://localhost with the port that `fidelake serve` printed.",
            ));
        }
        if !is_from_here(headers) {
            return Some(self.refusal(
                StatusCode::FORBIDDEN,
                "asked by a page of another origin",
                "Open the address yourself.",
            ));
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut reply = self.refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "these pages change nothing, so there are GET and HEAD only",
                "What changes a lake is a command of `fidelake`.",
            );
            let allowed = HeaderValue::from_static("GET, HEAD");
            reply.headers_mut().insert(header::ALLOW, allowed);
            return Some(reply);
        }
        if !self.may_look(headers) {
            let mut reply = whole(
                StatusCode::UNAUTHORIZED,
                "text/plain; charset=utf-8",
                "These pages need the token of --token-file: as the password of any user name, or Authorization: Bearer TOKEN.\n",
            );
            let scheme = HeaderValue::from_static("Basic realm=\"fidelake\", charset=\"UTF-8\"");
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            return Some(reply);
        }
        if !request.body().is_end_stream() {
            return Some(self.refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                "the request has a body, and pages take none",
                "Put what you ask for into the address.",
            ));
        }
        if request
            .uri()
            .query()
            .is_some_and(|query| query.len() > LONGEST)
        {
            return Some(self.refusal(
                StatusCode::URI_TOO_LONG,
                "the address is longer than 16 KiB",
                "Begin at the overview.",
            ));
        }
        None
    }

    /// With the token as a bearer, or as the password of any user: what browsers ask for.
    fn may_look(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let password = given
            .and_then(|text| text.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))
            .and_then(|(_, rest)| base64::decoded(rest.trim()))
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let password = password.as_deref().and_then(|text| text.split_once(':'));
        token.is_in(given) || password.is_some_and(|(_, password)| token.is(password))
    }

    async fn answer(self: &Arc<Self>, path: &str, query: &str) -> PageResult<Reply> {
        let mut asked = Asked::parse(query)?;
        let version = asked.number("version", i64::MAX)?;
        if let Some(form) = match path {
            "/data.csv" => Some(Form::Csv),
            "/data.parquet" => Some(Form::Parquet),
            _ => None,
        } {
            let shown = data::Shown::asked(&mut asked)?;
            asked.end()?;
            let (book, _) = self.shelf.book(version).await?;
            return data::file(book, &self.state, shown, form).await;
        }
        let links = Links {
            version,
            mailed: false,
        };
        let asked = Page::asked(path, asked)?;
        let (book, newest) = self.shelf.book(version).await?;
        let lake = self.shelf.name();
        let (title, place) = asked.named();
        let frame = Frame {
            title,
            place,
            links,
            lake: &lake,
            version: Some(book.version()),
            newest: Some(newest),
        };
        if !asked.may_begin() {
            let content = self.make(asked, &book, links).await?;
            return Ok(page(StatusCode::OK, frame.around(&content)));
        }
        let (door, from) = (Arc::clone(self), Arc::clone(&book));
        let mut making = tokio::spawn(async move { door.make(asked, &from, links).await });
        match tokio::time::timeout(MOMENT, &mut making).await {
            Ok(Ok(content)) => Ok(page(StatusCode::OK, frame.around(&content?))),
            Ok(Err(error)) => Err(PageError::Broken(error.to_string())),
            Err(_) => Ok(begun(&frame, making)),
        }
    }

    async fn make(&self, asked: Page, book: &Book, links: Links) -> PageResult<Markup> {
        Ok(match asked {
            Page::Overview => overview::content(book, links).await?,
            Page::Heat(shown) => heat::content(book, links, &shown).await?,
            Page::Calls(shown) => calls::content(book, links, &shown).await?,
            Page::Trajectory(shown) => trajectory::content(book, links, &shown).await?,
            Page::Text(shown) => text::content(book, links, &shown).await?,
            Page::Patterns => patterns::list(book, links).await?,
            Page::Pattern(shown) => patterns::one(book, links, &shown).await?,
            Page::Budget(shown) => budget::content(book, links, shown).await?,
            Page::Monitor => monitor::content(&self.state, links).await?,
            Page::Sql(shown) => sql::content(book, links, &shown).await?,
        })
    }

    /// An error as a page.
    fn told(&self, error: &PageError) -> Reply {
        self.refusal(error.status(), &error.to_string(), error.advice())
    }

    fn refusal(&self, status: StatusCode, why: &str, advice: &str) -> Reply {
        let lake = self.shelf.name();
        let frame = Frame {
            title: status.canonical_reason().unwrap_or("Error"),
            place: "",
            links: Links {
                version: None,
                mailed: false,
            },
            lake: &lake,
            version: None,
            newest: None,
        };
        let content = trouble(status, why, advice);
        let mut reply = page(status, frame.around(&content));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let soon = HeaderValue::from_static("5");
            reply.headers_mut().insert(header::RETRY_AFTER, soon);
        }
        reply
    }
}

/// What went wrong, and what to do.
fn trouble(status: StatusCode, why: &str, advice: &str) -> Markup {
    html! {
        h1 { (status.as_u16()) " " (safe(status.canonical_reason().unwrap_or("Error"))) }
        pre.wrap { (safe_lines(why)) }
        p { (advice) }
        p { a href="/" { "Overview" } }
    }
}

/// A page that begins before its content is there: the first time that a large lake is added up.
fn begun(frame: &Frame<'_>, making: tokio::task::JoinHandle<PageResult<Markup>>) -> Reply {
    /// No text of a payload has this form: what it says is escaped.
    const PLACE: &str = "<!--content-->";
    let whole = frame.around(&html! {
        p.waiting role="status" { "This version of the lake is being added up." }
        (PreEscaped(PLACE))
    });
    let (head, foot) = whole.split_once(PLACE).unwrap_or((&whole, ""));
    let (head, foot) = (head.to_owned(), foot.to_owned());
    let rest = async move {
        let content = match making.await {
            Ok(Ok(content)) => content,
            Ok(Err(error)) => trouble(error.status(), &error.to_string(), error.advice()),
            Err(error) => {
                let error = PageError::Broken(error.to_string());
                trouble(error.status(), &error.to_string(), error.advice())
            }
        };
        content.into_string() + &foot
    };
    let parts = futures::stream::once(async move { head }).chain(futures::stream::once(rest));
    let parts = parts.map(|text| Ok(hyper::body::Frame::data(Bytes::from(text))));
    let body = StreamBody::new(parts).boxed_unsync();
    reply(StatusCode::OK, "text/html; charset=utf-8", body)
}

/// A page and what of it is asked for.
enum Page {
    Overview,
    Heat(heat::Shown),
    Calls(calls::Shown),
    Trajectory(trajectory::Shown),
    Text(text::Shown),
    Patterns,
    Pattern(patterns::Shown),
    Budget(budget::Shown),
    Monitor,
    Sql(sql::Shown),
}

impl Page {
    fn asked(path: &str, mut asked: Asked) -> PageResult<Self> {
        let page = match path {
            "/" => Self::Overview,
            "/heat" => Self::Heat(heat::Shown::asked(&mut asked)?),
            "/calls" => Self::Calls(calls::Shown::asked(&mut asked)?),
            "/trajectory" => Self::Trajectory(trajectory::Shown::asked(&mut asked)?),
            "/text" => Self::Text(text::Shown::asked(&mut asked)?),
            "/patterns" => Self::Patterns,
            "/pattern" => Self::Pattern(patterns::Shown::asked(&mut asked)?),
            "/budget" => Self::Budget(budget::Shown::asked(&mut asked)?),
            "/monitor" => Self::Monitor,
            "/sql" => Self::Sql(sql::Shown::asked(&mut asked)?),
            _ => {
                return Err(PageError::NotFound(format!(
                    "there is no page {path:?}; there are / /heat /calls /trajectory /patterns /budget /monitor /sql"
                )));
            }
        };
        asked.end()?;
        Ok(page)
    }

    /// Whether it may begin before its content is there: what can be wrong with it is known.
    const fn may_begin(&self) -> bool {
        matches!(self, Self::Overview | Self::Heat(_))
    }

    /// The title, and the entry of the bar.
    const fn named(&self) -> (&'static str, &'static str) {
        match self {
            Self::Overview => ("Overview", "/"),
            Self::Heat(_) => ("Heat map", "/heat"),
            Self::Calls(_) => ("Calls", "/calls"),
            Self::Trajectory(_) => ("Trajectory", "/calls"),
            Self::Text(_) => ("Payload", "/calls"),
            Self::Patterns => ("Patterns", "/patterns"),
            Self::Pattern(_) => ("Pattern", "/patterns"),
            Self::Budget(_) => ("Budget", "/budget"),
            Self::Monitor => ("Monitor", "/monitor"),
            Self::Sql(_) => ("SQL", "/sql"),
        }
    }
}
