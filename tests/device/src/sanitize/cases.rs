//! Which cases of an instance run, and what of their memory nobody writes before.

use std::collections::BTreeMap;

use tenon_device_cases::{Case, Expected, Value, from_bf16, from_e4m3};

use super::settings::Reads;

/// The cases of an instance that are run, at most so many: the smallest, by the memory of their arguments, and after those that break no
/// contract those that do.
pub fn smallest(mut cases: Vec<Case>, most: usize) -> Vec<Case> {
    let bytes = |case: &Case| -> usize { case.args.iter().filter_map(|(_, value)| value.bytes()).sum() };
    cases.sort_by_key(|case| (case.error != 0, bytes(case)));
    cases.truncate(most);
    cases
}

/// The arguments of a template that a kernel may write, and in this case does not read: nobody has to have written them.
pub fn unwritten(args: &[(String, String)], reads: &[Reads], template: &str, case: &Case) -> Vec<String> {
    let scalars: BTreeMap<&str, i64> =
        case.args.iter().filter_map(|(name, value)| if let Value::Int(n) = value { Some((*name, *n)) } else { None }).collect();
    let reads = |arg: &str| {
        let of_arg = reads.iter().filter(|read| read.template == template && read.arg == arg);
        of_arg.into_iter().any(|read| read.when.iter().all(|(name, wanted)| scalars.get(name.as_str()) == Some(wanted)))
    };
    let is_written = |ty: &str| ty.ends_with('*') && !ty.starts_with("const ");
    args.iter().filter(|(name, ty)| is_written(ty) && !reads(name)).map(|(name, _)| name.clone()).collect()
}

/// What an output that nobody has written must hold: where it stays as it was, anything may stand.
pub fn of_unwritten(expected: &Expected, before: &Value) -> Expected {
    let before: Vec<f64> = match before {
        Value::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        Value::Bf16(v) => v.iter().map(|&x| from_bf16(x)).collect(),
        Value::I32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        Value::U32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        Value::Bytes(v) => v.iter().map(|&x| from_e4m3(x)).collect(),
        _ => vec![0.0; expected.values.len()],
    };
    let mut changed = expected.clone();
    for (value, before) in changed.values.iter_mut().zip(before) {
        if *value == before {
            *value = f64::NAN;
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, len: usize, mode: i64) -> Case {
        let args = vec![("y", Value::F32(vec![0.0; len])), ("mode", Value::Int(mode)), ("step", Value::Null)];
        Case { name: name.to_owned(), dims: Vec::new(), args, expected: Vec::new(), error: 0 }
    }

    #[test]
    fn the_smallest_cases_come_first_and_broken_contracts_last() {
        let names = |most| -> Vec<String> {
            let broken = Case { error: 2, ..case("e", 1, 0) };
            let all = vec![case("a", 30, 0), case("b", 10, 0), broken, case("c", 20, 0), case("d", 10, 0)];
            smallest(all, most).into_iter().map(|case| case.name).collect()
        };
        assert_eq!(names(9), ["b", "d", "c", "a", "e"]);
        assert_eq!(names(2), ["b", "d"]);
    }

    #[test]
    fn what_a_kernel_reads_is_written_before_it() {
        let args = [("x", "const bf16*"), ("y", "void*"), ("room", "float*"), ("mode", "int")];
        let args: Vec<(String, String)> = args.iter().map(|(name, ty)| ((*name).to_owned(), (*ty).to_owned())).collect();
        let read = |template: &str, when: &[(&str, i64)]| Reads {
            template: template.to_owned(),
            arg: "y".to_owned(),
            when: when.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            why: String::new(),
        };
        let adds = [read("linear", &[("mode", 2)])];
        assert_eq!(unwritten(&args, &adds, "linear", &case("", 1, 0)), ["y", "room"]);
        assert_eq!(unwritten(&args, &adds, "linear", &case("", 1, 2)), ["room"]);
        assert_eq!(unwritten(&args, &adds, "other", &case("", 1, 2)), ["y", "room"]);
        assert_eq!(unwritten(&args, &[read("linear", &[])], "linear", &case("", 1, 0)), ["room"]);
    }

    #[test]
    fn what_stays_is_not_judged_where_nobody_wrote_it() {
        let expected = Expected { arg: "y", values: vec![1.0, 2.0, f64::NAN], bounds: vec![0.0; 3], depth: 1 };
        let changed = of_unwritten(&expected, &Value::Bf16(vec![0x3f80, 0x3f80, 0x3f80]));
        assert!(changed.values[0].is_nan() && changed.values[1] == 2.0 && changed.values[2].is_nan());
    }
}
