//! The built-in text rules, as data.
//!
//! A *beginning* decides that an answer is an error at all, so it is anchored.
//! A *reason* is asked only about texts already known to be errors. Order
//! counts in both: the first match wins.

use super::outcome::Outcome;
use Outcome::{
    Auth, Conflict, InvalidArguments, MalformedResponse, NotFound, RateLimited, SchemaDrift,
    ServerError, Timeout, ToolError, Transport, UnknownTool,
};

/// What a beginning means.
#[derive(Clone, Copy)]
pub(super) enum Then {
    Is(Outcome),
    /// An error; the rest of the text may say which.
    Ask,
    /// An error whose last line names the exception.
    LastLine,
    /// An error with the JSON-RPC code of the first group.
    Rpc,
    /// An error with the HTTP status of the first group.
    Status,
}

/// Beginnings, tried in order. Every pattern is anchored by its reader.
pub(super) const BEGINNINGS: &[(&str, &str, Then)] = &[
    // A status in front is exact, whatever the words behind it.
    (
        "http_status",
        r"(?i)(?:http(?: error|/[0-9](?:\.[0-9])?)?|(?:api |request )?(?:error |failed with |http )?status(?: code)?|(?:the )?request failed with status code|(?:error )?code)[ :]{1,3}([45][0-9][0-9])(?-u:\b)",
        Then::Status,
    ),
    (
        "http_status",
        r"(?i)(?:error[ :]{1,2})?([45][0-9][0-9])[ :\-]{1,3}(?:(?:client|server) error|bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|not acceptable|request time-?out|conflict|gone|unprocessable|too many requests|internal server error|not implemented|bad gateway|service (?:temporarily )?unavailable|gateway time-?out)(?-u:\b)",
        Then::Status,
    ),
    (
        "mcp_error",
        r"(?:McpError: )?MCP error (-?[0-9]{1,6}): ?",
        Then::Rpc,
    ),
    (
        "tool_not_found",
        r#"(?i)(?:error: )?(?:unknown tool|no such (?:tool|function)(?: name)?|(?:the )?(?:tool|function) (?:`[^`\n]{0,80}`|'[^'\n]{0,80}'|"[^"\n]{0,80}"|[0-9A-Za-z_.\-/]{1,80}) (?:was )?(?:not found|does not exist|doesn't exist|is not (?:available|defined|registered|known)|not available)|method not found$)(?-u:\b)"#,
        Then::Is(UnknownTool),
    ),
    (
        "validation",
        r"(?i)(?:error: )?(?:[0-9]+ validation errors? for |input validation error(?-u:\b)|invalid (?:arguments|parameters|params|input) (?:for|to) |tool input parse error|missing required (?:argument|parameter|field|property|input)|invalid_request_error(?-u:\b))",
        Then::Is(InvalidArguments),
    ),
    (
        "database_error",
        r"(?i)(?:database|sql|sqlite|postgres(?:ql)?|mysql) error:",
        Then::Is(ToolError),
    ),
    (
        "output_schema",
        r"(?i)(?:error: )?(?:structured content does not match|output validation error|tool \S{1,80} has an output schema but)",
        Then::Is(SchemaDrift),
    ),
    (
        "rate_limit",
        r"(?i)(?:error: )?(?:too many requests|rate limit(?:ed| exceeded| reached| per )|you have exceeded the [^\n]{0,80}?(?:quota|rate limit|requests|limit)|quota exceeded)",
        Then::Is(RateLimited),
    ),
    (
        "timeout",
        r"(?i)(?:error: )?(?:(?:the )?(?:request|connection|operation|tool|command|execution|query|api)(?: call| execution)?(?: to the api)? (?:has )?timed? ?out(?-u:\b)|timed out (?:after|while|waiting)|timeout (?:error|exceeded|after|of|waiting)|gateway time-?out|etimedout|context deadline exceeded|deadline exceeded)",
        Then::Is(Timeout),
    ),
    (
        "timeout",
        r"(?i)(?:time-?out|timed out)\s*[.!:]*\s*$",
        Then::Is(Timeout),
    ),
    (
        "auth",
        r"(?i)(?:error: )?(?:(?:unauthori[sz]ed|forbidden|access denied|permission denied|not authori[sz]ed)(?: error)?(?:\s*$|[.!:,]| -| \()|invalid api key|(?:invalid|missing|expired) (?:access |auth(?:entication)? |bearer )?(?:token|credentials)(?-u:\b)|authentication (?:failed|required|error)|you (?:are not (?:subscribed|authori[sz]ed)|must be logged in|do not have permission)|unsubscribed error)",
        Then::Is(Auth),
    ),
    (
        "transport",
        r"(?i)(?:error: )?(?:fetch failed|econn(?:refused|reset)|enotfound|connection (?:refused|reset|closed|aborted|error|failed)(?-u:\b)|(?:failed|unable|could not) (?:to )?connect(?: |$)|could not resolve host|https?connectionpool\(|max retries exceeded|socket hang up|network error(?-u:\b)|broken pipe)",
        Then::Ask,
    ),
    (
        "no_such_file",
        r"(?i)(?:enoent(?-u:\b)|(?:[0-9A-Za-z_./\-]{1,40}: ){0,2}[^\n:]{0,200}: no such file or directory(?-u:\b)|no such file or directory)",
        Then::Is(NotFound),
    ),
    (
        "not_found",
        r"(?i)(?:(?:page |resource |file )?not found|404)\s*[.!]*\s*$",
        Then::Is(NotFound),
    ),
    (
        "server_error",
        r"(?i)(?:error: )?(?:internal (?:server )?error(?-u:\b)|bad gateway(?-u:\b)|service (?:temporarily )?unavailable(?-u:\b)|api not working error)",
        Then::Is(ServerError),
    ),
    (
        "toolbench_function",
        r"Function executing from .{0,300}? error\.{3}\s*",
        Then::Ask,
    ),
    (
        "error_executing_tool",
        r"(?i)error (?:executing|calling|running|invoking|in) (?:tool|function)(?-u:\b)[^:\n]{0,120}: ?",
        Then::Ask,
    ),
    (
        "error_during_execution",
        r"(?i)error during execution: ?",
        Then::Ask,
    ),
    (
        "exception",
        r"(?:[a-z_][0-9A-Za-z_]*\.){0,6}[A-Z][0-9A-Za-z_]{0,60}(?:Error|Exception|Timeout)(?:: |\(|\s*$)",
        Then::Ask,
    ),
    (
        "traceback",
        r"Traceback \(most recent call last\):",
        Then::LastLine,
    ),
    (
        "python_syntax",
        r#"File "[^"\n]{1,80}", line [0-9]+\n"#,
        Then::Is(ToolError),
    ),
    (
        "error_prefix",
        r"(?:\[?(?:Error|ERROR|error)\]?\s?(?::|\s[-\u{2013}]\s)|❌ ?(?:Error|Failed)?:?|Fatal error:|fatal: )\s*",
        Then::Ask,
    ),
    (
        "error_doing",
        r"(?:Error|ERROR) (?:while |when |during |in )?(?:access|call|connect|convert|creat|delet|download|evaluat|execut|fetch|find|generat|gett|load|open|pars|perform|process|quer|read|retriev|runn|sav|search|send|updat|upload|writ)y?(?:ing|ion)(?-u:\b)",
        Then::Ask,
    ),
    (
        "error_occurred",
        r"(?i)(?:an? )?(?:unexpected |unknown |internal |api |tool |server |http )?error (?:has )?occurred(?-u:\b)",
        Then::Ask,
    ),
    (
        "failed_to",
        r"(?:(?:Request|Tool|Tool call|Command|Execution|API call|API request) failed(?-u:\b)|Failed to [a-z]{2,20} |Could not [a-z]{2,20} |Unable to [a-z]{2,20} )",
        Then::Ask,
    ),
];

