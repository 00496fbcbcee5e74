//! What becomes of a mutant.

use super::change::Origin;

/// What stands between a fault and a release. A mutant is killed by every gate that notices it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// A static_assert of the template.
    Build,
    /// The numbers of the parameters in the machine code are those of the launch.
    Manifest,
    /// The device says that an access is illegal, or the process ends without a result.
    Crash,
    /// It ends in time.
    Timeout,
    /// Bits of the error word are those that the case sets.
    ErrorWord,
    /// Memory that the case says stays as it was does.
    Untouched,
    /// Outputs are those of the reference in double precision.
    G1,
    /// Outputs are those of the CPU's kernel, at the derived bound.
    G2,
    /// compute-sanitizer, over what no gate before this noticed.
    Sanitizer,
    /// Whole models against transformers, for mutants that ask for it.
    Goldens,
}

impl Gate {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Self; 10] = [
        Self::Build,
        Self::Manifest,
        Self::Crash,
        Self::Timeout,
        Self::ErrorWord,
        Self::Untouched,
        Self::G1,
        Self::G2,
        Self::Sanitizer,
        Self::Goldens,
    ];

    /// As results and `mutants.toml` have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Manifest => "manifest",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::ErrorWord => "error-word",
            Self::Untouched => "untouched",
            Self::G1 => "g1",
            Self::G2 => "g2",
            Self::Sanitizer => "sanitizer",
            Self::Goldens => "goldens",
        }
    }

    /// The gate of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.name() == name)
    }
}

impl Kill {
    /// Whether the gate that a mutant names is among those that noticed. `g1` names the cases of a reference: that what must stay does, that
    /// the error word is right, and that the launch ends are parts of them.
    pub fn is_by(&self, named: Gate) -> bool {
        let parts = [Gate::Crash, Gate::Timeout, Gate::ErrorWord, Gate::Untouched];
        self.gates.contains(&named) || (named == Gate::G1 && self.gates.iter().any(|gate| parts.contains(gate)))
    }
}

/// How a mutant was noticed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// A number outside its bound.
    Assert,
    /// A number that is none.
    NonFinite,
    /// Bits of the error word.
    ErrorWord,
    /// The machine code states other parameters than those of the launch.
    Manifest,
    /// The device says so, or the process ended without a result.
    Crash,
    /// It did not end.
    Timeout,
    /// A static_assert of the template.
    Build,
    /// compute-sanitizer's memcheck.
    Memcheck,
    /// compute-sanitizer's racecheck.
    Racecheck,
    /// compute-sanitizer's synccheck.
    Synccheck,
    /// compute-sanitizer's initcheck.
    Initcheck,
}

impl How {
    /// As results have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::NonFinite => "non-finite",
            Self::ErrorWord => "error word",
            Self::Manifest => "manifest",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Build => "build",
            Self::Memcheck => "sanitizer memcheck",
            Self::Racecheck => "sanitizer racecheck",
            Self::Synccheck => "sanitizer synccheck",
            Self::Initcheck => "sanitizer initcheck",
        }
    }
}

/// That a mutant was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kill {
    /// How first.
    pub how: How,
    /// Every gate that noticed, in their order and each once.
    pub gates: Vec<Gate>,
    /// What was noticed first, in words.
    pub text: String,
}

impl Kill {
    /// By one gate.
    pub fn by(gate: Gate, how: How, text: impl Into<String>) -> Self {
        Self { how, gates: vec![gate], text: text.into() }
    }
}

/// What becomes of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was noticed.
    Caught(Kill),
    /// All cases pass.
    Missed,
    /// All cases pass, and the template says why none could fail.
    Survives(String),
    /// It was noticed, and not by the gate that it was written for.
    CaughtElsewhere(Kill),
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
            Self::Caught(_) => "caught",
            Self::Missed => "missed",
            Self::Survives(_) => "survives",
            Self::CaughtElsewhere(_) => "caught-elsewhere",
            Self::Unviable(_) => "unviable",
            Self::Equivalent => "equivalent",
            Self::NotApplied(_) => "not-applied",
            Self::ControlEmpty => "control-empty",
            Self::ControlRed(_) => "control-red",
            Self::Broken(_) => "broken",
            Self::Built => "built",
        }
    }

    /// That it was noticed, by whatever gate.
    pub fn kill(&self) -> Option<&Kill> {
        if let Self::Caught(kill) | Self::CaughtElsewhere(kill) = self { Some(kill) } else { None }
    }

    /// The same, where gates before this had noticed too.
    pub fn after(self, before: Option<&Kill>) -> Self {
        match (self, before) {
            (Self::Caught(mut kill), Some(before)) => {
                kill.gates.extend(&before.gates);
                kill.gates.sort();
                kill.gates.dedup();
                Self::Caught(kill)
            }
            (verdict, _) => verdict,
        }
    }

    /// What there is to say beside the name.
    pub fn text(&self) -> &str {
        match self {
            Self::Caught(kill) | Self::CaughtElsewhere(kill) => &kill.text,
            Self::Survives(text)
            | Self::Unviable(text)
            | Self::NotApplied(text)
            | Self::ControlRed(text)
            | Self::Broken(text) => text,
            Self::Missed | Self::Equivalent | Self::ControlEmpty | Self::Built => "",
        }
    }

    /// Whether the run goes on to be green. What is viable must be caught, or the template must say why nothing could; a written mutant must
    /// be viable, while an automatic one need not build.
    pub fn passes(&self, origin: Origin) -> bool {
        match self {
            Self::Caught(_) | Self::Equivalent | Self::Built => true,
            Self::Survives(_) | Self::Unviable(_) => origin != Origin::Written,
            Self::Missed
            | Self::CaughtElsewhere(_)
            | Self::NotApplied(_)
            | Self::ControlEmpty
            | Self::ControlRed(_)
            | Self::Broken(_) => false,
        }
    }

    /// Whether it was run, or stopped by the build as it should be.
    pub fn is_viable(&self) -> bool {
        self.kill().is_some() || matches!(self, Self::Missed | Self::Survives(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_caught_passes() {
        let (text, kill) = (String::new, || Kill::by(Gate::Crash, How::Crash, ""));
        let all = [
            (Verdict::Caught(kill()), true, true),
            (Verdict::Equivalent, true, true),
            (Verdict::Built, true, true),
            (Verdict::Missed, false, false),
            (Verdict::Survives(text()), false, true),
            (Verdict::CaughtElsewhere(kill()), false, false),
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

    #[test]
    fn g1_names_all_that_a_case_tells() {
        let by = |gate| Kill::by(gate, How::Assert, "");
        assert!(by(Gate::G1).is_by(Gate::G1) && by(Gate::Untouched).is_by(Gate::G1) && by(Gate::Crash).is_by(Gate::G1));
        assert!(!by(Gate::G2).is_by(Gate::G1) && !by(Gate::Sanitizer).is_by(Gate::G1) && !by(Gate::Manifest).is_by(Gate::G1));
        assert!(!by(Gate::G1).is_by(Gate::ErrorWord) && by(Gate::ErrorWord).is_by(Gate::ErrorWord));
    }

    #[test]
    fn gates_have_names_of_their_own() {
        for gate in Gate::ALL {
            assert_eq!(Gate::of(gate.name()), Some(gate));
            assert_eq!(serde_json::to_value(gate).unwrap(), gate.name());
        }
        assert_eq!(Gate::of("g3"), None);
        assert!(Gate::ALL.is_sorted());
    }
}
