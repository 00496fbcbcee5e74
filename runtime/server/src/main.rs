//! `tenon-server`: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tenon_server::main()
}
