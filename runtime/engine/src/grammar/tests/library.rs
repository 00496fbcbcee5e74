//! What the library does at the edges, and what a hostile schema can cost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

const F: ToolParser = ToolParser::Hermes;

fn compiled(factory: &GrammarFactory, schema: Value) -> Result<Box<dyn Constraint>, String> {
    let output = OutputShape::JsonSchema { schema, strict: true };
    let choice = ToolChoice::Auto;
    let request = GrammarRequest {
        parser: None,
        reasoning: None,
        declared: &[],
        choice: &choice,
        parallel: true,
        begun: Begun::Nothing,
        output: &output,
    };
    let grammar = grammar(&request).map_err(|e| e.to_string())?.expect("a schema constrains");
    factory.compile(&grammar).map_err(|e| e.to_string())
}

fn set(tokenizer: &Tokenizer, constraint: &mut dyn Constraint) -> TokenSet {
    let mut allowed = TokenSet::alloc(tokenizer.vocab_size());
    constraint.allowed(&mut allowed).unwrap();
    allowed
}

#[test]
fn all_end_tokens_are_allowed_where_the_answer_may_be_over_and_alone_where_it_must() {
    let tokenizer = bytes_and_marks();
    let ends = tokenizer.end_ids().to_vec();
    assert!(ends.len() > 2, "{ends:?}");
    let mut constraint = factory(&tokenizer).compile("start: /a{1,2}/").unwrap();
    let mut rows = Vec::new();
    for _ in 0..3 {
        let allowed = set(&tokenizer, &mut *constraint);
        rows.push((allowed.num_set(), ends.iter().filter(|&&id| allowed.is_allowed(id)).count()));
        if rows.len() < 3 {
            constraint.accept(u32::from(b'a')).unwrap();
        }
    }
    assert_eq!(rows, [(1, 0), (1 + ends.len(), ends.len()), (ends.len(), ends.len())]);
    for &end in &ends {
        let mut fork = constraint.fork();
        fork.accept(end).unwrap();
        assert_eq!(set(&tokenizer, &mut *fork).num_set(), ends.len(), "nothing but an end behind an end");
    }
    assert!(constraint.fork().accept(u32::from(b'a')).is_err(), "a third");
}

#[test]
fn a_longer_row_is_filled_and_a_shorter_refused() {
    let tokenizer = bytes_and_marks();
    let mut constraint = factory(&tokenizer).compile("start: \"a\"").unwrap();
    let mut padded = TokenSet::alloc_ones(tokenizer.vocab_size() + 100);
    constraint.allowed(&mut padded).unwrap();
    assert_eq!(padded.num_set(), 1);
    let error = constraint.allowed(&mut TokenSet::alloc(10)).unwrap_err().to_string();
    assert!(error.contains(" tokens, and the model's vocabulary 10"), "{error}");
}

#[test]
fn special_tokens_are_no_text_and_marks_are() {
    let tokenizer = bytes_and_marks();
    let user = tokenizer.id("<|user|>").unwrap();
    let mark = tokenizer.id("<tool_call>").unwrap();
    let mut free = factory(&tokenizer).compile("start: /(?s:.*)/").unwrap();
    let allowed = set(&tokenizer, &mut *free);
    assert!(allowed.is_allowed(mark) && !allowed.is_allowed(user));
    // Nor is the spelling of one by other tokens forbidden: that is text.
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
    let constraint = Case::of(F, &[declared("f", json!({"type": "object"}), true)]).compile(&factory(&tokenizer));
    accepts(&tokenizer, &*constraint, call).unwrap();
    let without = GrammarFactory::new(&tokenizer, &[]).unwrap();
    let constraint = Case::of(F, &[declared("f", json!({"type": "object"}), true)]).compile(&without);
    let error = accepts(&tokenizer, &*constraint, call).unwrap_err();
    assert_eq!(error, "\"<tool_call>\" may not follow \"\"", "a control token that is no mark");
    let mut constraint = constraint.fork();
    for byte in "<tool_call>".bytes() {
        let id = u32::from(byte);
        assert!(set(&tokenizer, &mut *constraint).is_allowed(id));
        constraint.accept(id).unwrap();
    }
}

