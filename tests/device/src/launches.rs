//! The proof of launches: what counters on the device say of each step of each golden is what the compiler derives from its plan.
//!
//! The kernels of a build with the feature `count-launches` count themselves, so that replays of captured graphs count. The expectation comes
//! from `tenon_compiler::launches`, which knows specs, programs and templates and nothing of the runtime.

#[cfg(feature = "cuda")]
mod run;
pub mod steps;
pub mod stored;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::goldens::{CASES, LATENT};

#[cfg(feature = "cuda")]
pub use run::run;

/// The goldens, each with latent attention also in the other forms.
pub fn models() -> impl Iterator<Item = (&'static str, bool)> {
    CASES
        .into_iter()
        .flat_map(|case| [false, true].map(|swapped| (case, swapped)))
        .filter(|(case, swapped)| !swapped || LATENT.contains(case))
}

/// The name of one of them.
pub fn name(case: &str, swapped: bool) -> String {
    if swapped { format!("{case}-swapped") } else { case.to_owned() }
}

/// What came of all steps of all models.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LaunchResults {
    /// The name of the card.
    pub device: String,
    /// Steps whose launches are what was expected.
    pub passed: usize,
    /// Steps whose launches are not, and models that could not be run.
    pub failed: usize,
    /// The models.
    pub models: Vec<ModelCounts>,
}

/// What came of the steps of one model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ModelCounts {
    /// The golden, with latent attention in its own forms or in the other ones.
    pub model: String,
    /// Instances that it loaded.
    pub loaded: usize,
    /// Of these, the ones that no step launched: other formats and sizes, and what no step of the list needs.
    pub never_launched: Vec<String>,
    /// Its steps, in order.
    pub steps: Vec<StepCounts>,
    /// Why its steps were not run to the end.
    pub fault: Option<String>,
}

/// What came of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCounts {
    /// What it is.
    pub step: String,
    /// Launches that the plan has.
    pub expected: u64,
    /// Launches that the device counted.
    pub counted: u64,
    /// Launches that the runtime made or replayed, by its own account.
    pub told: u64,
    /// Instances that were launched.
    pub instances: usize,
    /// Products of the matrix library, which are not counted.
    pub products: u64,
    /// Every instance whose count is another one.
    pub differences: Vec<Difference>,
    /// What is wrong with it.
    pub fault: Option<String>,
}

/// An instance that was launched more or less often than the plan says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Its name.
    pub instance: String,
    /// How often the plan has it.
    pub expected: u64,
    /// How often the device counted it.
    pub counted: u64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { instance, expected, counted } = self;
        match (expected, counted) {
            (0, _) => write!(f, "{instance} was launched {counted} times, and is not in the plan"),
            (_, 0) => write!(f, "{instance} was not launched, and the plan has it {expected} times"),
            _ => write!(f, "{instance} was launched {counted} times, and the plan has it {expected} times"),
        }
    }
}

/// Differences that a message names.
const NAMED: usize = 4;

impl StepCounts {
    /// Compares what was counted in a step with what was expected, instance by instance.
    pub fn compare(
        step: &str,
        expected: &BTreeMap<String, u64>,
        products: u64,
        counted: &BTreeMap<String, u64>,
        told: u64,
    ) -> Self {
        let of = |map: &BTreeMap<String, u64>, name: &str| map.get(name).copied().unwrap_or(0);
        let names: BTreeSet<&String> = expected.keys().chain(counted.keys()).collect();
        let differences: Vec<Difference> = names
            .into_iter()
            .map(|name| Difference { instance: name.clone(), expected: of(expected, name), counted: of(counted, name) })
            .filter(|difference| difference.expected != difference.counted)
            .collect();
        let mut result = Self {
            step: step.to_owned(),
            expected: expected.values().sum(),
            counted: counted.values().sum(),
            told,
            instances: counted.values().filter(|&&times| times > 0).count(),
            products,
            fault: None,
            differences,
        };
        result.fault = result.find_fault();
        result
    }

    fn find_fault(&self) -> Option<String> {
        if self.expected == 0 {
            return Some("the plan has no launch for it: that would be no test".to_owned());
        }
        if self.counted == 0 {
            return Some("no counter moved: nothing ran on the device, or nothing counts".to_owned());
        }
        if !self.differences.is_empty() {
            let named: Vec<String> = self.differences.iter().take(NAMED).map(Difference::to_string).collect();
            let more = self.differences.len().saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!("; and {more} more") };
            return Some(format!("{}{more}", named.join("; ")));
        }
        if self.told != self.counted {
            return Some(format!("the device counted {} launches, and the runtime made {}", self.counted, self.told));
        }
        None
    }

    /// True where nothing is wrong.
    pub fn passed(&self) -> bool {
        self.fault.is_none()
    }
}

impl ModelCounts {
    /// Adds a step, and what every loaded instance counted in it.
    pub fn see(&mut self, step: StepCounts, counted: &BTreeMap<String, u64>) {
        let idle = |name: &String| counted.get(name).is_none_or(|times| *times == 0);
        if self.steps.is_empty() {
            self.loaded = counted.len();
            self.never_launched = counted.keys().cloned().collect();
        }
        self.never_launched.retain(idle);
        self.steps.push(step);
    }

