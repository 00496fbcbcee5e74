//! Small inputs from public bug reports, with the right answers: those of these routes whose expectation is a status and a name.
//! Cases http-anth-01, http-anth-07 and http-body-02 are at the tests that check more.

use serde_json::json;

use crate::client::post;
use crate::refusals::error;
use crate::setup::TestServer;
use crate::{MESSAGES, ask, user};

/// Cases http-anth-04 and http-anth-10.
#[test]
fn cases_from_public_bug_reports() {
    let server = TestServer::start(1, 0);
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_zz9", "content": "42"}]);
    for (more, status, kind, named) in [
        (json!({"messages": [user(result)], "max_tokens": 16, "temperature": 0}), 400, "invalid_request_error", "toolu_zz9"),
        (json!({"model": "no-such-model", "max_tokens": 16, "temperature": 0}), 404, "not_found_error", "no-such-model"),
    ] {
        let (found, message) = error(&post(server.address, MESSAGES, &ask("Hi", more)).answer(), status);
        assert!(found == kind && message.contains(named), "{found}: {message}");
        assert_eq!(post(server.address, MESSAGES, &ask("Hi", json!({}))).answer().status, 200);
    }
}
