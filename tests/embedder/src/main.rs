//! Verifies the change in the directory that is its argument, as the first example of vplan's documentation does.

use vplan::engine::{Engine, Failure, PlanRequest, VerifyRequest, supervise_if_asked, verify};

fn verified(directory: &std::path::Path) -> Result<bool, Failure> {
    let engine = Engine::at(directory);
    let plan = engine.plan(&PlanRequest::default())?;
    for step in &plan.steps {
        println!("{}: {}", step.id, step.command);
    }
    let verified = verify(&engine, &VerifyRequest::default(), Default::default())?;
    Ok(verified.report.exit_code == 0)
}

fn main() -> std::process::ExitCode {
    // Each step runs under a supervisor, which is this very program, started once more.
    if let Some(code) = supervise_if_asked() {
        return code;
    }
    let directory = std::env::args_os().nth(1).unwrap_or_default();
    match verified(directory.as_ref()) {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::FAILURE,
        Err(failure) => std::process::ExitCode::from(failure.exit.code()),
    }
}
