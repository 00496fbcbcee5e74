//! The page at `/`: a conversation with the model that is served, in a browser.
//!
//! Its files are in the binary. It asks nothing of any other host, and the policy that stands in its headers would not let it: no
//! inline script, no inline style, no `eval`, connections to this server only. What a model writes becomes text, never HTML.

use std::fmt::Write;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sha2::{Digest, Sha256};

/// What a browser may do for the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Path, media type and text of each file.
const FILES: [(&str, &str, &str); 11] = [
    ("/", "text/html; charset=utf-8", include_str!("index.html")),
    ("/page/style.css", "text/css; charset=utf-8", include_str!("style.css")),
    ("/page/conversation.css", "text/css; charset=utf-8", include_str!("conversation.css")),
    ("/page/beside.css", "text/css; charset=utf-8", include_str!("beside.css")),
    ("/page/icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("/page/main.js", SCRIPT, include_str!("main.js")),
    ("/page/api.js", SCRIPT, include_str!("api.js")),
    ("/page/facts.js", SCRIPT, include_str!("facts.js")),
    ("/page/settings.js", SCRIPT, include_str!("settings.js")),
    ("/page/sse.js", SCRIPT, include_str!("sse.js")),
    ("/page/view.js", SCRIPT, include_str!("view.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The routes of the page. They tell nothing about the model, so that they need no key; what the page asks for with one does.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.into_iter().fold(Router::new(), |router, (path, media_type, text)| {
        let tag: Arc<str> = tag(text).into();
        router.route(path, get(async move |headers: HeaderMap| answer(media_type, text, &tag, &headers)))
    })
}

/// Whether a path is one of the page's files.
pub(super) fn is_file(path: &str) -> bool {
    FILES.iter().any(|file| file.0 == path)
}

/// A file, or that it has not changed since the browser got it.
fn answer(media_type: &'static str, text: &'static str, tag: &str, request: &HeaderMap) -> Response {
    let headers: [(HeaderName, &str); 7] = [
        (header::ETAG, tag),
        // Another version of the server has other files under the same names: a browser asks, and is told in a few bytes.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    if is_known(request, tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(header::CONTENT_TYPE, media_type)], text).into_response()
}

/// Whether the request names the version that it has, and it is this one.
fn is_known(request: &HeaderMap, tag: &str) -> bool {
    let values = request.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

/// An entity tag of a text's bytes.
fn tag(text: &str) -> String {
    let mut tag = String::from("\"");
    for byte in &Sha256::digest(text)[..12] {
        // Writing to a `String` cannot fail.
        let _ = write!(tag, "{byte:02x}");
    }
    tag + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> &'static str {
        FILES.iter().find(|file| file.0 == path).map_or_else(|| panic!("no file {path}"), |file| file.2)
    }

    /// Values of an attribute, as this page writes them.
    fn values<'t>(text: &'t str, before: &'t str) -> impl Iterator<Item = &'t str> {
        text.split(before).skip(1).map(|rest| rest.split('"').next().unwrap_or_default())
    }

    #[test]
    fn what_the_files_refer_to_is_there() {
        let mut found = 0;
        for (path, _, text_of) in FILES {
            for reference in ["src=\"", "href=\"", "from \"", "import \""].iter().flat_map(|before| values(text_of, before)) {
                text(reference);
                found += 1;
                assert!(reference.starts_with("/page/"), "{path} refers to {reference}");
            }
        }
        assert!(found >= FILES.len() - 1, "every file but the first is referred to, and {found} references were found");
    }

    #[test]
    fn the_policy_allows_the_page() {
        let html = text("/");
        assert_eq!(html.matches("<script").count(), html.matches("<script type=\"module\" src=\"/page/").count());
        for forbidden in ["<style", " style=", " onclick=", " onload=", " onsubmit=", "javascript:"] {
            assert!(!html.contains(forbidden), "{forbidden} is inline, and the policy refuses it");
        }
        for (path, _, text) in FILES {
            for forbidden in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"] {
                assert!(!text.contains(forbidden), "{path} has {forbidden}");
            }
            let foreign = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{path} names another host");
        }
    }

    #[test]
    fn a_file_that_a_browser_has_is_not_sent_again() {
        let tag = tag("x");
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, value.parse().unwrap());
            answer("text/plain", "x", &tag, &headers)
        };
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_owned()] {
            let answer = with(&known);
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert_eq!(answer.headers()[header::ETAG], tag);
        }
        for other in ["\"other\"", "x", ""] {
            assert_eq!(with(other).status(), StatusCode::OK, "{other}");
        }
    }

    #[test]
    fn every_file_has_its_type_and_the_policy() {
        for (path, media_type, text) in FILES {
            let answer = answer(media_type, text, &tag(text), &HeaderMap::new());
            assert_eq!(answer.headers()[header::CONTENT_TYPE], media_type, "{path}");
            assert_eq!(answer.headers()[header::CONTENT_SECURITY_POLICY], POLICY, "{path}");
            assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-cache", "{path}");
        }
    }
}
