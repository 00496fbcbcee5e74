//! Where and when a part runs: card, driver, CUDA, commit and date.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use tenon_compiler::driver::nvcc;

use super::Options;
use crate::results::Run;

/// The run that starts now.
///
/// # Errors
/// Neither git nor an option says what was built.
pub fn here(options: &Options) -> Result<Run, String> {
    let card = said(Command::new("nvidia-smi").args(["--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]));
    let (card, driver) = card.as_deref().and_then(|line| line.split_once(", ")).unwrap_or_default();
    let cuda = nvcc::find().ok().and_then(|path| said(Command::new(path).arg("--version")));
    let (commit, clean) = match &options.commit {
        Some(commit) => (commit.clone(), Some(!options.changed)),
        None => {
            let commit = said(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]));
            // The page itself changes with every report.
            let page = format!(":(exclude){}", options.out.display());
            let changes = said(Command::new("git").args(["status", "--porcelain", "--", ".", &page]));
            (commit.ok_or("git does not say what was built: give --commit")?, changes.map(|changes| changes.is_empty()))
        }
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Ok(Run {
        card: card.to_owned(),
        driver: driver.to_owned(),
        cuda: cuda.as_deref().and_then(release).unwrap_or_default(),
        commit,
        clean,
        date: date(since),
        seconds: 0.0,
    })
}

/// What a command says, where it ends well.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The version that nvcc states, such as 13.0.88.
fn release(text: &str) -> Option<String> {
    let version = text.split("release ").nth(1)?.split_whitespace().find_map(|word| word.strip_prefix('V'))?;
    Some(version.trim_end_matches(',').to_owned())
}

/// Day and time of so many seconds since 1970, in UTC.
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years of which each begins in March, in eras of 400 (Howard Hinnant's `civil_from_days`).
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", rest / 3600, rest / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_764_547_200), "2025-12-01 00:00 UTC");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn nvcc_states_its_version() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0";
        assert_eq!(release(text).as_deref(), Some("13.0.88"));
        assert_eq!(release("nothing"), None);
    }
}