/// Reasons, searched in order in a text that is an error.
pub(super) const REASONS: &[(&str, &str, Outcome)] = &[
    (
        "tool_not_found",
        r#"^[^0-9A-Za-z_]{0,3}(?:(?:the )?(?:tool|function) (?:`[^`\n]{0,80}`|'[^'\n]{0,80}'|"[^"\n]{0,80}"|[0-9A-Za-z_.\-/]{1,80}) (?:was )?(?:not found|does not exist|doesn't exist|is not (?:available|defined|registered|known))|unknown (?:tool|function)(?-u:\b)|no such (?:tool|function)(?-u:\b)|method not found[^0-9A-Za-z_]*$)"#,
        UnknownTool,
    ),
    (
        "output_schema",
        r"structured content does not match|output validation error|has an output schema but|(?:api|endpoint|version|parameter|method|field) \S{0,60} ?(?:is |has been |was )?(?:deprecated|removed|no longer supported)",
        SchemaDrift,
    ),
    (
        "validation",
        r"[0-9]+ validation errors?(?-u:\b)|input validation error|unexpected keyword argument|missing [0-9]+ required|missing required|field required|takes (?:from )?[0-9]+ (?:to [0-9]+ )?positional|expression cannot contain assignment|invalid syntax|tool input parse error|invalid_type|schema validation",
        InvalidArguments,
    ),
    (
        "malformed_response",
        r"jsondecodeerror|expecting value: line [0-9]|unexpected end of json|unexpected token .{1,12}in json|(?:is not|invalid) (?:valid )?json (?:response|returned)|could not decode (?:the )?response|malformed response",
        MalformedResponse,
    ),
    (
        "rate_limit",
        r"too many requests|rate.?limit|quota|run out of (?:api )?credits|throttl|resource.?exhausted",
        RateLimited,
    ),
    (
        "timeout",
        r"time[d]?[ \-]?out(?-u:\b)|timeouterror|deadline exceeded|etimedout|timeout(?:error|exception)",
        Timeout,
    ),
    (
        "transport",
        r"connection (?:was )?(?:refused|reset|closed|aborted|error)|connectionerror|econn(?:refused|reset|aborted)|enotfound|eai_again|max retries exceeded|https?connectionpool|name or service not known|name resolution|getaddrinfo|network (?:is )?unreachable|no route to host|broken pipe|socket hang up|certificate verify failed|ssl(?:error|: )|exceeded [0-9]+ redirects|too many redirects|fetch failed|remote end closed",
        Transport,
    ),
    (
        "auth",
        r"unauthori[sz]ed|(?-u:\b)forbidden(?-u:\b)|access denied|permission denied|permissionerror|not authori[sz]ed|not subscribed|unsubscribed|authentication|invalid (?:api.?key|credentials|(?:access |auth |bearer )?token)|api.?key (?:is )?(?:missing|required|invalid)|log ?in required|must be logged in|not logged in|(?-u:\b)e(?:acces|perm)(?-u:\b)|operation not permitted|insufficient (?:permissions|privileges|scope)|available exclusively with|upgrade your plan|outside (?:the |of the )?allowed",
        Auth,
    ),
    (
        "conflict",
        r"already (?:exists?|been|in use|taken|registered|a member)|(?-u:\b)conflict|duplicate (?:key|entry|name)|unique constraint|version mismatch|(?-u:\b)eexist(?-u:\b)|is locked|fileexistserror",
        Conflict,
    ),
    (
        "server_error",
        r"internal (?:server )?error|server (?:error|problem)|bad gateway|service (?:temporarily )?unavailable|temporarily unavailable|overloaded|api not working",
        ServerError,
    ),
    (
        "invalid_arguments",
        r"invalid (?:[0-9A-Za-z_]+ ){0,2}(?:argument|parameter|param|input|value|type|date|time|format|request|url|uri|json|path|option|query|number|timezone|time zone|choice|board|combination)s?(?-u:\b)|^[^0-9A-Za-z_]{0,3}invalid(?-u:\b)|bad.?request|must be (?:an?|one of|of type|in|between|at least|positive|greater|less|non-?empty|provided|specified)(?-u:\b)|expected \S{1,40}(?: \S{1,20})?,? (?:but )?(?:got|received)|parse error|cannot parse|(?:could not|failed to) (?:parse|convert)|cast to [0-9A-Za-z_]+ failed|parameter error|not a valid|is required(?-u:\b)|are required(?-u:\b)|malformed request|right format|wrong (?:type|format)|typeerror|out of range",
        InvalidArguments,
    ),
    (
        "not_found",
        r"not found|(?-u:\b)no such(?-u:\b)|does not exist|doesn't exist|not exist(?-u:\b)|couldn't be found|cannot find|can'?t find|could not find|unable to find|unknown (?:user|id|key|path|city|location|symbol)(?-u:\b)|(?-u:\b)enoent(?-u:\b)|(?-u:\b)no [a-z ]{1,40} found|filenotfounderror",
        NotFound,
    ),
];
