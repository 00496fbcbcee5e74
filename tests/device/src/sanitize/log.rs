//! Reads what compute-sanitizer says, among the marks that the process under it prints.

use serde::Serialize;

/// What is asked of it, so that it says what is read here: every report, and short ones.
pub const OPTIONS: [&str; 6] = ["--show-backtrace", "no", "--print-limit", "1000000", "--destroy-on-device-error", "kernel"];

/// What stands before every line of the tool.
const PREFIX: &str = "========= ";
/// What stands before the name of a case.
const MARK: &str = "case ";

/// What a tool said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// Errors by its own count; none where it has no summary.
    pub errors: Option<u64>,
    /// What it reports, in order.
    pub records: Vec<Record>,
}

/// Reports that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The kernel, where one is named.
    pub kernel: Option<String>,
    /// The case that the process had last begun.
    pub case: Option<String>,
    /// What it is, and where.
    pub what: String,
    /// How many threads, or hazards.
    pub count: usize,
}

/// What a process prints when it begins a case.
#[cfg(any(test, feature = "cuda"))]
pub fn mark(case: &str) -> String {
    format!("{MARK}{case}")
}

/// The version that `--version` says.
pub fn version(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim().strip_prefix("Version ")).map(str::to_owned)
}

/// Reads a log.
pub fn read(text: &str) -> Log {
    let mut log = Log::default();
    let mut case: Option<String> = None;
    let mut open: Option<Record> = None;
    for line in text.lines() {
        let Some(said) = line.strip_prefix(PREFIX) else {
            case = line.strip_prefix(MARK).map(str::to_owned).or(case);
            continue;
        };
        if let Some(errors) = summary(said) {
            log.errors = Some(log.errors.unwrap_or(0) + errors);
        } else if said.starts_with(' ') {
            // Of what follows the first line of a report, the first place is where it happened.
            let unplaced = open.as_mut().filter(|record| record.kernel.is_none());
            if let (Some(record), Some(place)) = (unplaced, said.trim().strip_prefix("at ")) {
                record.kernel = kernel(place);
                record.what = format!("{}, at {}", record.what, place.split(' ').next().unwrap_or(place));
            }
        } else if !said.trim().is_empty() && !is_about_itself(said) {
            log.records.extend(open.take());
            let kernel = said.split(" at ").nth(1).and_then(kernel);
            open = Some(Record { kernel, case: case.clone(), what: said.trim().to_owned(), count: 1 });
        }
    }
    log.records.extend(open);
    let mut alike: Vec<Record> = Vec::new();
    for record in log.records {
        let known = alike.iter_mut().find(|r| (&r.kernel, &r.case, &r.what) == (&record.kernel, &record.case, &record.what));
        match known {
            Some(known) => known.count += 1,
            None => alike.push(record),
        }
    }
    log.records = alike;
    log
}

/// The errors of a summary; warnings of racecheck are errors here.
fn summary(said: &str) -> Option<u64> {
    let (name, rest) = said.split_once(" SUMMARY: ")?;
    let first = |text: &str| text.trim_start_matches('(').split(' ').next()?.parse::<u64>().ok();
    match name {
        // A second line says how many of these were not printed.
        "ERROR" if rest.contains("were not printed") => None,
        "ERROR" | "RACECHECK" => first(rest),
        _ => None,
    }
}

/// Lines that are no report: what the tool is, and how the program ended, of which there is its own word.
fn is_about_itself(said: &str) -> bool {
    let own = ["COMPUTE-SANITIZER", "Target application returned an error", "ERROR SUMMARY", "LEAK SUMMARY"];
    // A kernel that has more errors than fit the tool's buffer has been reported by then.
    let overflows = ["errors were skipped (error buffer overflow)", "Error buffer overflow has been detected"];
    own.iter().any(|start| said.starts_with(start)) || overflows.iter().any(|text| said.contains(text))
}

