//! The template of each system, and what it is filled with.

use super::options::{AUTO_MOST, BaseFrom, EmitOptions, Shards};

/// The name of a placeholder of a template, `<<NAME>>`, and its text. No option can contain that mark.
pub(crate) type Value = (&'static str, String);

/// The image in which the pipeline of GitLab builds vplan.
const RUST: &str = concat!("rust:", env!("CARGO_PKG_RUST_VERSION"));
/// The program that the pipeline of GitLab builds.
const PROGRAM: &str = ".vplan/program/bin/vplan";

/// Returns whole lines, if they are wanted.
fn block(is_wanted: bool, text: &str) -> String {
    if is_wanted { text } else { "" }.to_owned()
}

/// The workflow of GitHub Actions.
///
/// No script contains data of the event: the number of a shard and all variables come through the
/// environment. The job of the verdict checks out nothing. So it merges only artifacts of this run,
/// and nothing that a commit brought along.
///
/// The program is built outside of the repository, so that no file of it can influence the build.
/// Artifacts have no modes, so the program is made executable again. The recorded times of an
/// earlier run only decide how steps are distributed. A job that runs again replaces its stored
/// files.
pub(super) fn github(options: &EmitOptions) -> (&'static str, Vec<Value>) {
    let built = options.builds();
    let program = if built {
        "\"$RUNNER_TEMP/vplan/vplan\""
    } else {
        "vplan"
    };
    let container = options.image.as_ref();
    let container = container.map(|image| format!("    container: \"{image}\"\n"));
    let values = vec![
        ("program", program.to_owned()),
        ("container", container.unwrap_or_default()),
        ("build", block(built, include_str!("github_build.yml"))),
        ("fetch", block(built, include_str!("github_fetch.yml"))),
        ("variables", variables(&options.base_from)),
    ];
    (include_str!("github.yml"), values)
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

/// The pipeline of GitLab CI: a separate file, or one that another pipeline includes.
///
/// Its stages are those that every pipeline has. The job of the verdict refuses a repository that
/// tracks records: it must merge only artifacts of this pipeline. The program is built outside of
/// the repository, so that no file of it can influence the build.
pub(super) fn gitlab(options: &EmitOptions) -> (&'static str, Vec<Value>) {
    let built = options.builds();
    let image = options.image.as_deref().or(built.then_some(RUST));
    let image = image.map_or(String::new(), |image| format!("  image: \"{image}\"\n"));
    let count = match options.shards {
        Shards::Fixed(count) => count,
        Shards::Auto => AUTO_MOST,
    };
    let values = vec![
        ("program", if built { PROGRAM } else { "vplan" }.to_owned()),
        ("image", image),
        ("build", block(built, include_str!("gitlab_build.yml"))),
        ("built", block(built, &format!("      - {PROGRAM}\n"))),
        ("count", count.to_string()),
    ];
    (include_str!("gitlab.yml"), values)
}

/// The script for Slurm. Without arguments, it plans, submits an array of shards and a merge job,
/// and waits for the merge job.
///
/// All nodes must have the work tree at the same path. The exit code is that of the verdict, and
/// two things must agree on it: the job, and the file that the job wrote. So no behaviour of
/// `sbatch` can be taken for a pass.
pub(super) fn slurm(options: &EmitOptions) -> (&'static str, Vec<Value>) {
    (
        include_str!("slurm.sh"),
        vec![("args", options.sbatch_args())],
    )
}
