//! What becomes of a mutant.

use super::change::Origin;

/// What caught a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// A number outside its bound.
    Assert,
    /// A number that is none.
    NonFinite,
    /// Bits of the error word.
    ErrorWord,
    /// The device says so, or the process ended without a result.
    Crash,
    /// It did not end.
    Timeout,
    /// A static_assert of the template.
    Build,
}

impl How {
    /// As results have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::NonFinite => "non-finite",
            Self::ErrorWord => "error word",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Build => "build",
        }
    }
}

/// What becomes of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was noticed.
    Caught(How, String),
    /// All cases pass.
    Missed,
    /// It did not build.
    Unviable(String),
    /// Its machine code is that of the kernel.
    Equivalent,
    /// Its text does not stand exactly once in the file.
    NotApplied(String),
    /// The kernel as it is has no case.
    ControlEmpty,
    /// The kernel as it is fails.
    ControlRed(String),
    /// The harness itself failed, so nothing is known.
    Broken(String),
    /// It builds; there was nothing to run it on.
    Built,
}

impl Verdict {
    /// As results have it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Caught(..) => "caught",
            Self::Missed => "missed",
            Self::Unviable(_) => "unviable",
            Self::Equivalent => "equivalent",
            Self::NotApplied(_) => "not-applied",
            Self::ControlEmpty => "control-empty",
            Self::ControlRed(_) => "control-red",
            Self::Broken(_) => "broken",
            Self::Built => "built",
        }
    }

    /// What there is to say beside the name.
    pub fn text(&self) -> &str {
        match self {
            Self::Caught(_, text)
            | Self::Unviable(text)
            | Self::NotApplied(text)
            | Self::ControlRed(text)
            | Self::Broken(text) => text,
            Self::Missed | Self::Equivalent | Self::ControlEmpty | Self::Built => "",
        }
    }

    /// Whether the run goes on to be green. A written mutant must be caught, if it changes the machine code; an automatic one may be
    /// nothing that a case can see, or not build.
    pub fn passes(&self, origin: Origin) -> bool {
        match self {
            Self::Caught(..) | Self::Equivalent | Self::Built => true,
            Self::Missed | Self::Unviable(_) => origin != Origin::Written,
            Self::NotApplied(_) | Self::ControlEmpty | Self::ControlRed(_) | Self::Broken(_) => false,
        }
    }

    /// Whether it was run, or stopped by the build as it should be.
    pub fn is_viable(&self) -> bool {
        matches!(self, Self::Caught(..) | Self::Missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_caught_passes_among_written_mutants() {
        let text = String::new;
        let all = [
            (Verdict::Caught(How::Crash, text()), true, true),
            (Verdict::Equivalent, true, true),
            (Verdict::Built, true, true),
            (Verdict::Missed, false, true),
            (Verdict::Unviable(text()), false, true),
            (Verdict::NotApplied(text()), false, false),
            (Verdict::ControlEmpty, false, false),
            (Verdict::ControlRed(text()), false, false),
            (Verdict::Broken(text()), false, false),
        ];
        for (verdict, written, automatic) in all {
            assert_eq!(verdict.passes(Origin::Written), written, "{verdict:?}");
            assert_eq!(verdict.passes(Origin::Bound), automatic, "{verdict:?}");
        }
    }
}
