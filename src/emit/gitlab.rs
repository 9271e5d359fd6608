//! Writes the pipeline of GitLab CI: a separate file, or one that another pipeline includes.
//!
//! Its stages are those that every pipeline has. The job of the verdict refuses a repository that
//! tracks records: it must merge only artifacts of this pipeline. The program is built outside of
//! the repository, so that no file of it can influence the build.

use super::options::{EmitOptions, Shards};
use super::template::{Value, block};

/// The pipeline, without its first line.
pub(super) const TEMPLATE: &str = include_str!("gitlab.yml");

/// The image in which vplan is built.
const RUST: &str = concat!("rust:", env!("CARGO_PKG_RUST_VERSION"));
const PROGRAM: &str = ".vplan/program/bin/vplan";

/// Returns the values that only this pipeline has.
pub(super) fn values(options: &EmitOptions) -> Vec<Value> {
    let built = options.builds();
    let image = options.image().or(built.then_some(RUST));
    let image = image.map_or(String::new(), |image| format!("  image: \"{image}\"\n"));
    let count = match options.shards() {
        Shards::Fixed(count) => count,
        Shards::Auto => super::options::AUTO_MOST,
    };
    vec![
        ("program", if built { PROGRAM } else { "vplan" }.to_owned()),
        ("image", image),
        ("build", block(built, include_str!("gitlab_build.yml"))),
        ("built", block(built, &format!("      - {PROGRAM}\n"))),
        ("count", count.to_string()),
    ]
}