/// The kernel of `name+0x90 in file.cu:11`.
fn kernel(place: &str) -> Option<String> {
    let (name, _) = place.trim().split_once("+0x")?;
    (!name.is_empty() && !name.contains(' ')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kernel: Option<&str>, case: Option<&str>, what: &str, count: usize) -> Record {
        Record { kernel: kernel.map(str::to_owned), case: case.map(str::to_owned), what: what.to_owned(), count }
    }

    #[test]
    fn memcheck_names_the_access() {
        let text = "\
========= COMPUTE-SANITIZER
case ragged tail
========= Invalid __global__ read of size 4 bytes
=========     at rms_norm_f32_d72+0x90 in probe.cu:11
=========     by thread (100,0,0) in block (0,0,0)
=========     Access to 0x7f8ad4c00190 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f8ad4c00000 of size 400 bytes
========= 
========= Invalid __global__ read of size 4 bytes
=========     at rms_norm_f32_d72+0x90 in probe.cu:11
=========     by thread (101,0,0) in block (0,0,0)
========= 
========= 2432 errors were skipped (error buffer overflow).
========= Warning: Error buffer overflow has been detected. Some records have been dropped
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
";
        let what = "Invalid __global__ read of size 4 bytes, at rms_norm_f32_d72+0x90";
        let expected = record(Some("rms_norm_f32_d72"), Some("ragged tail"), what, 2);
        assert_eq!(read(text), Log { errors: Some(2), records: vec![expected.clone()] });
        let marked = format!("{}\n{}\n{text}", mark("one row"), mark("another"));
        assert_eq!(read(&marked).records, [expected]);
    }

    #[test]
    fn racecheck_names_both_accesses() {
        let text = "\
========= COMPUTE-SANITIZER
========= Error: Race reported between Read access at delta_prefill_kd24_vd40_c64+0x1540
=========     and Write access at delta_prefill_kd24_vd40_c64+0xe930 [32 hazards]
=========     and Write access at delta_prefill_kd24_vd40_c64+0xe980 [32 hazards]
========= 
========= Warning: Race reported between Write access at delta_prefill_kd24_vd40_c64+0x1a90
=========     and Write access at delta_prefill_kd24_vd40_c64+0xe8a0 [32 hazards]
========= 
========= RACECHECK SUMMARY: 2 hazards displayed (1 errors, 1 warnings)
";
        let log = read(text);
        assert_eq!(log.errors, Some(2));
        let name = Some("delta_prefill_kd24_vd40_c64");
        let first = "Error: Race reported between Read access at delta_prefill_kd24_vd40_c64+0x1540";
        assert_eq!(log.records[0], record(name, None, first, 1));
        assert_eq!(log.records.len(), 2);
    }

    #[test]
    fn synccheck_and_initcheck_name_the_place() {
        let text = "\
========= Barrier error detected. Divergent thread(s) in block.
=========     at delta_prefill_kd24_vd40_c64+0xfca0
=========     by thread (96,0,0) in block (0,2,3)
========= 
========= Uninitialized __global__ memory read of size 4 bytes
=========     at scale+0x70
=========     by thread (0,0,0) in block (0,0,0)
========= 
========= ERROR SUMMARY: 1536 errors
========= ERROR SUMMARY: 1516 errors were not printed. Use --print-limit option to adjust the number of printed errors
";
        let log = read(text);
        assert_eq!(log.errors, Some(1536));
        let kernels: Vec<&str> = log.records.iter().filter_map(|r| r.kernel.as_deref()).collect();
        assert_eq!(kernels, ["delta_prefill_kd24_vd40_c64", "scale"]);
        assert!(
            log.records[0].what.starts_with("Barrier error detected. Divergent thread(s) in block., at delta"),
            "{:?}",
            log.records[0]
        );
    }

    #[test]
    fn what_failed_has_no_summary_or_no_kernel() {
        assert_eq!(read(""), Log::default());
        assert_eq!(read("unrecognised option '--what'\n"), Log::default());
        let text =
            "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first instrumented API call\n";
        let log = read(text);
        assert_eq!((log.errors, log.records.len()), (None, 1));
        assert_eq!(log.records[0].kernel, None);
        let clean = read("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
        assert_eq!(clean, Log { errors: Some(0), records: Vec::new() });
    }

    #[test]
    fn a_version_is_found() {
        let text = "NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (build 36400806) (public-release)\n";
        assert_eq!(version(text).as_deref(), Some("2025.3.1.0 (build 36400806) (public-release)"));
        assert_eq!(version("compute-sanitizer: not found"), None);
    }
}
