//! The command `report`, where there is no device: the page is written from files, and a part that cannot run is on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn page(&self) -> String {
        std::fs::read_to_string(self.0.join("page.md")).unwrap()
    }

    fn report(&self, args: &[&str]) -> Output {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon-device-tests"));
        command.current_dir(root).arg("report").arg("--out").arg(self.0.join("page.md")).args(args).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const OPS: &str = r#"{
    "run": { "card": "NVIDIA H200", "driver": "580.1", "cuda": "13.0.88", "commit": "abc", "clean": true, "date": "2025-12-01 10:00 UTC", "seconds": 3.0 },
    "error": null, "result": { "passed": 1, "failed": 0, "instances": [] } }"#;

#[test]
fn the_page_is_written_from_files_alone_and_what_did_not_run_is_no_success() {
    let folder = Folder::new("from");
    let from = folder.0.display().to_string();
    let output = folder.report(&["--from", &from]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("there is no part of a report"));
    std::fs::write(folder.0.join("ops.json"), OPS).unwrap();
    // One part of seven.
    assert!(!folder.report(&["--from", &from]).status.success());
    let page = folder.page();
    assert!(
        page.contains("| card | NVIDIA H200 |\n| driver | 580.1 |\n| CUDA | 13.0.88 |\n| commit | abc, nothing changed |\n"),
        "{page}"
    );
    assert!(page.contains("| Kernels against their references | 1 passed, 0 failed | 3 |\n| Goldens | not run |  |\n"), "{page}");
    assert!(page.contains("\n| linear bf16, 1 row, 24,576 x 4,096 | not measured |"), "{page}");
    let first = page;
    folder.report(&["--from", &from]);
    assert_eq!(folder.page(), first);
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_part_that_cannot_run_leaves_its_reason() {
    let folder = Folder::new("parts");
    let json = folder.0.join("json").display().to_string();
    let output = folder.report(&["--json-dir", &json, "--parts", "goldens", "--commit", "abc"]);
    assert!(!output.status.success(), "{output:?}");
    let page = folder.page();
    assert!(page.contains("## Goldens\n\nFailed: exit status: 1 without a result: error: built without a device"), "{page}");
    assert!(page.contains("| commit | abc, nothing changed |\n"), "{page}");
    let output = folder.report(&["--json-dir", &json, "--commit", "abc", "--pass", "opps=--only add"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("`opps` is no part"), "{output:?}");
}
