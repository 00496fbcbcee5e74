//! One instance of a template: what the names of its expressions stand for.

use tenon_formats::StorageFormat;

use super::Selected;
use crate::binding::BUCKET;
use crate::expr::{Dim, EvalError, Expr};
use crate::model::{ParamSet, Requirement, StepDims};
use crate::program::{FEW_ROWS, OpKind, When};
use crate::source::Spanned;

/// A template at the dimensions of one op.
#[derive(Clone, Copy)]
pub(super) struct Instance<'a> {
    pub requirement: &'a Requirement,
    pub tuned: &'a [(String, u64)],
    /// What is chosen with each launch, and the most that it can be.
    pub chosen: &'a [(&'static str, u64)],
    /// Rows for which there is an instance each; none where one serves any number.
    pub buckets: &'a [Spanned<u64>],
    /// It is launched for few rows only.
    pub few: bool,
    /// The one of the instance, or the most rows that it is launched with.
    pub bucket: Option<u64>,
    /// A name with another value than it has: what advice tries.
    pub instead: Option<(&'a str, u64)>,
}

/// The largest value of an expression over the formats and dtypes that the instance must cover.
#[derive(Clone, Debug)]
pub(super) struct Worst {
    pub value: u64,
    /// Each format or dtype that the expression depends on, and the one at which it is largest.
    pub at: Vec<(&'static str, &'static str)>,
}

impl<'a> Instance<'a> {
    pub fn of(one: &'a Selected<'_>) -> Self {
        let (chosen, few) = match &one.need.op.kind {
            OpKind::Device(op) => (op.chosen.as_slice(), op.when == When::Few),
            _ => (&[][..], false),
        };
        let buckets = one.template.params.iter().find_map(|(_, rule)| rule.value.bucket.as_ref());
        let buckets = buckets.map_or(&[][..], |buckets| &buckets.value);
        Self { requirement: &one.need.requirement, tuned: &one.tuned, chosen, buckets, few, bucket: None, instead: None }
    }

    /// The number of a parameter, of the op or tuned.
    pub fn number(&self, name: &str) -> Option<u64> {
        if let Some((_, value)) = self.instead.filter(|(instead, _)| *instead == name) {
            return Some(value);
        }
        if name == BUCKET && self.bucket.is_some() {
            return self.bucket;
        }
        let chosen = self.chosen.iter().find(|(chosen, _)| *chosen == name).map(|(_, most)| *most);
        match self.requirement.params.iter().find(|(param, _)| *param == name) {
            Some((_, ParamSet::Int(value))) => Some(*value),
            Some((_, ParamSet::Names(_))) => None,
            None => self.tuned.iter().find(|(param, _)| param == name).map(|(_, value)| *value).or(chosen),
        }
    }

    /// The largest value over all formats and dtypes, and over all buckets at their most rows.
    pub fn worst(&self, expr: &Expr, step: StepDims) -> Result<Worst, EvalError> {
        let mut worst: Option<Worst> = None;
        for (bucket, step) in self.by_bucket(step) {
            let value = bucket.worst(expr, step)?;
            if worst.as_ref().is_none_or(|known| value.value > known.value) {
                worst = Some(value);
            }
        }
        if let Some(worst) = worst {
            return Ok(worst);
        }
        let mut worst: Option<Worst> = None;
        for at in self.choices(expr) {
            let value = self.value(expr, step, &at)?;
            if worst.as_ref().is_none_or(|known| value > known.value) {
                worst = Some(Worst { value, at });
            }
        }
        // Without any choice there is the empty one.
        worst.map_or_else(|| self.value(expr, step, &[]).map(|value| Worst { value, at: Vec::new() }), Ok)
    }

    /// The smallest value over all formats and dtypes.
    pub fn least(&self, expr: &Expr, step: StepDims) -> Result<u64, EvalError> {
        let of_buckets: Vec<u64> =
            self.by_bucket(step).into_iter().map(|(bucket, step)| bucket.least(expr, step)).collect::<Result<_, _>>()?;
        if let Some(least) = of_buckets.into_iter().min() {
            return Ok(least);
        }
        self.choices(expr).iter().try_fold(u64::MAX, |least, at| Ok(least.min(self.value(expr, step, at)?)))
    }

    /// An instance per bucket, each with the step that is launched with it.
    fn by_bucket(&self, step: StepDims) -> Vec<(Self, StepDims)> {
        let buckets = match (self.bucket, self.few) {
            (Some(_), _) => Vec::new(),
            (None, true) if self.buckets.is_empty() => vec![FEW_ROWS as u64],
            (None, _) => self.buckets.iter().map(|rows| rows.value).collect(),
        };
        buckets.into_iter().map(|rows| (Self { bucket: Some(rows), ..*self }, step.at_most(rows))).collect()
    }

    fn value(&self, expr: &Expr, step: StepDims, at: &[(&str, &str)]) -> Result<u64, EvalError> {
        expr.eval_u64(&|name: &str| -> Option<Dim> {
            if let Some(dim) = step.get(name) {
                return Some(dim);
            }
            if let Some((_, name)) = at.iter().find(|(param, _)| *param == name) {
                return StorageFormat::parse(name).map(Dim::from);
            }
            self.number(name).map(Dim::Int)
        })
    }

    /// Every way to choose one name for each format or dtype that the expression uses.
    fn choices(&self, expr: &Expr) -> Vec<Vec<(&'static str, &'static str)>> {
        let used = expr.names();
        let mut choices = vec![Vec::new()];
        for (param, set) in &self.requirement.params {
            if let ParamSet::Names(names) = set
                && used.contains(param)
            {
                let with = |name: &&'static str| {
                    choices.iter().map(|c: &Vec<_>| c.iter().copied().chain([(*param, *name)]).collect()).collect::<Vec<Vec<_>>>()
                };
                choices = names.iter().flat_map(with).collect();
            }
        }
        choices
    }
}
