//! Why a page cannot be shown, and with which status code that is said.

use hyper::StatusCode;

use crate::engine::EngineError;
use crate::lake::LakeError;
use crate::monitor::MonitorError;
use crate::report::{OutputError, PairError};

/// What went wrong with a request, or with the pages as a whole.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// No such page, trajectory, pattern or version.
    #[error("{0}")]
    NotFound(String),
    /// The request is wrong, and the text says where.
    #[error("{0}")]
    Wrong(String),
    /// The address cannot be had.
    #[error("cannot listen at {0}: {1}")]
    Listen(std::net::SocketAddr, std::io::Error),
    /// The question takes too long.
    #[error("this took longer than {0} s and was stopped")]
    Late(u64),
    /// Too many questions at once.
    #[error("too many questions are being answered")]
    Busy,
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A query.
    #[error(transparent)]
    Engine(EngineError),
    /// Rows could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Arrow.
    #[error(transparent)]
    Arrow(#[from] arrow::error::ArrowError),
    /// The state of a monitor.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// Work of this program that ended before its time.
    #[error("this request failed: {0}")]
    Broken(String),
}

/// Result of a page.
pub type PageResult<T> = Result<T, PageError>;

impl From<EngineError> for PageError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Lake(error) => Self::Lake(error),
            other => Self::Engine(other),
        }
    }
}

impl From<PairError> for PageError {
    fn from(error: PairError) -> Self {
        match error {
            PairError::Engine(error) => error.into(),
            PairError::Arrow(error) => Self::Arrow(error),
            missing => Self::NotFound(missing.to_string()),
        }
    }
}

impl PageError {
    /// The status code.
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::NotFound(_) | Self::Lake(LakeError::NoSuchVersion { .. }) => {
                StatusCode::NOT_FOUND
            }
            Self::Wrong(_) => StatusCode::BAD_REQUEST,
            Self::Lake(LakeError::Vacuumed(_)) => StatusCode::GONE,
            Self::Late(_) | Self::Busy | Self::Lake(_) | Self::Engine(_) | Self::Monitor(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Output(_) | Self::Arrow(_) | Self::Broken(_) | Self::Listen(..) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    /// What to do about it.
    pub(super) const fn advice(&self) -> &'static str {
        match self {
            Self::NotFound(_) | Self::Lake(LakeError::NoSuchVersion { .. }) => {
                "Look for it from the overview."
            }
            Self::Wrong(_) => "Correct the address, or begin at the overview.",
            Self::Late(_) => {
                "Ask for less (one environment, one API), or run the query with `fidelake sql`, which has no limit."
            }
            Self::Busy => "Load the page again in a few seconds.",
            Self::Lake(LakeError::Vacuumed(_)) => "Choose a newer version.",
            Self::Lake(_) => {
                "The lake cannot be read just now. If it is being moved or repaired, load the page again when that is done; `fidelake log` says what state it is in."
            }
            Self::Engine(_) => {
                "The lake may have changed underneath (compact and vacuum remove files): load the page again. If it stays, `fidelake repair` looks for damage."
            }
            Self::Monitor(_) => "Name the state of your monitor with --monitor-state.",
            Self::Output(_) | Self::Arrow(_) | Self::Broken(_) | Self::Listen(..) => {
                "This is a fault of fidelake: please report it with the address of this page."
            }
        }
    }
}
