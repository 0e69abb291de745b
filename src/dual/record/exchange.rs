//! One HTTP request and its answer, on the way to the session that they belong to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::lines::Line;
use super::look::{Seen, text};
use super::session::{Direction, Session, Told};
use super::sse::Event;
use super::tee::Whole;

/// Which session it is may be known only when the answer begins: until then the
/// request waits here.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    trajectory: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<Arc<Session>>,
    /// The request, with its size if it was cut.
    waiting: Option<(Vec<u8>, Option<u64>)>,
    /// Its requests, by the JSON text of the id.
    ids: Vec<String>,
    initialize: bool,
    status: Option<u16>,
}

impl Exchange {
    pub(super) fn new(trajectory: Option<String>, session: Option<Arc<Session>>) -> Self {
        Self {
            trajectory,
            state: Mutex::new(State {
                session,
                ..State::default()
            }),
        }
    }

    /// The request has been read to its end.
    pub(super) fn asked(&self, mut whole: Whole) {
        let cut_from = whole.cut_from();
        let seen = Seen::of(&text(&whole.bytes).0);
        let mut state = self.state();
        state.ids = seen.requests;
        state.initialize = seen.initialize;
        state.waiting = Some((whole.bytes, cut_from));
        self.flush(&mut state);
    }

    /// Whether the request opens a session.
    pub(super) fn initializes(&self) -> bool {
        self.state().initialize
    }

    /// The session, and what the answer begins with.
    pub(super) fn belongs_to(&self, session: Arc<Session>, status: u16) {
        let mut state = self.state();
        state.session = Some(session);
        state.status = (status >= 400).then_some(status);
        self.flush(&mut state);
    }

    /// An answer in one piece. One that says that something is wrong without
    /// being a message still answers the requests.
    pub(super) fn answered(&self, mut whole: Whole) {
        let cut_from = whole.cut_from();
        let state = self.state();
        let Some(session) = &state.session else {
            return;
        };
        let told = Told {
            status: state.status,
            answers: state.status.map_or(&[], |_| &state.ids),
            ..Told::default()
        };
        let line = Line {
            bytes: &whole.bytes,
            cut_from,
            unterminated: false,
        };
        session.line(Direction::ToClient, line, &told);
    }

    pub(super) fn event(&self, event: Event<'_>) {
        let state = self.state();
        let Some(session) = &state.session else {
            return;
        };
        // After a lost connection a client has events sent again.
        if event.id.is_some_and(|id| !session.is_new_event(id)) {
            return;
        }
        let line = Line {
            bytes: event.data,
            cut_from: event.cut_from,
            unterminated: false,
        };
        session.line(Direction::ToClient, line, &Told::default());
    }

    /// The server could not be reached, or did not answer in HTTP.
    pub(super) fn failed(&self, session: Arc<Session>, why: &str) {
        self.belongs_to(Arc::clone(&session), 0);
        let state = self.state();
        if state.ids.is_empty() {
            return;
        }
        let line = Line {
            bytes: why.as_bytes(),
            cut_from: None,
            unterminated: false,
        };
        let told = Told {
            answers: &state.ids,
            transport_error: true,
            ..Told::default()
        };
        session.line(Direction::ToClient, line, &told);
    }

    fn flush(&self, state: &mut State) {
        let Some(session) = &state.session else {
            return;
        };
        if let Some((bytes, cut_from)) = state.waiting.take() {
            let line = Line {
                bytes: &bytes,
                cut_from,
                unterminated: false,
            };
            let told = Told {
                trajectory: self.trajectory.as_deref(),
                ..Told::default()
            };
            session.line(Direction::ToServer, line, &told);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
