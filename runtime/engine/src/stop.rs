//! Stop sequences: where an answer ends although the model would go on.

/// Looks for stop sequences in text that arrives in pieces.
///
/// The sequence that is complete first ends the text, before its own beginning; of two that are complete at the same character, the
/// one that begins first. That does not depend on how the text is cut into pieces. What may still become a stop sequence is held
/// back.
#[derive(Clone, Debug, Default)]
pub struct StopMatcher {
    stops: Vec<String>,
    held: String,
}

impl StopMatcher {
    /// A matcher at the beginning of a text. Empty sequences never match.
    pub fn new(stops: Vec<String>) -> Self {
        Self { stops: stops.into_iter().filter(|stop| !stop.is_empty()).collect(), held: String::new() }
    }

    /// Takes the next piece and appends to `out` what is certain to belong to the text. Returns the stop sequence that was found:
    /// the text is then complete, and nothing more must be pushed.
    pub fn push(&mut self, piece: &str, out: &mut String) -> Option<&str> {
        self.held.push_str(piece);
        let ends = |stop: &String| self.held.find(stop).map(|at| (at + stop.len(), at));
        let found = self.stops.iter().filter_map(|stop| Some((ends(stop)?, stop))).min_by_key(|(ends, _)| *ends);
        if let Some(((_, at), stop)) = found {
            out.push_str(&self.held[..at]);
            self.held.clear();
            return Some(stop);
        }
        let sure = self.held.len() - self.undecided();
        out.push_str(&self.held[..sure]);
        self.held.drain(..sure);
        None
    }

    /// Appends what was held back: the text is over, and no stop sequence was completed.
    pub fn finish(&mut self, out: &mut String) {
        out.push_str(&self.held);
        self.held.clear();
    }

    /// Bytes at the end of what is held that begin a stop sequence.
    fn undecided(&self) -> usize {
        let longest = |stop: &String| {
            // From what is held and not from the stop's own end, which may be megabytes away.
            let most = self.held.len().min(stop.len().saturating_sub(1));
            let mut lengths = (1..=most).rev().filter(|&len| stop.is_char_boundary(len));
            lengths.find(|&len| self.held.as_bytes().ends_with(&stop.as_bytes()[..len])).unwrap_or(0)
        };
        self.stops.iter().map(longest).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// The whole text, and whether a stop sequence ended it.
    fn run(stops: &[&str], pieces: &[&str]) -> (String, bool) {
        let mut matcher = StopMatcher::new(stops.iter().map(|s| s.to_string()).collect());
        let mut out = String::new();
        for piece in pieces {
            if let Some(stop) = matcher.push(piece, &mut out) {
                assert!(stops.contains(&stop));
                return (out, true);
            }
        }
        matcher.finish(&mut out);
        (out, false)
    }

    /// Case eng-stop-03 of the project's collection of public bug reports.
    #[test]
    fn the_first_match_ends_the_text_across_pieces() {
        let pieces = ["red, blue, gre", "en, grey, wh", "ite, pink"];
        assert_eq!(run(&["white"], &pieces), ("red, blue, green, grey, ".into(), true));
        assert_eq!(run(&["grey", "green"], &pieces), ("red, blue, ".into(), true));
        assert_eq!(run(&["n, g"], &pieces), ("red, blue, gree".into(), true));
        assert_eq!(run(&["black"], &pieces), (pieces.concat(), false));
        assert_eq!(run(&["pinky", "x"], &pieces), (pieces.concat(), false));
        assert_eq!(run(&[], &pieces), (pieces.concat(), false));
    }

    #[test]
    fn text_that_cannot_become_a_stop_is_not_held_back() {
        let mut matcher = StopMatcher::new(vec!["aab".into(), "é!".into()]);
        let mut out = String::new();
        for (piece, so_far) in
            [("xa", "x"), ("a", "x"), ("a", "xa"), ("c", "xaaac"), ("é", "xaaac"), ("?", "xaaacé?"), ("aa", "xaaacé?")]
        {
            assert_eq!(matcher.push(piece, &mut out), None);
            assert_eq!(out, so_far);
        }
        assert_eq!(matcher.push("b", &mut out), Some("aab"));
        assert_eq!(out, "xaaacé?");
    }

    #[test]
    fn the_sequence_that_is_complete_first_wins_and_of_two_the_longer() {
        assert_eq!(run(&["abcdef", "cd"], &["xabcdef"]), ("xab".into(), true));
        assert_eq!(run(&["lo", "o"], &["hello"]), ("hel".into(), true));
        assert_eq!(run(&[""], &["hello"]), ("hello".into(), false));
    }

    #[test]
    fn the_result_does_not_depend_on_how_the_text_is_cut() {
        let mut rng = SplitMix64::new(3);
        for _ in 0..3_000 {
            let letters = ["a", "b", "é"];
            let word = |rng: &mut SplitMix64, n| (0..n).map(|_| letters[rng.below(3)]).collect::<String>();
            let text = word(&mut rng, 14);
            let stops = [word(&mut rng, 4), word(&mut rng, 2), word(&mut rng, 3)];
            let stops: Vec<&str> = stops.iter().map(String::as_str).take(1 + rng.below(3)).collect();
            let whole = run(&stops, &[&text]);
            let chars: Vec<String> = text.chars().map(String::from).collect();
            let mut pieces = Vec::new();
            let mut rest = &chars[..];
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.len().min(1 + rng.below(4)));
                pieces.push(piece.concat());
                rest = after;
            }
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(run(&stops, &pieces), whole, "{stops:?} in {pieces:?}");
            assert!(stops.iter().all(|stop| !whole.0.contains(stop)));
            assert_eq!(whole.1, stops.iter().any(|stop| text.contains(stop)));
        }
    }
}
