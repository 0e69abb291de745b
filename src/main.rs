//! The command `fidelake`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fidelake::cli::main()
}