#[test]
fn forks_go_their_own_ways() {
    let tokenizer = bytes_and_marks();
    let mut one = factory(&tokenizer).compile("start: \"ab\" | \"cd\"").unwrap();
    let mut other = one.fork();
    let [a, b, c, d] = [b'a', b'b', b'c', b'd'].map(|byte| u32::from(byte));
    one.accept(a).unwrap();
    other.accept(c).unwrap();
    let (one, other) = (set(&tokenizer, &mut *one), set(&tokenizer, &mut *other));
    assert_eq!((one.is_allowed(b), one.is_allowed(d), other.is_allowed(b), other.is_allowed(d)), (true, false, false, true));
}

#[test]
fn a_token_that_is_not_allowed_is_an_error_and_the_rest_too() {
    let tokenizer = bytes_and_marks();
    let mut constraint = factory(&tokenizer).compile("start: \"ab\"").unwrap();
    let z = u32::from(b'z');
    let error = constraint.accept(z).unwrap_err().to_string();
    assert!(error.starts_with("the grammar of this answer cannot go on: ") && !error.contains('\n'), "{error}");
    assert!(constraint.allowed(&mut TokenSet::alloc(tokenizer.vocab_size())).is_err());
    assert!(constraint.accept(u32::from(b'a')).is_err());
}

#[test]
fn whitespace_in_json_is_bounded() {
    let tokenizer = bytes_and_marks();
    let constraint = compiled(&factory(&tokenizer), json!({"type": "object"})).unwrap();
    for good in ["{}", "{\"a\":1}", "{ \"a\": [1, 2] }", "{\n  \"a\": {\n    \"b\": null\n  }\n}", "{\r\n\t\"a\": true\r\n}"] {
        accepts(&tokenizer, &*constraint, good).unwrap_or_else(|e| panic!("{good:?}: {e}"));
    }
    for bad in ["{  }", "{\n\n}", "{\"a\":  1}", " {}", "{}\n", &format!("{{\n{}\"a\": 1}}", " ".repeat(41))] {
        assert!(accepts(&tokenizer, &*constraint, bad).is_err(), "{bad:?}");
    }
    accepts(&tokenizer, &*constraint, "{\"caf\\u00e9 \\ud83d\\ude00\": \"\\u00e9\\n\"}").unwrap();
    accepts(&tokenizer, &*constraint, "{\"a\": \"\\ud83d\"}").unwrap_err();
}

#[test]
fn a_tokenizer_without_an_end_is_refused() {
    let mut vocabulary = crate::tokenizer::tests::vocabulary();
    vocabulary.eos = None;
    vocabulary.tokens[257] = "<x>".into();
    let tokenizer = Tokenizer::from_gguf(&vocabulary).unwrap();
    assert_eq!(tokenizer.end_ids(), [] as [u32; 0]);
    assert_eq!(GrammarFactory::new(&tokenizer, &[]).unwrap_err(), CompileError::NoEnd);
}

