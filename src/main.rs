//! Collects the arguments and hands them to `cli::main`.

/// The allocator of the binary that is released. With musl's own, commands that make many small values
/// take up to three times as long.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    if let Some(code) = vplan::effect::os::process::supervise::supervise_if_asked() {
        return code;
    }
    vplan::effect::os::process::wait_for_children();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = vplan::effect::os::held::held_if_asked(&arguments) {
        return code.into();
    }
    if let Some(code) = vplan::effect::os::process::namespace::user_namespace_if_asked(&arguments) {
        return code.into();
    }
    if let Some(code) = vplan::effect::os::process::sealed::attempt::attempted(&arguments) {
        return code.into();
    }
    vplan::effect::os::own_program::with_enough_stack(|| vplan::cli::main(std::env::args_os()))
}
