//! Collects the arguments and hands them to `cli::main`.

fn main() -> std::process::ExitCode {
    vplan::cli::main(std::env::args_os())
}