#[test]
fn a_schema_that_does_not_compile_is_named() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    for (schema, what) in [
        (json!({"type": "string", "pattern": "(?=a)b"}), "look-around"),
        (json!({"oneOf": [{"type": "object"}, {"type": "object"}]}), "oneOf"),
        (json!({"$ref": "#/$defs/missing"}), "missing"),
        (json!({"type": "array", "items": {"type": "string", "pattern": "("}}), "unclosed group"),
        (json!({"type": "integer", "minimum": 3, "maximum": 2}), "minimum"),
        (json!({"properties": {"a": {}}, "minProperties": 1}), "min/maxProperties"),
    ] {
        let output = compiled(&factory, schema.clone()).map(|_| ()).expect_err(what);
        assert!(output.starts_with("the schema of the answer: ") && output.contains(what), "{schema}: {output}");
        let parameters = json!({"type": "object", "properties": {"p": schema}, "required": ["p"]});
        let functions = [declared("good", json!({}), true), declared("bad", parameters, true)];
        let error = factory.compile(&Case::of(F, &functions).grammar()).unwrap_err();
        let CompileError::Schema { place, .. } = &error else { panic!("{error}") };
        assert!(*place == SchemaPlace::Function(1) && !error.to_string().contains('\n'), "{error}");
    }
    for endless in
        [json!({"$ref": "#"}), json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"})]
    {
        let error = compiled(&factory, endless).map(|_| ()).unwrap_err();
        assert_eq!(error, "the grammar of the answer does not compile: no answer is valid");
    }
    let error = factory.compile("start: nothing").unwrap_err().to_string();
    assert!(error.starts_with("the grammar of the answer does not compile: "), "{error}");
}

/// Schemas that are small to send and large to compile. Each compiles or is refused, in bounded time, and what compiles can be asked
/// for tokens until it says that it cannot go on.
#[test]
fn hostile_schemas_cost_little() {
    let tokenizer = bytes_and_marks();
    let factory = factory(&tokenizer);
    let chain = |n: usize| {
        let definitions = (0..n).map(|i| (format!("d{i}"), json!({"$ref": format!("#/$defs/d{}", i + 1)})));
        let mut definitions: serde_json::Map<String, Value> = definitions.collect();
        definitions.insert(format!("d{n}"), json!({"type": "integer"}));
        json!({"$defs": definitions, "$ref": "#/$defs/d0"})
    };
    let many = |n: usize| (0..n).map(|i| (format!("key{i}"), json!({"type": "string"}))).collect::<serde_json::Map<_, _>>();
    let nested =
        (0..30).fold(json!({"type": "null"}), |inner, _| json!({"anyOf": [{"type": "array", "items": inner}, {"type": "null"}]}));
    for (name, schema) in [
        ("a chain of references", chain(990)),
        ("a large repetition", json!({"type": "string", "pattern": "^(a{1,1000}){1,1000}$"})),
        ("an exponential automaton", json!({"type": "string", "pattern": "^(a|b)*a(a|b){30}$"})),
        ("many exponential automata", json!({"type": "string", "pattern": "^.*a.{18}(b.{18})*c.{18}$"})),
        ("long strings", json!({"type": "string", "minLength": 1_000_000, "maxLength": 100_000_000})),
        ("many items", json!({"type": "array", "minItems": 1_000_000, "maxItems": 1_000_000_000})),
        ("many properties", json!({"type": "object", "properties": many(256)})),
        ("a large enumeration", json!({"enum": (0..15_000).map(|i| format!("value {i}")).collect::<Vec<_>>()})),
        ("nested choices", nested),
        ("multiples", json!({"type": "integer", "multipleOf": 9_973, "minimum": 0})),
    ] {
        let begun = Instant::now();
        let outcome = compiled(&factory, schema).map(|mut constraint| {
            let mut rng = crate::rng::SplitMix64::new(1);
            for _ in 0..60 {
                let mut allowed = TokenSet::alloc(tokenizer.vocab_size());
                if let Err(error) = constraint.allowed(&mut allowed) {
                    return error.to_string();
                }
                let ids: Vec<u32> = allowed.to_list();
                let id = ids[rng.below(ids.len())];
                if tokenizer.end_ids().contains(&id) {
                    break;
                }
                if let Err(error) = constraint.accept(id) {
                    return error.to_string();
                }
            }
            String::new()
        });
        let took = begun.elapsed();
        println!("{name}: {took:.1?} {outcome:?}");
        // Without optimisation, and on a machine that others use.
        assert!(took < Duration::from_secs(60), "{name}: {took:?}");
    }
}
