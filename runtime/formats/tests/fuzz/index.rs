//! `model.safetensors.index.json`.

use std::path::{Component, Path};

use serde_json::Value;
use tenon_formats::index;

use super::random::Random;
use super::{message, text, within};

const NAMES: [&str; 5] = ["a", "b.weight", "model.layers.0.w", "", "\\n"];
const SHARDS: [&str; 10] = ["s1", "s2.safetensors", "../s", "/s", "a/b", "a\\\\b", "c:s", ".", "", "\\u0000"];

pub fn make(random: &mut Random) -> Vec<u8> {
    let mut map = String::from("{");
    for i in 0..random.below(5) {
        map.push_str(if i == 0 { "" } else { "," });
        let shards = if random.one_in(4) { &SHARDS[..] } else { &SHARDS[..2] };
        map.push_str(&format!("\"{}{i}\":\"{}\"", random.pick(&NAMES), random.pick(shards)));
    }
    map.push('}');
    if random.one_in(4) {
        map.clear();
        text::value(&mut map, random, &NAMES, 2);
    }
    let mut metadata = String::new();
    text::value(&mut metadata, random, &NAMES, 2);
    let extra = if random.one_in(4) { ",\"weight_map\":{}" } else { "" };
    format!("{{\"metadata\":{metadata},\"weight_map\":{map}{extra}}}").into_bytes()
}

pub fn check(case: &[u8]) -> Result<(), String> {
    let index = within(24, case, || index::read(case)).map_err(|e| message(&e))?;
    assert!(index.shards.is_sorted_by(|a, b| a < b), "{:?}", index.shards);
    for shard in &index.shards {
        let mut components = Path::new(shard).components();
        assert!(matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)), "{shard:?}");
    }
    // What another reader makes of it, where it is not an error for that one only because of something that is not read.
    let Ok(theirs) = serde_json::from_slice::<Value>(case) else { return Ok(()) };
    let map = theirs["weight_map"].as_object().expect("it was read as one");
    assert_eq!(map.len(), index.tensors.len());
    for (tensor, &shard) in &index.tensors {
        assert_eq!(map[tensor].as_str(), Some(index.shards[shard].as_str()), "{tensor:?}");
    }
    Ok(())
}
