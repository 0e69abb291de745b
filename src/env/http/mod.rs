//! HTTP APIs that an OpenAPI 3 document describes: operations are tools.

mod document;
mod operation;
mod request;
mod schema;
mod session;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::HeaderMap;
use url::Url;

use super::{EnvError, EnvResult, Environment, Session, Start};

pub(super) use document::Document;
use session::HttpSession;

/// An API and how it is called.
#[derive(Clone, Debug)]
pub(super) struct Http {
    pub(super) document: Arc<Document>,
    pub(super) base: Url,
    pub(super) headers: HeaderMap,
    /// A tool that brings the fresh state back, with its arguments.
    pub(super) reset_by: Option<(String, String)>,
    /// A tool that answers with the state, with its arguments.
    pub(super) shown_by: Option<(String, String)>,
    /// For everything but calls.
    pub(super) patience: Duration,
    /// Longest body that is read.
    pub(super) max_body: usize,
}

#[async_trait]
impl Environment for Http {
    fn kind(&self) -> &'static str {
        "http"
    }

    async fn open(&self, start: &Start) -> EnvResult<Box<dyn Session>> {
        let failed = |why: String| EnvError::Start {
            what: self.base.to_string(),
            why,
        };
        if let Start::Given(_) = start {
            return Err(failed(
                "an HTTP API cannot start from a given state".to_owned(),
            ));
        }
        let mut session = HttpSession::new(self.clone()).map_err(|e| failed(e.to_string()))?;
        // An API keeps its state between sessions: only its reset makes it fresh.
        if self.reset_by.is_some() {
            session.reset(start).await?;
        }
        Ok(Box::new(session))
    }
}
