//! Which instances of a template are mutated: the smallest, then those that have something new.

use std::collections::BTreeSet;

use tenon_device_cases::Param;

use crate::instance::Instance;

/// At most so many instances are tried for one mutant.
const MOST: usize = 16;

/// The order in which instances of one template are tried. After the smallest comes whichever adds most values of parameters, the
/// smaller where two add as many, until there is nothing to add.
pub fn choose<'a>(instances: &[&'a Instance]) -> Vec<&'a Instance> {
    let mut left: Vec<&Instance> = instances.to_vec();
    left.sort_by(|a, b| size(a).total_cmp(&size(b)));
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut chosen = Vec::new();
    while !left.is_empty() && chosen.len() < MOST {
        let gain = |instance: &Instance| values(instance).filter(|value| !seen.contains(value)).count();
        // The first of the best: the smallest. At the start, the smallest of all.
        let best = left.iter().map(|i| gain(i)).max().unwrap_or(0);
        let at = if chosen.is_empty() { 0 } else { left.iter().position(|i| gain(i) == best).unwrap_or(0) };
        if !chosen.is_empty() && best == 0 {
            break;
        }
        let instance = left.remove(at);
        seen.extend(values(instance));
        chosen.push(instance);
    }
    chosen
}

fn values(instance: &Instance) -> impl Iterator<Item = String> + '_ {
    instance.params.0.iter().map(|(name, value)| format!("{name} {value:?}"))
}

fn size(instance: &Instance) -> f64 {
    instance.params.0.iter().map(|(_, value)| if let Param::Int(n) = value { *n as f64 } else { 1.0 }).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenon_device_cases::Params;

    #[test]
    fn the_smallest_comes_first_and_every_value_comes() {
        let one = |dtype: &str, dim: u64| Instance {
            name: format!("{dtype}{dim}"),
            template: 0,
            params: Params(vec![("dtype".to_owned(), Param::Name(dtype.to_owned())), ("dim".to_owned(), Param::Int(dim))]),
        };
        let all = [one("a", 64), one("a", 8), one("b", 64), one("b", 8), one("b", 16)];
        let all: Vec<&Instance> = all.iter().collect();
        let names: Vec<&str> = choose(&all).iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["a8", "b16", "a64"]);
        assert!(choose(&[]).is_empty());
    }
}
