//! What is made of a compiler's answers, with a script in place of nvcc that says what each source asks it to.

use super::*;

/// Answers like nvcc: `// says:` lines of a source go to its output, `// refuses` ends it with an error, and the code is the source itself.
const SCRIPT: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "fake 13.0"; exit; fi
while [ $# -gt 0 ]; do
    case "$1" in
        -o) out="$2"; shift;;
        *.cu) source="$1";;
        -D*) echo "$1" >> "${0%/*}/defines";;
    esac
    shift
done
echo "${source##*/}" >> "${0%/*}/calls"
sed -n 's,^// says: ,,p' "$source" >&2
if grep -q '^// refuses' "$source"; then exit 1; fi
cp "$source" "$out"
"#;

/// A folder with the script, and the compiler that it is.
struct Fake {
    folder: tempfile::TempDir,
    nvcc: Nvcc,
}

impl Fake {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nvcc");
        // Written by another process: a file that this one has open for writing cannot be run while another test starts a program.
        let write = r#"printf %s "$1" > "$2" && chmod +x "$2""#;
        let written = Command::new("sh").args(["-c", write, "sh", SCRIPT]).arg(&path).status().unwrap();
        assert!(written.success());
        let nvcc = Nvcc::new(&path, &folder.path().join("cache")).unwrap();
        Self { folder, nvcc }
    }

    /// The sources that were compiled, in order of their names: several are compiled at once.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        let mut calls: Vec<String> = text.lines().map(str::to_owned).collect();
        calls.sort();
        calls
    }

    fn failures(&self, jobs: &[Job]) -> Vec<String> {
        let failures = self.nvcc.compile(jobs, 2).unwrap_err();
        failures.iter().map(Failure::to_string).collect()
    }
}

fn job(name: &str, source: &str) -> Job {
    let (name, source) = (name.to_owned(), source.to_owned());
    Job { name, source, include: Vec::new(), max_spill_bytes: 0, dynamic_shared_bytes: 0 }
}

const SPILLS: &str = "// says:     24 bytes stack frame, 20 bytes spill stores, 20 bytes spill loads\n";
const STATIC: &str = "// says: ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem\n";
const REFUSED: &str = "\
// says: ptxas info    : 0 bytes gmem
// says: k.cu(4): error: static assertion failed with \"rows of whole 16-byte units\"
// refuses
";

#[test]
fn what_is_within_its_limits_is_machine_code() {
    let fake = Fake::new();
    let spills = Job { max_spill_bytes: 24, ..job("spills", SPILLS) };
    let shared = Job { dynamic_shared_bytes: SHARED_BYTES - 4096, ..job("shared", STATIC) };
    let cubins = fake.nvcc.compile(&[spills, shared, job("plain", "int x;")], 2).unwrap();
    let names: Vec<&str> = cubins.iter().map(|cubin| cubin.name.as_str()).collect();
    assert_eq!(names, ["spills", "shared", "plain"], "in the order of the jobs");
    assert_eq!((cubins[0].usage.stack_bytes, cubins[1].usage.shared_bytes), (24, 4096));
    assert_eq!(cubins[2].bytes, b"int x;");
}

#[test]
fn spills_over_the_allowance_are_refused() {
    let fake = Fake::new();
    let job = Job { max_spill_bytes: 16, ..job("linear_q4_k_r16", SPILLS) };
    assert_eq!(
        fake.failures(&[job]),
        ["error[kernel-spills]: linear_q4_k_r16 keeps 24 bytes of each thread in local memory, and its template allows 16\n\
          help: choose smaller tiles in KERNEL.toml, or raise `max_spill_bytes` in its TEMPLATE.toml, with the reason"]
    );
}

#[test]
fn static_and_dynamic_shared_memory_are_one_sum() {
    let fake = Fake::new();
    // Either alone would be within the limit.
    let job = Job { dynamic_shared_bytes: SHARED_BYTES - 4095, ..job("attention_decode_bf16_hd512_g64_tk64", STATIC) };
    assert_eq!(
        fake.failures(&[job]),
        [
            "error[kernel-shared-memory]: attention_decode_bf16_hd512_g64_tk64 needs 232449 bytes of shared memory, and a block on sm_90a \
          has 232448\nhelp: choose smaller tiles or fewer stages in KERNEL.toml"
        ]
    );
}

