//! Mutants that are made of a template's text: barriers removed, bounds one further, sums in fewer bits, numbers of the instance one step
//! larger and smaller.

use std::collections::BTreeSet;
use std::path::Path;

use crate::template::{Choices, Template};

use super::change::{Change, Mutant, Origin, place, read};

/// Where the own files of a template have fewer places than this, those of the headers that they include count too.
const FEW: usize = 4;

/// At most `most` mutants of a template, always the same ones: each operator gets as many as the others while it has places, and its places
/// are spread over the files.
///
/// # Errors
/// A file that cannot be read.
pub fn automatic(templates: &Path, template: &Template, most: usize) -> Result<Vec<Mutant>, String> {
    let (mut barriers, mut bounds, mut accumulators) = (Vec::new(), Vec::new(), Vec::new());
    let entry = format!("{}.cu.jinja", template.name);
    let mut files = vec![entry.clone(), format!("{}.cuh", template.name)];
    let mut seen: BTreeSet<String> = files.iter().cloned().collect();
    while let Some(file) = (!files.is_empty()).then(|| files.remove(0)) {
        let text = read(templates, &template.name, &file)?;
        let is_own = !file.starts_with("include/");
        if is_own || barriers.len() + bounds.len() + accumulators.len() < FEW {
            barriers.extend(barriers_of(&file, &text));
            bounds.extend(bounds_of(&file, &text));
            accumulators.extend(accumulators_of(&file, &text));
        }
        // Own headers first, as nvcc searches them.
        for header in text.lines().filter_map(|line| line.strip_prefix("#include \"")?.split('"').next()) {
            let own = templates.join(place(&template.name, header)).is_file();
            let header = if own { header.to_owned() } else { format!("include/{header}") };
            if is_own && seen.insert(header.clone()) {
                files.push(header);
            }
        }
    }
    let mut parameters = steps(template)?;
    parameters.extend(constants_of(&entry, &read(templates, &template.name, &entry)?));
    let lists = [barriers, bounds, accumulators, parameters];
    let shares = shares(lists.each_ref().map(Vec::len), most);
    Ok(lists.into_iter().zip(shares).flat_map(|(list, share)| spread(list, share)).collect())
}

/// How many of each list, `most` together: one of each in turn, while it has more.
fn shares<const N: usize>(lengths: [usize; N], most: usize) -> [usize; N] {
    let mut shares = [0; N];
    while shares.iter().sum::<usize>() < most && shares != lengths {
        for (share, length) in shares.iter_mut().zip(lengths) {
            *share += usize::from(*share < length);
        }
    }
    // The last turn may have given some too many.
    while shares.iter().sum::<usize>() > most {
        if let Some(last) = shares.iter_mut().max_by_key(|share| **share) {
            *last -= 1;
        }
    }
    shares
}

/// As many of a list, evenly spread.
fn spread<T: Clone>(list: Vec<T>, most: usize) -> Vec<T> {
    if list.len() <= most { list } else { (0..most).map(|i| list[i * list.len() / most].clone()).collect() }
}

