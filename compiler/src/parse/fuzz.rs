//! Spoilt files never make the front end panic, and are never silently taken or dropped.

use super::fixtures::{HYBRID, KERNEL, LATENT, MODEL, TEMPLATE, parse_files};
use crate::diagnostic::{Diagnostics, Format};
use crate::source::SourceMap;

/// Knuth's MMIX generator: the cases are the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// What TOML and expressions are sensitive to.
const PIECES: [&str; 30] = [
    "\"", "'", "\"\"\"", "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "#", "\n", "\r\n", "\r", "\\", "\\u00e9", "é",
    "\u{feff}", "\0", "-", "^", "(", "1e999", "-1", "0x", "TODO", "[a.b]\n", "a.b=1\n",
];

pub(crate) fn spoil(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => drop(bytes.drain(at..(at + 1 + random.below(12)).min(bytes.len()))),
            1 => bytes[at] = random.below(256) as u8,
            2 => bytes.truncate(at),
            3 | 4 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
            _ => bytes = spoil_line(&bytes, random),
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Takes a line out, doubles it, moves it, or gives it the value of another.
fn spoil_line(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    let part = |line: &[u8], n: usize| line.splitn(2, |b| *b == b'=').nth(n).unwrap_or_default().to_vec();
    match random.below(4) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        2 => lines.swap(one, other),
        _ => lines[one] = [part(&lines[one], 0), part(&lines[other], 1)].join(&b'='),
    }
    lines.join(&b'\n')
}

pub(crate) fn every_place_is_in_its_file(diags: &Diagnostics, sources: &SourceMap) -> bool {
    diags.sorted().into_iter().all(|d| {
        let labels = d.labels.iter().map(|l| &l.span);
        let patches = d.patches.iter().map(|p| &p.span);
        labels.chain(patches).all(|span| sources.file(span.file).text.get(span.range.clone()).is_some())
    })
}

fn run(path: &str, good: &str, seed: u64, cases: usize) {
    let mut random = Random(seed);
    let (mut taken, mut refused) = (0, 0);
    for case in 0..cases {
        let text = spoil(good, &mut random);
        let beside = [("specs/beside/MODEL.toml", MODEL), (path, text.as_str())];
        let (specs, diags, sources) = parse_files(if path.starts_with("specs/beside") { &beside } else { &beside[1..] });
        let kernel = specs.models.get("beside").is_some_and(|(_, kernel)| kernel.is_some());
        let spec = specs.templates.contains_key("one") || specs.models.contains_key("one") || kernel;
        assert_eq!(spec, !diags.has_errors(), "case {case}: {}\n{text}", diags.render(&sources, Format::Short, false));
        assert!(every_place_is_in_its_file(&diags, &sources), "case {case}\n{text}");
        // Rendering is slow without optimisation, and its own tests go through every span.
        if case % 8 == 0 {
            for format in Format::ALL {
                diags.render(&sources, format, false);
            }
        }
        if spec { taken += 1 } else { refused += 1 }
    }
    assert!(taken > cases / 100 && refused > cases / 4, "{taken} taken, {refused} refused: the cases miss one side");
}

#[test]
fn spoilt_models() {
    run("specs/one/MODEL.toml", MODEL, 1, 6000);
}

#[test]
fn spoilt_latent_models() {
    run("specs/one/MODEL.toml", LATENT, 4, 3000);
}

#[test]
fn spoilt_hybrid_models() {
    run("specs/one/MODEL.toml", HYBRID, 5, 3000);
}

#[test]
fn spoilt_templates() {
    run("kernels/one/TEMPLATE.toml", TEMPLATE, 2, 3000);
}

#[test]
fn spoilt_kernels() {
    run("specs/beside/KERNEL.toml", KERNEL, 3, 2000);
}
