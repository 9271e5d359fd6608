//! Collects the arguments and hands them to `cli::main`.

fn main() -> std::process::ExitCode {
    if let Some(code) = vplan::effect::os::process::supervise::supervise_if_asked() {
        return code;
    }
    vplan::effect::os::own_program::with_enough_stack(|| vplan::cli::main(std::env::args_os()))
}