/// Each number that is a parameter of the instance, one step up and one down.
fn steps(template: &Template) -> Result<Vec<Mutant>, String> {
    let path = template.folder.join("TEMPLATE.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let file: toml::Table = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let by = |name: &str| file.get("params")?.get(name)?.get("multiple_of")?.as_integer();
    let mutants = template.params.iter().flat_map(|(name, choices)| {
        let values = match choices {
            Choices::Names(_) => return Vec::new(),
            Choices::Tunable(values) | Choices::Bucket(values) => values.clone(),
            Choices::Dimension => Vec::new(),
        };
        let step = |(suffix, back)| {
            let change = Change::Step { name: name.clone(), back, by: by(name).map_or(1, |n| n as u64), values: values.clone() };
            let breaks = format!("the kernel has the `{name}` of its launch");
            Mutant::made(format!("step-{name}{suffix}"), Origin::Parameter, change, breaks)
        };
        [("", false), ("-back", true)].map(step).to_vec()
    });
    Ok(mutants.collect())
}

/// Each `constexpr` of the entry that is a plain number, one larger and one smaller.
fn constants_of(file: &str, text: &str) -> Vec<Mutant> {
    let code = code(text);
    let mut mutants = Vec::new();
    let mut start = 0;
    for line in code.split_inclusive('\n') {
        let is_constant = line.trim_start().starts_with("constexpr ") || line.contains(" constexpr ");
        for (at, _) in line.match_indices(" = ").filter(|_| is_constant) {
            let rest = &line[at + 3..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let ends = rest[digits..].starts_with([',', ';']);
            let name = line[..at].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            if let (true, Ok(value)) = (ends, rest[..digits].parse::<u64>()) {
                for (suffix, other) in [("", Some(value + 1)), ("-back", value.checked_sub(1))] {
                    let Some(replace) = other.map(|other| other.to_string()) else { continue };
                    let change = Change::Splice { file: file.to_owned(), at: start + at + 3, len: digits, replace };
                    let breaks = format!("{name} is {value}");
                    mutants.push(Mutant::made(format!("step-{name}{suffix}"), Origin::Parameter, change, breaks));
                }
            }
        }
        start += line.len();
    }
    mutants
}

/// A type that a local variable of f32 may have instead: each value that it gets is rounded to bf16.
const NARROW: &str = "struct Narrow { \
    float value; \
    __device__ Narrow(float x = 0.0f) : value(__uint_as_float((__float_as_uint(x) + 0x8000u) & 0xffff0000u)) {} \
    __device__ operator float() const { return value; } \
    __device__ Narrow& operator+=(float x) { return *this = Narrow(value + x); } \
    __device__ Narrow& operator-=(float x) { return *this = Narrow(value - x); } \
    __device__ Narrow& operator*=(float x) { return *this = Narrow(value * x); } }";

/// Each variable that starts from zero: one of f32 has the bits of bf16, and one of double those of f32.
fn accumulators_of(file: &str, text: &str) -> Vec<Mutant> {
    let code = code(text);
    let mut mutants: Vec<(usize, Mutant)> = Vec::new();
    for (word, zeros, replace) in [("float", ["= 0.0f", "= {}"], NARROW), ("double", ["= 0.0", "= {}"], "float")] {
        for (at, _) in code.match_indices(&format!("{word} ")) {
            let before = code[..at].trim_end();
            // The beginning of a statement, which a constant or a parameter is not.
            let starts = before.ends_with([';', '{', '}', ')']) || before.rsplit('\n').next().is_some_and(|l| l.starts_with('#'));
            let declared = code[at..].split(';').next().unwrap_or_default();
            if !starts || declared.contains(['(', '&', '\n']) || !zeros.iter().any(|zero| declared.contains(zero)) {
                continue;
            }
            let change = Change::Splice { file: file.to_owned(), at, len: word.len(), replace: replace.to_owned() };
            let breaks = format!("sums in line {} of {file} are kept in {word}: {declared}", line(text, at));
            mutants.push((at, Mutant::made(String::new(), Origin::Accumulator, change, breaks)));
        }
    }
    mutants.sort_by_key(|(at, _)| *at);
    named("narrow", file, text, mutants)
}

fn barriers_of(file: &str, text: &str) -> Vec<Mutant> {
    let code = code(text);
    let calls = ["__syncthreads()", "__syncwarp()"].into_iter().flat_map(|call| code.match_indices(call));
    let mutant = |(at, call): (usize, &str)| {
        let change = Change::Splice { file: file.to_owned(), at, len: call.len(), replace: "((void)0)".to_owned() };
        let breaks = format!("{call} separates what stands before line {} of {file} from what follows", line(text, at));
        (at, Mutant::made(String::new(), Origin::Barrier, change, breaks))
    };
    named("no-barrier", file, text, calls.map(mutant).collect())
}

/// Each `<` in the condition of an `if` or a loop.
fn bounds_of(file: &str, text: &str) -> Vec<Mutant> {
    let code = code(text);
    let mut mutants = Vec::new();
    for word in ["if (", "while (", "for ("] {
        for (at, _) in code.match_indices(word) {
            let is_word = !code[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let Some((start, end)) = condition(&code, at + word.len(), word == "for (").filter(|_| is_word) else { continue };
            for (less, _) in code[start..end].match_indices(" < ") {
                let at = start + less + 1;
                let change = Change::Splice { file: file.to_owned(), at, len: 1, replace: "<=".to_owned() };
                let breaks = format!("the bound in line {} of {file}: {}", line(text, at), code[start..end].trim());
                mutants.push((at, Mutant::made(String::new(), Origin::Bound, change, breaks)));
            }
        }
    }
    mutants.sort_by_key(|(at, _)| *at);
    mutants.dedup_by_key(|(at, _)| *at);
    named("bound", file, text, mutants)
}

/// With the names of their lines, each of which one has alone.
fn named(operator: &str, file: &str, text: &str, mutants: Vec<(usize, Mutant)>) -> Vec<Mutant> {
    let mut names = BTreeSet::new();
    let named = |(at, mutant): (usize, Mutant)| {
        let mut name = format!("{operator}-{}", of_line(file, text, at));
        while !names.insert(name.clone()) {
            name.push_str("-again");
        }
        Mutant { name, ..mutant }
    };
    mutants.into_iter().map(named).collect()
}

/// From where to where a condition goes whose `(` is just before `from`; that of a `for` is its second part.
fn condition(code: &str, from: usize, is_for: bool) -> Option<(usize, usize)> {
    let (mut depth, mut semicolons) = (0, Vec::new());
    for (i, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                return match (is_for, semicolons.as_slice()) {
                    (false, _) => Some((from, i)),
                    (true, [first, second]) => Some((*first, *second)),
                    (true, _) => None,
                };
            }
            b')' | b']' | b'}' => depth -= 1,
            b';' if depth == 0 => semicolons.push(i),
            _ => {}
        }
    }
    None
}

/// The text with blanks for comments and for what is between quotes, byte for byte.
fn code(text: &str) -> String {
    let mut code = text.as_bytes().to_vec();
    let mut i = 0;
    while i < code.len() {
        let end = match &text.as_bytes()[i..] {
            [b'/', b'/', ..] => text[i..].find('\n').map_or(code.len(), |n| i + n),
            [b'/', b'*', ..] => text[i..].find("*/").map_or(code.len(), |n| i + n + 2),
            [b'"', rest @ ..] => rest.iter().position(|b| *b == b'"').map_or(code.len(), |n| i + n + 2),
            _ => {
                i += 1;
                continue;
            }
        };
        code[i..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        i = end;
    }
    // Bytes that are not blanked are whole characters of the text.
    String::from_utf8_lossy(&code).into_owned()
}

fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// File and line as a name of a folder.
fn of_line(file: &str, text: &str, at: usize) -> String {
    let stem = file.trim_start_matches("include/").split('.').next().unwrap_or_default();
    let entry = if file.ends_with(".jinja") { "-entry" } else { "" };
    format!("{stem}{entry}-{}", line(text, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
// if (a < b) __syncthreads();
template <int N> void f(int n) {
    for (int i = 0 < 1; i < n; i += 1 < 2) x();
    if (n < 3 && g(a < b)) __syncthreads();
    if constexpr (N < 3) __syncwarp();
    const bool valid = n < N;
    say(\"if (n < 3)\"); while (n << 1 < N) y<int>(n);
}
";

    #[test]
    fn bounds_are_those_of_conditions() {
        let lines: Vec<String> = bounds_of("op.cuh", TEXT).into_iter().map(|m| m.name).collect();
        assert_eq!(lines, ["bound-op-3", "bound-op-4", "bound-op-4-again", "bound-op-7"]);
        let Change::Splice { at, len, .. } = bounds_of("op.cuh", TEXT)[0].change else { panic!() };
        assert_eq!(&TEXT[at - 2..at + len + 2], "i < n");
    }

    #[test]
    fn barriers_in_comments_do_not_count() {
        let names: Vec<String> = barriers_of("op.cuh", TEXT).into_iter().map(|m| m.name).collect();
        assert_eq!(names, ["no-barrier-op-4", "no-barrier-op-5"]);
    }

    #[test]
    fn constants_are_plain_numbers() {
        let text = "constexpr int DIM = @{ dim }@, THREADS = 128, OTHER = 4 * DIM;\nint x = 3;\n";
        let all = constants_of("op.cu.jinja", text);
        let of = |mutant: &Mutant| {
            let Change::Splice { at, len, replace, .. } = &mutant.change else { panic!() };
            (mutant.name.clone(), text[*at..at + len].to_owned(), replace.clone())
        };
        let step = |name: &str, to: &str| (name.to_owned(), "128".to_owned(), to.to_owned());
        assert_eq!(all.iter().map(of).collect::<Vec<_>>(), [step("step-THREADS", "129"), step("step-THREADS-back", "127")]);
    }

    #[test]
    fn sums_are_variables_that_start_from_zero() {
        let text = "\
void f(float x = 0.0f) {
    float sum = 0.0f, most = x;
    const float zero = 0.0f;
#pragma unroll
    float parts[4] = {};
    float y = x + 1.0f; double all = 0.0;
    for (int i = 0; i < 4; i++) float(&to)[4] = out[i];
}
";
        let all = accumulators_of("op.cuh", text);
        let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["narrow-op-2", "narrow-op-5", "narrow-op-6"]);
        let Change::Splice { at, len, replace, .. } = &all[2].change else { panic!() };
        assert_eq!((&text[*at..at + len], replace.as_str()), ("double", "float"));
    }

    #[test]
    fn operators_share_what_there_is() {
        assert_eq!(shares([10, 1, 0, 10], 6), [3, 1, 0, 2]);
        assert_eq!(shares([1, 1, 0, 1], 6), [1, 1, 0, 1]);
        assert_eq!(shares([9, 9, 9, 9], 6).iter().sum::<usize>(), 6);
        assert_eq!(shares([2, 2], 0), [0, 0]);
    }

    #[test]
    fn a_selection_is_spread() {
        assert_eq!(spread((0..10).collect(), 4), [0, 2, 5, 7]);
        assert_eq!(spread(vec![1, 2], 4), [1, 2]);
        assert!(spread(vec![1, 2], 0).is_empty());
    }
}
