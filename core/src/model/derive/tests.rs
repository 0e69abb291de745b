use proptest::prelude::*;

use super::*;
use crate::json::Doc;

fn derive(text: &str) -> (Outcome, String) {
    let derived = OutcomeRules::default().derive(&Evidence {
        text,
        ..Evidence::default()
    });
    (derived.outcome, derived.rule.into_owned())
}

#[test]
fn texts_of_real_tools() {
    use Outcome::*;
    for (text, outcome) in [
        ("Error: user not found", NotFound),
        ("Error: Payment method not found", NotFound),
        ("Error: Reservation ABC123 not found", NotFound),
        ("Error: gift card balance is not enough", ToolError),
        ("Error: Tool 'think' not found.", UnknownTool),
        ("Tool 'think' not found", UnknownTool),
        ("Unknown tool: frobnicate", UnknownTool),
        ("MCP error -32602: Tool nope not found", UnknownTool),
        (
            "MCP error -32602: Input validation error: Invalid arguments for tool add: timeout",
            InvalidArguments,
        ),
        ("MCP error -32001: Request timed out", Timeout),
        (
            "Error: 1 validation error for Payment\npayment_id\n  Field required",
            InvalidArguments,
        ),
        ("Database error: no such table: nope", ToolError),
        (
            "Error executing tool git_branch: refs/heads/b1 already exists",
            Conflict,
        ),
        (
            "Error executing tool calculate: division by zero",
            ToolError,
        ),
        (
            "Error during execution: 'NoneType' object is not subscriptable",
            ToolError,
        ),
        ("HTTP 503: Service Unavailable", ServerError),
        ("429 Too Many Requests", RateLimited),
        ("Request failed with status code 404", NotFound),
        (
            "You have exceeded the MONTHLY quota for Requests on your current plan",
            RateLimited,
        ),
        ("Unauthorized", Auth),
        ("ENOENT: no such file or directory, open '/x'", NotFound),
        ("cat: /x/y: No such file or directory", NotFound),
        (
            "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='x'): Read timed out.",
            Timeout,
        ),
        ("KeyError: 'x'", ToolError),
        ("Error fetching page: timed out", Timeout),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nZeroDivisionError",
            ToolError,
        ),
        ("Connection refused", Transport),
        (
            "<html><head><title>502 Bad Gateway</title></head></html>",
            ServerError,
        ),
        ("<!DOCTYPE html><title>Gateway Timeout</title>", Timeout),
        ("<h1>Not found</h1>", NotFound),
        (
            r#"{"error": "Tool input parse error...", "response": ""}"#,
            InvalidArguments,
        ),
        (
            r#"{"error": "Function executing from a.b.api import f error...\nf() got an unexpected keyword argument 'q'", "response": ""}"#,
            InvalidArguments,
        ),
        (
            r#"{"error": "Message error...", "response": "{'code': 429, 'message': 'out of credits', 'status': 'error'}"}"#,
            RateLimited,
        ),
        (
            r#"{"error": "Message error...", "response": "{'message': 'Internal server error'}"}"#,
            ServerError,
        ),
        (
            r#"{"error": "", "response": "{'title': 'Bad Request', 'status': 400, 'traceId': 'x'}"}"#,
            InvalidArguments,
        ),
        (
            r#"{"error": "", "response": "{'success': False, 'message': 'No chat logs found'}"}"#,
            NotFound,
        ),
        (
            "{\n \"error\": \"Timeout error...\",\n \"response\": \"{\"a\": 1}\"\n}",
            Timeout,
        ),
        (r#"{"error": {"code": 404, "message": "x"}}"#, NotFound),
        (
            r#"{"error": {"type": "rate_limit_error", "message": "slow down"}}"#,
            RateLimited,
        ),
        (
            r#"{"error": {"code": -32601, "message": "x"}}"#,
            UnknownTool,
        ),
        (
            r#"{"errors": [{"message": "Field required"}], "data": null}"#,
            InvalidArguments,
        ),
        (r#"{"status": "error", "message": "boom"}"#, ToolError),
        (r#"{"status": "failed"}"#, ToolError),
        (r#"{"detail": "Not Found", "status_code": 404}"#, NotFound),
        (
            r#"[{"type": "text", "text": "Error: user not found"}]"#,
            NotFound,
        ),
        (r#""Error: user not found""#, NotFound),
        ("{'error': 'cd: temp: No such directory'}", NotFound),
    ] {
        assert_eq!(derive(text).0, outcome, "{text}: {}", derive(text).1);
    }
}

#[test]
fn answers_that_only_mention_errors_are_ok() {
    for text in [
        "",
        "299.0",
        "delayed",
        "Transfer successful",
        "The error log is empty.",
        "Errors are part of life",
        "Error correction codes were invented by Hamming.",
        "Forbidden City is a palace in Beijing.",
        "404 ways to cook rice",
        "Error handling in Rust is explicit.",
        "Timeout is a film of 1999",
        r#"{"error": "", "response": "[]"}"#,
        r#"{"error": null, "data": [1]}"#,
        r#"{"error": false, "message": "done"}"#,
        r#"{"error": 0.05, "mean": 3}"#,
        r#"{"errors": [], "data": {}}"#,
        r#"{"errors": [{"line": 3}], "file": "a.py", "warnings": []}"#,
        r#"{"flight": "HAT069", "status": "delayed"}"#,
        r#"{"job_id": 7, "status": "failed", "message": "disk full"}"#,
        r#"{"code": 404, "name": "area"}"#,
        r#"{"code": 200, "type": "unknown", "message": "logged in"}"#,
        r#"{"status": 200, "langDetect": "la"}"#,
        r#"{"valid": false, "email": "x"}"#,
        r#"{"message": "errors happen"}"#,
        r#"[{"error": "one of many"}, {"error": "records"}]"#,
        "<html><head><title>404 ways to cook</title></head></html>",
        "<p>an error occurred to me</p>",
    ] {
        assert_eq!(derive(text), (Outcome::Ok, "none".into()), "{text}");
    }
}

#[test]
fn a_weak_error_with_a_large_good_answer_is_ok() {
    let rows = "{'title': 'A', 'kind': 'error prone'}, ".repeat(30);
    let text = format!(r#"{{"error": "Message error...", "response": "[{rows}]"}}"#);
    assert_eq!(derive(&text), (Outcome::Ok, "field:payload".into()));
}

#[test]
fn evidence_has_an_order() {
    let rules = OutcomeRules::default();
    let base = Evidence {
        text: "Error: user not found",
        ..Evidence::default()
    };
    let check = |e: Evidence<'_>| {
        let derived = rules.derive(&e);
        (derived.outcome.as_str(), derived.rule.into_owned())
    };
    let is = |outcome, rule: &str| (outcome, rule.to_owned());
    assert_eq!(
        check(Evidence {
            error_type: Some("Timeout"),
            status: Some(404),
            ..base
        }),
        is("timeout", "error_type")
    );
    assert_eq!(
        check(Evidence {
            status: Some(429),
            rpc_code: Some(-32603),
            ..base
        }),
        is("rate_limited", "status:429")
    );
    assert_eq!(
        check(Evidence {
            rpc_code: Some(-32601),
            ..base
        }),
        is("unknown_tool", "rpc:-32601")
    );
    assert_eq!(
        check(Evidence {
            rpc_code: Some(-32602),
            text: "Unknown tool: x",
            ..base
        }),
        is("unknown_tool", "text:tool_not_found")
    );
    // Neither a good status nor a flag that denies it hides an error.
    assert_eq!(
        check(Evidence {
            status: Some(200),
            is_error: Some(false),
            ..base
        }),
        is("not_found", "text:not_found")
    );
    let flagged = Evidence {
        is_error: Some(true),
        ..base
    };
    assert_eq!(
        check(Evidence {
            text: "no idea",
            ..flagged
        }),
        is("tool_error", "flag")
    );
    assert_eq!(
        check(Evidence {
            text: "Destination already exists: /x",
            ..flagged
        }),
        is("conflict", "text:conflict")
    );
    let doc = Doc::parse(r#"{"error": "quota used up"}"#).unwrap();
    assert_eq!(
        check(Evidence {
            structured: Some(doc.root()),
            text: "",
            ..base
        }),
        is("rate_limited", "text:rate_limit")
    );
}

#[test]
fn the_users_rules_come_first_and_change_the_fingerprint() {
    let rule = |environment: Option<&str>, outcome| TextRule {
        name: "enough".into(),
        environment: environment.map(str::to_owned),
        pattern: "^Error: gift card".into(),
        outcome,
    };
    let rules = OutcomeRules::new(vec![rule(Some("airline"), Outcome::Conflict)]).unwrap();
    let text = "Error: gift card balance is not enough";
    let at = |environment| {
        rules
            .derive(&Evidence {
                environment,
                text,
                ..Evidence::default()
            })
            .rule
            .into_owned()
    };
    assert_eq!(at("airline"), "text:enough");
    assert_eq!(at("retail"), "text:error_prefix");
    let silent = OutcomeRules::new(vec![rule(None, Outcome::Ok)]).unwrap();
    let derived = silent.derive(&Evidence {
        text,
        ..Evidence::default()
    });
    assert_eq!(derived.outcome, Outcome::Ok);
    let prints = [&rules, &silent, &OutcomeRules::default()].map(OutcomeRules::fingerprint);
    assert!(prints[0] != prints[1] && prints[1] != prints[2]);
    assert_eq!(prints[2], OutcomeRules::default().fingerprint());
}

#[test]
fn hostile_texts_cost_little() {
    for text in [
        "[".repeat(1_000_000),
        "{\"error\":".repeat(100_000),
        format!("Error: {}", "not ".repeat(5_000_000)),
        format!("<html>{}", "<title>".repeat(500_000)),
        "\"".repeat(100_000),
    ] {
        let _ = derive(&text);
        let _ = crate::model::truncation(&text);
    }
}

proptest! {
    #[test]
    fn any_text_has_an_outcome(text in ".*", flag: Option<bool>, status: Option<i64>, code: Option<i64>) {
        let rules = OutcomeRules::default();
        let derived = rules.derive(&Evidence {
            text: &text, is_error: flag, status, rpc_code: code, ..Evidence::default()
        });
        prop_assert!(!derived.rule.is_empty());
    }

    #[test]
    fn objects_without_error_fields_are_ok(
        entries in prop::collection::btree_map("[a-z]{1,3}_[xyz]{1,4}", "[ -!#-\\[\\]-~]{0,30}", 0..8)
    ) {
        let body: Vec<String> = entries.iter().map(|(k, v)| format!("\"{k}\": \"{v}\"")).collect();
        let text = format!("{{{}}}", body.join(", "));
        prop_assert_eq!(derive(&text), (Outcome::Ok, "none".to_owned()), "{}", text);
    }
}
