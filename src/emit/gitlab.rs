//! Writes the pipeline of GitLab CI: a file of its own, or one that another pipeline includes.
//!
//! Its stages are those that every pipeline has. The job of the verdict refuses a repository that
//! tracks records: what it merges are the artifacts of this pipeline.

use super::options::{EmitOptions, Shards};

/// The image in which vplan is built.
const RUST: &str = concat!("rust:", env!("CARGO_PKG_RUST_VERSION"));

/// Returns the pipeline, without its first line.
pub(super) fn pipeline(options: &EmitOptions) -> String {
    let program = match options.builds() {
        true => ".vplan/program/bin/vplan",
        false => "vplan",
    };
    let image = options.image().or(options.builds().then_some(RUST));
    let image = image.map_or(String::new(), |image| format!("  image: \"{image}\"\n"));
    let build = if options.builds() { BUILD } else { "" };
    let built = match options.builds() {
        true => "      - .vplan/program/bin/vplan\n",
        false => "",
    };
    let count = match options.shards() {
        Shards::Fixed(count) => count,
        Shards::Auto => super::options::AUTO_MOST,
    };
    let (plan, division) = (options.of_plan(), options.of_division());
    let (contract, verdict) = (options.of_contract(), options.of_verdict());
    format!(
        "vplan-plan:
  stage: .pre
{image}  variables:
    GIT_DEPTH: \"0\"
  cache:
    key: vplan-past
    paths:
      - .vplan/runs/*/events.jsonl
    policy: pull
  script:
{build}    - mkdir -p .vplan/runs
    - {program} plan{plan} -o .vplan/plan.json
    - {program} plan{contract} --plan .vplan/plan.json {division} --past .vplan/runs -o .vplan/division.json
  artifacts:
    paths:
      - .vplan/plan.json
      - .vplan/division.json
{built}vplan-shard:
  stage: test
{image}  parallel: {count}
  dependencies:
    - vplan-plan
  variables:
    GIT_DEPTH: \"0\"
  script:
    - {program} run{contract} --plan .vplan/plan.json --division .vplan/division.json --shard \"$CI_NODE_INDEX/$CI_NODE_TOTAL\"
  artifacts:
    when: always
    paths:
      - .vplan/runs
vplan-verdict:
  stage: .post
{image}  when: always
  dependencies:
    - vplan-plan
    - vplan-shard
  cache:
    key: vplan-past
    paths:
      - .vplan/runs/*/events.jsonl
    policy: push
    when: always
  script:
    - tracked=$(git ls-files .vplan)
    - test -z \"$tracked\"
    - mkdir -p .vplan/runs
    - {program} merge .vplan/runs --expect .vplan/plan.json --division .vplan/division.json --junit vplan.xml{verdict}
  artifacts:
    when: always
    reports:
      junit: vplan.xml
    paths:
      - vplan.xml
"
    )
}

/// Builds the program outside of the repository, so that no file of it has a say in that.
const BUILD: &str = "    - (cd / && cargo install --locked --git \"$VPLAN_REPOSITORY\" --rev \"$VPLAN_REVISION\" --root \"$CI_PROJECT_DIR/.vplan/program\" vplan)
";
