//! The expression language: what it reads, what it refuses and where, and both kinds of value.

use tenon_formats::StorageFormat;

use super::{Dim, EvalErrorKind, Expr, ExprKind};

fn parse(text: &str) -> Expr {
    Expr::parse(text).unwrap_or_else(|e| panic!("`{text}`: {e} at {:?}", e.range))
}

fn dims(name: &str) -> Option<Dim> {
    Some(match name {
        "head_dim" => 64.into(),
        "out" => 576.into(),
        "tokens" => 3.into(),
        "factor" => Dim::Float(32.0),
        "format" => StorageFormat::Q4_1.into(),
        "kv_dtype" => StorageFormat::Bf16.into(),
        _ => return None,
    })
}

#[test]
fn precedence_is_that_of_mathematics() {
    let cases = [
        ("2 + 3 * 4", 14.0),
        ("(2 + 3) * 4", 20.0),
        ("7 - 2 - 1", 4.0),
        ("64 / 4 / 2", 8.0),
        ("2 ^ 3 ^ 2", 512.0),
        ("-2 ^ 2", -4.0),
        ("(-2) ^ 2", 4.0),
        ("2 ^ -1", 0.5),
        ("2 * -3", -6.0),
        ("--3", 3.0),
        (".5 + 1.e1 + 2.5e-1", 10.75),
        ("min(3, 1, 2) + max(1, 4)", 5.0),
        ("ceil_div(7, 2)", 4.0),
        ("rsqrt(head_dim)", 0.125),
        ("yarn_mscale(1, 5)", 1.0),
        ("sizeof(format) * 32", 20.0),
    ];
    for (text, value) in cases {
        assert_eq!(parse(text).eval_f64(&dims), Ok(value), "{text}");
    }
    let mscale = parse("yarn_mscale(factor, 0.707)").eval_f64(&dims).unwrap();
    assert!((mscale - 1.245_027_528_327_940_6).abs() < 1e-15, "{mscale}");
}

#[test]
fn sizes_of_formats_count_their_scales() {
    use tenon_formats::StorageFormat::{Bf16, Fp8E4m3, Mxfp4, Nvfp4};
    for (format, of_96) in [(Bf16, 192.0), (Fp8E4m3, 96.0), (Nvfp4, 54.0), (Mxfp4, 51.0)] {
        let dims = |name: &str| (name == "format").then(|| Dim::from(format));
        assert_eq!(parse("96 * sizeof(format)").eval_f64(&dims), Ok(of_96), "{format}");
    }
}

#[test]
fn the_scale_of_a_latent_attention_is_the_published_one() {
    let dims = |name: &str| match name {
        "qk_nope_head_dim" | "qk_rope_head_dim" => Some(64.0),
        "factor" => Some(128.0),
        "mscale_all_dim" => Some(1.0),
        _ => None,
    };
    let scale = parse("rsqrt(qk_nope_head_dim + qk_rope_head_dim) * yarn_mscale(factor, mscale_all_dim)^2");
    assert!((scale.eval_f64(&dims).unwrap() - 0.194_969).abs() < 5e-7);
}

#[test]
fn integers_are_exact() {
    let value = |text: &str| parse(text).eval_u64(&dims);
    assert_eq!(value("out * head_dim / 2"), Ok(18432));
    assert_eq!(value("out * sizeof(format) + tokens * 4"), Ok(360 + 12));
    assert_eq!(value("ceil_div(out, 100)"), Ok(6));
    assert_eq!(value("ceil_div(0 - 7, 2) + 10"), Ok(7));
    assert_eq!(value("min(out, head_dim) ^ 2"), Ok(4096));
    assert_eq!(value("max(tokens, sizeof(format))"), Ok(3));
    assert_eq!(value("tokens - 5 + 2"), Ok(0), "below zero in between");
    assert_eq!(value("18446744073709551615"), Ok(u64::MAX));
    assert_eq!(value("1 ^ 99999999999"), Ok(1));
}

#[test]
fn what_has_no_exact_value_says_which_part() {
    let cases = [
        ("1 + out / 7", "out / 7", EvalErrorKind::Inexact { dividend: "576".to_owned(), divisor: "7".to_owned() }),
        ("out / (tokens - 3)", "(tokens - 3)", EvalErrorKind::DivisionByZero),
        ("ceil_div(out, 0)", "0", EvalErrorKind::DivisionByZero),
        ("out + nope", "nope", EvalErrorKind::UnknownName("nope".to_owned())),
        ("out + format", "format", EvalErrorKind::NotANumber("format".to_owned())),
        ("sizeof(out)", "out", EvalErrorKind::NotADtype("out".to_owned())),
        ("sizeof(nope)", "nope", EvalErrorKind::UnknownName("nope".to_owned())),
        ("out * factor", "factor", EvalErrorKind::NotAnInteger),
        ("out * 0.5", "0.5", EvalErrorKind::NotAnInteger),
        ("2 * rsqrt(out)", "rsqrt(out)", EvalErrorKind::NotAnInteger),
        ("2 ^ -1", "-1", EvalErrorKind::NotAnInteger),
        ("sizeof(format)", "sizeof(format)", EvalErrorKind::NotAnInteger),
        ("tokens - out", "tokens - out", EvalErrorKind::Negative),
        ("18446744073709551615 + 1", "18446744073709551615 + 1", EvalErrorKind::Overflow),
        ("1 + out ^ 99999999999", "out ^ 99999999999", EvalErrorKind::Overflow),
    ];
    for (text, part, kind) in cases {
        let error = parse(text).eval_u64(&dims).unwrap_err();
        assert_eq!((&text[error.range.clone()], &error.kind), (part, &kind), "{text}");
    }
    assert_eq!(
        parse("out + format").eval_f64(&dims).unwrap_err().to_string(),
        "`format` is a dtype; `sizeof(format)` is its number of bytes"
    );
    assert!(parse("1 / 0").eval_f64(&dims).unwrap().is_infinite(), "for the caller to refuse");
}

