//! Sampling parameters as they show in answers.

use serde_json::{Value, json};

use crate::client::post;
use crate::setup::TestServer;
use crate::{COMPLETIONS, completion};

/// What the model says to `~ab>`, which is `ababab..` where nothing is asked for; `b` and `c` are likely beside `a`, and so on.
fn text(server: &TestServer, more: Value) -> String {
    let mut body = completion("~ab>", json!({"max_tokens": 8}));
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post(server.address, COMPLETIONS, &body).ok()["choices"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn biases_and_penalties_change_what_is_chosen() {
    let server = TestServer::start(2, 2);
    let plain = text(&server, json!({}));
    assert_eq!(plain, "~ab~ab~a");
    // 97 is `a`: without it, its neighbour comes in its place.
    assert_eq!(text(&server, json!({"logit_bias": {"97": -100}})), "~bb~bb~b");
    assert_eq!(text(&server, json!({"logit_bias": {"98": 1}})), "~bb~bb~b", "5 + 0 is less than 4.5 + 1");
    assert_eq!(text(&server, json!({"logit_bias": {}})), plain);
    for penalty in [json!({"frequency_penalty": 2}), json!({"presence_penalty": 2}), json!({"repetition_penalty": 2})] {
        assert_ne!(text(&server, penalty.clone()), plain, "{penalty}");
    }
    for nothing in [json!({"frequency_penalty": 0}), json!({"presence_penalty": 0.0}), json!({"repetition_penalty": 1})] {
        assert_eq!(text(&server, nothing.clone()), plain, "{nothing}");
    }
}

#[test]
fn min_p_leaves_out_what_is_unlikely() {
    let server = TestServer::start(2, 2);
    // The second likeliest has e^-0.5 of the likeliest's probability.
    let warm = |min_p: f64| {
        (0..20).map(|seed| text(&server, json!({"temperature": 1, "seed": seed, "min_p": min_p}))).collect::<Vec<_>>()
    };
    assert!(warm(0.7).iter().all(|text| text == "~ab~ab~a"));
    assert!(warm(0.1).iter().any(|text| text != "~ab~ab~a"));
}
