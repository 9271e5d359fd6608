//! Writes the workflow of GitHub Actions.
//!
//! No script contains data of the event: the number of a shard and all variables come through the
//! environment. The job of the verdict checks out nothing. So it merges only artifacts of this run,
//! and nothing that a commit brought along.
//!
//! The program is built outside of the repository, so that no file of it can influence the build.
//! Artifacts have no modes, so the program is made executable again. The recorded times of an
//! earlier run only decide how steps are distributed. A job that runs again replaces its stored
//! files.

use super::options::{BaseFrom, EmitOptions};
use super::template::{Value, block};

/// The workflow, without its first line.
pub(super) const TEMPLATE: &str = include_str!("github.yml");

/// Returns the values that only this workflow has.
pub(super) fn values(options: &EmitOptions) -> Vec<Value> {
    let built = options.builds();
    let program = match built {
        true => "\"$RUNNER_TEMP/vplan/vplan\"",
        false => "vplan",
    };
    let container = options.image();
    let container = container.map(|image| format!("    container: \"{image}\"\n"));
    vec![
        ("program", program.to_owned()),
        ("container", container.unwrap_or_default()),
        ("build", block(built, include_str!("github_build.yml"))),
        ("fetch", block(built, include_str!("github_fetch.yml"))),
        ("variables", variables(options.base_from())),
    ]
}

/// Returns the variables of the job that plans. Those of the runner are there already, and cannot be
/// set.
fn variables(base: &BaseFrom) -> String {
    match base {
        BaseFrom::Variable(name)
            if !name.starts_with("GITHUB_") && !name.starts_with("RUNNER_") =>
        {
            format!("        env:\n          {name}: ${{{{ vars.{name} }}}}\n")
        }
        _ => String::new(),
    }
}