    /// A line of the table: the model, its steps, launches and instances, and whether they are what the plan says.
    pub fn line(&self) -> String {
        let sum = |of: fn(&StepCounts) -> u64| self.steps.iter().map(of).sum::<u64>();
        let wrong = self.steps.iter().filter(|step| !step.passed()).count();
        format!(
            "{} {:<30} {:>3} steps, {wrong} wrong; {:>6} launches counted, {:>6} in the plan, {:>6} products; {:>3} of {} instances",
            if wrong == 0 && self.fault.is_none() { "ok  " } else { "FAIL" },
            self.model,
            self.steps.len(),
            sum(|step| step.counted),
            sum(|step| step.expected),
            sum(|step| step.products),
            self.loaded - self.never_launched.len(),
            self.loaded
        )
    }
}

impl LaunchResults {
    /// Adds a model.
    pub fn add(&mut self, model: ModelCounts) {
        let wrong = model.steps.iter().filter(|step| !step.passed()).count();
        self.passed += model.steps.len() - wrong;
        // A model without steps is none that was proven.
        self.failed += wrong + usize::from(model.fault.is_some() || model.steps.is_empty());
        self.models.push(model);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|(name, times)| ((*name).to_owned(), *times)).collect()
    }

    fn fault(expected: &[(&str, u64)], counted: &[(&str, u64)]) -> Option<String> {
        let (expected, counted) = (counts(expected), counts(counted));
        StepCounts::compare("decode", &expected, 0, &counted, counted.values().sum()).fault
    }

    #[test]
    fn what_is_counted_must_be_what_is_planned_instance_by_instance() {
        let plan = [("add", 4), ("embedding_bf16", 1), ("linear_bf16_r1", 29)];
        assert_eq!(fault(&plan, &plan), None);
        // An instance that is loaded and was not launched is no difference.
        assert_eq!(fault(&plan, &[("add", 4), ("embedding_bf16", 1), ("linear_bf16_r1", 29), ("linear_bf16_r2", 0)]), None);
        let with = |counted: &[(&str, u64)]| fault(&plan, counted).unwrap();
        assert_eq!(
            with(&[("add", 4), ("embedding_bf16", 1), ("linear_bf16_r1", 28)]),
            "linear_bf16_r1 was launched 28 times, and the plan has it 29 times"
        );
        // As many launches, of another instance.
        assert_eq!(
            with(&[("add", 4), ("embedding_bf16", 1), ("linear_bf16_r2", 29)]),
            "linear_bf16_r1 was not launched, and the plan has it 29 times; linear_bf16_r2 was launched 29 times, and is not in the plan"
        );
        assert_eq!(
            with(&[("add", 5), ("embedding_bf16", 1), ("linear_bf16_r1", 29)]),
            "add was launched 5 times, and the plan has it 4 times"
        );
        let many: Vec<(String, u64)> = (0..6).map(|n| (format!("k{n}"), 1)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|(name, times)| (name.as_str(), *times)).collect();
        assert!(with(&many).ends_with("; and 5 more"), "{}", with(&many));
    }

    #[test]
    fn counters_that_do_not_move_prove_nothing() {
        let silent = "no counter moved: nothing ran on the device, or nothing counts";
        assert_eq!(fault(&[("add", 4)], &[("add", 0)]).as_deref(), Some(silent));
        assert_eq!(fault(&[("add", 4)], &[]).as_deref(), Some(silent));
        assert_eq!(fault(&[], &[]).as_deref(), Some("the plan has no launch for it: that would be no test"));
        let told = StepCounts::compare("decode", &counts(&[("add", 4)]), 0, &counts(&[("add", 4)]), 3);
        assert_eq!(told.fault.as_deref(), Some("the device counted 4 launches, and the runtime made 3"));
    }

    #[test]
    fn what_no_step_launched_is_named() {
        let mut model = ModelCounts::default();
        for counted in [[("add", 4), ("scale", 0), ("sample", 0)], [("add", 0), ("scale", 1), ("sample", 0)]] {
            let counted = counts(&counted);
            model.see(StepCounts::compare("decode", &counted, 0, &counted, counted.values().sum()), &counted);
        }
        assert_eq!((model.loaded, model.never_launched.as_slice()), (3, &["sample".to_owned()][..]));
    }

    #[test]
    fn one_wrong_step_fails_the_whole() {
        let step = |times| StepCounts::compare("decode", &counts(&[("add", 4)]), 0, &counts(&[("add", times)]), times);
        let model = |steps| ModelCounts { model: "m".to_owned(), steps, ..ModelCounts::default() };
        let mut results = LaunchResults::default();
        results.add(model(vec![step(4), step(4)]));
        assert_eq!((results.passed, results.failed), (2, 0));
        results.add(model(vec![step(4), step(5)]));
        assert_eq!((results.passed, results.failed), (3, 1));
        assert!(results.models[1].line().starts_with("FAIL m "), "{}", results.models[1].line());
        results.add(model(Vec::new()));
        assert_eq!((results.passed, results.failed), (3, 2), "a model without steps");
        results.add(ModelCounts { fault: Some("it does not load".to_owned()), ..model(vec![step(4)]) });
        assert_eq!((results.passed, results.failed), (4, 3));
        let text = serde_json::to_string(&results).unwrap();
        let read: LaunchResults = serde_json::from_str(&text).unwrap();
        assert_eq!(read.models[1].steps[1].differences, [Difference { instance: "add".to_owned(), expected: 4, counted: 5 }]);
    }
}