#[test]
fn a_refusal_is_told_with_the_words_of_nvcc() {
    let fake = Fake::new();
    let told = "error[kernel-refused]: nvcc does not compile k\n\
                k.cu(4): error: static assertion failed with \"rows of whole 16-byte units\"";
    assert_eq!(fake.failures(&[job("k", REFUSED)]), [told]);
    // What was refused is no result: it is asked for again.
    assert_eq!(fake.failures(&[job("k", REFUSED)]), [told]);
    assert_eq!(fake.calls(), ["k.cu", "k.cu"]);
}

#[test]
fn the_second_run_takes_results_of_the_first() {
    let fake = Fake::new();
    let jobs = [job("a", STATIC), job("b", "int b;")];
    let first = fake.nvcc.compile(&jobs, 2).unwrap();
    let second = fake.nvcc.compile(&jobs, 2).unwrap();
    assert_eq!(fake.calls(), ["a.cu", "b.cu"]);
    assert!(first.iter().all(|cubin| !cubin.cached) && second.iter().all(|cubin| cubin.cached));
    for (first, second) in first.iter().zip(&second) {
        assert_eq!((&first.name, &first.bytes, first.usage), (&second.name, &second.bytes, second.usage));
    }
    // Another source of the same name is another job.
    fake.nvcc.compile(&[job("b", "int other;")], 1).unwrap();
    assert_eq!(fake.calls(), ["a.cu", "b.cu", "b.cu"]);
}

#[test]
fn a_build_with_other_defines_is_another_build() {
    let fake = Fake::new();
    let jobs = [job("k", "int x;")];
    fake.nvcc.compile(&jobs, 1).unwrap();
    let checked = fake.nvcc.clone().with_defines(["CHECKED", "LEVEL=2"]);
    assert!(!checked.compile(&jobs, 1).unwrap()[0].cached, "it would be the machine code of the other build");
    assert!(fake.nvcc.compile(&jobs, 1).unwrap()[0].cached);
    assert!(fake.nvcc.clone().with_defines([]).compile(&jobs, 1).unwrap()[0].cached, "without defines it is the same build");
    assert_eq!(fs::read_to_string(fake.folder.path().join("defines")).unwrap(), "-DCHECKED\n-DLEVEL=2\n");
}

#[test]
fn results_from_the_cache_are_judged_again() {
    let fake = Fake::new();
    let allowed = Job { max_spill_bytes: 24, ..job("k", SPILLS) };
    fake.nvcc.compile(std::slice::from_ref(&allowed), 1).unwrap();
    let told = fake.failures(&[Job { max_spill_bytes: 8, ..allowed }]);
    assert!(told[0].starts_with("error[kernel-spills]: k keeps 24 bytes"), "{told:?}");
    assert_eq!(fake.calls(), ["k.cu"], "what a template allows does not change the code");
}

#[test]
fn everything_that_is_wrong_is_told_together() {
    let fake = Fake::new();
    let large = Job { dynamic_shared_bytes: SHARED_BYTES + 1, ..job("large", "int y;") };
    let jobs = [job("good", "int x;"), job("refused", REFUSED), job("spills", SPILLS), large];
    let told: Vec<String> = fake.failures(&jobs).iter().map(|text| text.lines().next().unwrap_or_default().to_owned()).collect();
    assert_eq!(
        told,
        [
            "error[kernel-refused]: nvcc does not compile refused",
            "error[kernel-spills]: spills keeps 24 bytes of each thread in local memory, and its template allows 0",
            "error[kernel-shared-memory]: large needs 232449 bytes of shared memory, and a block on sm_90a has 232448",
        ]
    );
    assert_eq!(fake.calls(), ["good.cu", "large.cu", "refused.cu", "spills.cu"], "none is left out for another's fault");
    let each = fake.nvcc.each(&jobs, 2);
    assert_eq!(each.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, false]);
}

#[test]
fn a_compiler_that_does_not_run_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = Nvcc::new(&folder.path().join("none"), folder.path()).unwrap_err();
    assert!(error.contains("none: "), "{error}");
}
