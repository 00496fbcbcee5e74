//! What `ptxas -v` reports of an instance.

/// Registers and memory of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u64,
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: u64,
    /// Local memory of a thread, in bytes: spilled registers, and arrays that are not in registers.
    pub stack_bytes: u64,
    /// Bytes that spills store.
    pub spill_bytes: u64,
}

impl Usage {
    /// Reads the report; a number that does not stand there is 0, and of several kernels the largest counts.
    pub fn read(report: &str) -> Self {
        Self {
            registers: largest_before(report, " registers"),
            shared_bytes: largest_before(report, " bytes smem"),
            stack_bytes: largest_before(report, " bytes stack frame"),
            spill_bytes: largest_before(report, " bytes spill stores"),
        }
    }
}

/// The largest number right before a text.
fn largest_before(report: &str, text: &str) -> u64 {
    let ends = report.match_indices(text).map(|(at, _)| at);
    let number = |end: usize| {
        let digits = report[..end].bytes().rev().take_while(u8::is_ascii_digit).count();
        report[end - digits..end].parse().ok()
    };
    ends.filter_map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_report() {
        let report = "\
ptxas info    : 4 bytes gmem
ptxas info    : Compiling entry function 'linear_bf16_r1' for 'sm_90a'
ptxas info    : Function properties for linear_bf16_r1
    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 31.337 ms";
        let usage = Usage { registers: 255, shared_bytes: 4096, stack_bytes: 16, spill_bytes: 12 };
        assert_eq!(Usage::read(report), usage);
        assert_eq!(Usage::read("nothing"), Usage::default());
    }
}