#[test]
fn errors_point_into_the_text() {
    let cases = [
        ("", "", "ends where a number, a name or `(` was expected"),
        ("rsqrt(head_dim", "", "ends where `)` was expected"),
        ("rsqrt(head dim)", "dim", "expected an operator, `,` or `)`"),
        ("(a b)", "b", "expected an operator or `)`"),
        ("a ** b", "**", "a power is written `^`"),
        ("a * * b", "*", "expected a number, a name or `(`"),
        ("a bc", "bc", "expected an operator or the end"),
        ("a + é", "é", "expected a number, a name or `(`"),
        ("rsqr(a)", "rsqr", "no function has this name; did you mean `rsqrt`?"),
        (
            "exec(a)",
            "exec",
            "no function has this name; there are rsqrt, sqrt, yarn_mscale, min, max, ceil_div, sizeof, per_scale",
        ),
        ("2 * rsqrt", "rsqrt", "a function needs its arguments: rsqrt(x)"),
        ("rsqrt(a, b)", "rsqrt(a, b)", "2 arguments given; the function is rsqrt(x)"),
        ("min(a)", "min(a)", "1 arguments given; the function is min(a, b, ..)"),
        ("sizeof(2)", "2", "`sizeof` takes the name of a dtype"),
        ("18446744073709551616", "18446744073709551616", "`18446744073709551616` is too large"),
        ("1e999", "1e999", "`1e999` is too large"),
        ("1e", "1e", "the exponent has no digits"),
        ("a + .", ".", "`.` alone is no number"),
    ];
    for (text, part, message) in cases {
        let error = Expr::parse(text).unwrap_err();
        assert_eq!((&text[error.range.clone()], error.message.as_str()), (part, message), "{text}");
    }
}

#[test]
fn nothing_recurses_without_bound() {
    for (open, close) in [("(", ")"), ("-", ""), ("rsqrt(", ")"), ("2^", "")] {
        let text = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert_eq!(Expr::parse(&text).unwrap_err().message, "nested deeper than 32", "{open}");
    }
    let long = vec!["1"; 100_000].join("+");
    assert_eq!(Expr::parse(&long).unwrap_err().message, "more than 256 numbers, names and operators");
    let fits = vec!["1"; 128].join(" + ");
    assert_eq!(parse(&fits).eval_u64(&dims), Ok(128));
}

#[test]
fn the_canonical_form_is_read_back_as_the_same() {
    let cases = [
        ("((a+b))*c", "(a + b) * c"),
        ("a-(b-c)-d", "a - (b - c) - d"),
        ("a/(b*c)/d", "a / (b * c) / d"),
        ("(a^b)^c", "(a^b)^c"),
        ("a^(b^c)", "a^b^c"),
        ("a^-(b)", "a^-b"),
        ("(-a)^2", "(-a)^2"),
        ("-(a^2)", "-a^2"),
        ("-(a*b)", "-(a * b)"),
        ("min( a,b , 2.50)", "min(a, b, 2.5)"),
        ("1e300*1e-7*16.0", "1e300 * 1e-7 * 16.0"),
    ];
    for (text, canonical) in cases {
        let expr = parse(text);
        assert_eq!(expr.to_string(), canonical);
        let without_places = |e: Expr| e.with_ranges(&|_| 0..0);
        assert_eq!(without_places(parse(canonical)), without_places(expr), "{text}");
    }
}

#[test]
fn random_trees_survive_the_canonical_form() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..2000 {
        let text = random(&mut state, 4);
        let expr = parse(&text).with_ranges(&|_| 0..0);
        let again = parse(&expr.to_string()).with_ranges(&|_| 0..0);
        assert_eq!(again, expr, "{text} -> {expr}");
    }
}

/// A fully parenthesised expression, so that its tree does not depend on the precedence under test.
fn random(state: &mut u64, depth: usize) -> String {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let pick = (*state >> 33) % if depth == 0 { 3 } else { 10 };
    match pick {
        0 => "7".to_owned(),
        1 => "0.25".to_owned(),
        2 => "head_dim".to_owned(),
        3 => format!("(-{})", random(state, depth - 1)),
        4 => format!("max({}, {})", random(state, depth - 1), random(state, depth - 1)),
        _ => {
            let op = ["+", "-", "*", "/", "^"][pick as usize - 5];
            format!("({} {op} {})", random(state, depth - 1), random(state, depth - 1))
        }
    }
}

#[test]
fn names_and_the_form_of_a_scale() {
    let expr = parse("rsqrt(head_dim + kv) * head_dim");
    assert_eq!(expr.names(), ["head_dim", "kv"]);
    assert_eq!(expr.uses(), [("head_dim", 6..14), ("kv", 17..19), ("head_dim", 23..31)]);
    assert!(expr.argument_of("rsqrt").is_none());
    let scale = parse("rsqrt(head_dim)");
    assert!(matches!(&scale.argument_of("rsqrt").unwrap().kind, ExprKind::Name(n) if n == "head_dim"));
    assert!(scale.argument_of("sizeof").is_none());
}
