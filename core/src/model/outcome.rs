//! How a call ended, and how protocols say so.

use super::words::words;

words! {
    /// How a call ended: well, or with one of the error types.
    Outcome {
        /// It worked.
        Ok = "ok",
        /// The tool refused what was sent.
        InvalidArguments = "invalid_arguments",
        /// No tool of that name.
        UnknownTool = "unknown_tool",
        /// Not signed in, not allowed, not paid for.
        Auth = "auth",
        /// What was asked for does not exist.
        NotFound = "not_found",
        /// The state does not allow it: exists already, changed meanwhile, locked.
        Conflict = "conflict",
        /// Too many calls, or a quota used up.
        RateLimited = "rate_limited",
        /// No answer in time.
        Timeout = "timeout",
        /// The server's own fault.
        ServerError = "server_error",
        /// An answer that could not be read.
        MalformedResponse = "malformed_response",
        /// An answer or an interface of another shape than promised.
        SchemaDrift = "schema_drift",
        /// The call never arrived, or the answer never came back.
        Transport = "transport",
        /// The tool says no, and nothing tells more exactly why.
        ToolError = "tool_error",
    }
}

impl Outcome {
    /// What an HTTP status says; `None` below 400 and above 599.
    #[must_use]
    pub fn of_status(status: i64) -> Option<Self> {
        Some(match status {
            401 | 402 | 403 | 407 | 451 | 511 => Self::Auth,
            404 | 410 => Self::NotFound,
            408 | 504 | 522 | 524 | 598 | 599 => Self::Timeout,
            409 | 412 | 423 | 428 => Self::Conflict,
            420 | 429 => Self::RateLimited,
            // Cloudflare's codes for an origin that was not reached.
            521 | 523 | 525 | 526 => Self::Transport,
            400..=499 => Self::InvalidArguments,
            500..=599 => Self::ServerError,
            _ => return None,
        })
    }

    /// What a JSON-RPC error code says, the codes of MCP and its SDKs included.
    #[must_use]
    pub fn of_rpc(code: i64) -> Self {
        match code {
            -32600 | -32602 => Self::InvalidArguments,
            -32601 => Self::UnknownTool,
            -32603 => Self::ServerError,
            // The SDKs use these two for their own side of the connection.
            -32700 | -32000 => Self::Transport,
            -32001 => Self::Timeout,
            -32002 => Self::NotFound,
            -32042 => Self::Auth,
            -32099..=-32003 => Self::ServerError,
            _ => Self::ToolError,
        }
    }

    /// What a typed error field says: our words, and the names that frameworks
    /// use for the same thing. Letter case and `_`, `-`, spaces do not count.
    #[must_use]
    pub fn of_error_type(word: &str) -> Option<Self> {
        let mut flat = String::with_capacity(word.len().min(64));
        for c in word.chars().take(64).filter(|c| c.is_alphanumeric()) {
            flat.extend(c.to_lowercase());
        }
        let flat = flat
            .strip_suffix("exception")
            .or_else(|| flat.strip_suffix("error").filter(|rest| rest.len() > 6))
            .unwrap_or(&flat);
        Some(match flat {
            "ok" | "success" => Self::Ok,
            "invalidarguments"
            | "invalidargument"
            | "invalidparams"
            | "invalidparameter"
            | "invalidparameters"
            | "invalidrequest"
            | "invalidinput"
            | "validation"
            | "badrequest"
            | "toolinputvalidation"
            | "unprocessableentity"
            | "toolparsing" => Self::InvalidArguments,
            "unknowntool" | "toolnotfound" | "methodnotfound" | "functionnotfound"
            | "nosuchtool" => Self::UnknownTool,
            "auth" | "authentication" | "authorization" | "unauthorized" | "unauthenticated"
            | "forbidden" | "permission" | "permissiondenied" | "accessdenied" => Self::Auth,
            "notfound" | "filenotfound" | "resourcenotfound" | "filenotfounderror" => {
                Self::NotFound
            }
            "conflict" | "alreadyexists" | "fileexists" | "duplicate" => Self::Conflict,
            "ratelimited" | "ratelimit" | "ratelimitexceeded" | "toomanyrequests" | "quota"
            | "quotaexceeded" | "resourceexhausted" => Self::RateLimited,
            "timeout" | "timedout" | "deadlineexceeded" | "requesttimeout" | "gatewaytimeout"
            | "readtimeout" | "connecttimeout" | "timeouterror" => Self::Timeout,
            "server"
            | "servererror"
            | "internal"
            | "internalerror"
            | "internalserver"
            | "internalservererror"
            | "unavailable"
            | "serviceunavailable"
            | "api"
            | "overloaded" => Self::ServerError,
            "malformedresponse" | "jsondecode" | "badresponse" | "invalidresponse"
            | "unicodedecode" => Self::MalformedResponse,
            "schemadrift" | "schemamismatch" | "outputvalidation" => Self::SchemaDrift,
            "transport" | "connection" | "connectionerror" | "network" | "networkerror"
            | "connectionrefused" | "connectionreset" | "connectionclosed" => Self::Transport,
            "toolerror" | "tool" | "error" | "execution" | "toolexecution" | "runtime"
            | "failed" | "failure" => Self::ToolError,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_words_are_error_types() {
        for &outcome in Outcome::ALL {
            assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
            assert_eq!(Outcome::of_error_type(outcome.as_str()), Some(outcome));
        }
    }

    #[test]
    fn the_names_of_frameworks_are_understood() {
        for (word, outcome) in [
            ("TimeoutError", Outcome::Timeout),
            ("ValidationError", Outcome::InvalidArguments),
            ("PermissionError", Outcome::Auth),
            ("rate-limit-exceeded", Outcome::RateLimited),
            ("FileNotFoundError", Outcome::NotFound),
            ("json_decode_error", Outcome::MalformedResponse),
            ("ConnectionError", Outcome::Transport),
            ("INTERNAL_SERVER_ERROR", Outcome::ServerError),
        ] {
            assert_eq!(Outcome::of_error_type(word), Some(outcome), "{word}");
        }
        assert_eq!(Outcome::of_error_type("banana"), None);
    }

    #[test]
    fn statuses_and_codes() {
        for (status, outcome) in [
            (200, None),
            (302, None),
            (400, Some(Outcome::InvalidArguments)),
            (403, Some(Outcome::Auth)),
            (404, Some(Outcome::NotFound)),
            (429, Some(Outcome::RateLimited)),
            (502, Some(Outcome::ServerError)),
            (504, Some(Outcome::Timeout)),
            (600, None),
            (i64::MIN, None),
        ] {
            assert_eq!(Outcome::of_status(status), outcome, "{status}");
        }
        assert_eq!(Outcome::of_rpc(-32601), Outcome::UnknownTool);
        assert_eq!(Outcome::of_rpc(7), Outcome::ToolError);
    }
}
