//! A bar for weights that go to a device, on stderr; none where nobody watches.

use indicatif::{ProgressBar, ProgressStyle};
use tenon_core::cuda::Progress;

/// Shows how much of the weights is on the device.
pub fn uploads() -> Progress {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("weights {bytes:>10} of {total_bytes} {wide_bar} {bytes_per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    Box::new(move |done, all| {
        bar.set_length(all);
        bar.set_position(done);
        if done == all {
            bar.finish_and_clear();
        }
    })
}
