//! Writes the workflow of GitHub Actions.
//!
//! Nothing of the event stands in a script: the number of a shard and all variables come through
//! the environment. The job of the verdict checks nothing out, so that what it merges are the
//! artifacts of this run and nothing that a commit brought along.

use super::options::{BaseFrom, EmitOptions};

/// How the program is started where it was built.
const BUILT: &str = "\"$RUNNER_TEMP/vplan/vplan\"";

/// Returns the workflow, without its first line.
pub(super) fn workflow(options: &EmitOptions) -> String {
    let program = if options.builds() { BUILT } else { "vplan" };
    let on = runs_on(options);
    let checkout = "      - uses: actions/checkout@v5\n        with:\n          fetch-depth: 0\n          \
                    persist-credentials: false\n";
    let fetched = if options.builds() { FETCH_PROGRAM } else { "" };
    let (plan, division) = (options.of_plan(), options.of_division());
    let (contract, verdict) = (options.of_contract(), options.of_verdict());
    let mut text = String::from(HEAD);
    text.push_str(&format!(
        "  plan:\n{on}    outputs:\n      shards: ${{{{ steps.divide.outputs.shards }}}}\n    steps:\n{checkout}"
    ));
    if options.builds() {
        text.push_str(BUILD);
    }
    text.push_str(RESTORE);
    let variables = variables(options.base_from());
    text.push_str(&format!(
        "      - name: Plan and divide
        id: divide
        run: |
          mkdir -p .vplan/shards
          {program} plan{plan} -o .vplan/plan.json
          shards=$({program} plan{contract} --plan .vplan/plan.json {division} --past .vplan/shards -o .vplan/division.json --format json)
          echo \"shards=$shards\" >> \"$GITHUB_OUTPUT\"
{variables}"
    ));
    text.push_str(&upload(
        "vplan-plan",
        &[".vplan/plan.json", ".vplan/division.json"],
        false,
    ));
    text.push_str(&format!(
        "  shard:
    needs: plan
    strategy:
      fail-fast: false
      matrix:
        shard: ${{{{ fromJSON(needs.plan.outputs.shards) }}}}
{on}    steps:
{checkout}{fetched}{FETCH_PLAN}      - name: Run
        run: |
          {program} run{contract} --plan .vplan/plan.json --division .vplan/division.json --shard \"$SHARD\" --github off
        env:
          SHARD: ${{{{ matrix.shard }}}}
"
    ));
    let name = "vplan-shard-${{ strategy.job-index }}";
    text.push_str(&upload(name, &[".vplan/runs"], true));
    text.push_str(&format!(
        "  verdict:
    needs: [plan, shard]
    if: always()
{on}    steps:
{fetched}{FETCH_PLAN}      - uses: actions/download-artifact@v7
        with:
          pattern: vplan-shard-*
          path: .vplan/shards
      - name: Merge
        run: |
          mkdir -p .vplan/shards
          {program} merge .vplan/shards --expect .vplan/plan.json --division .vplan/division.json --junit vplan.xml{verdict}
"
    ));
    text.push_str(&upload("vplan-verdict", &["vplan.xml"], true));
    text.push_str(SAVE);
    text
}

const HEAD: &str = "name: vplan
on: [pull_request, push]
permissions:
  contents: read
jobs:
";

/// Builds the program outside of the repository, so that no file of it has a say in that.
const BUILD: &str = "      - name: Build vplan
        run: |
          (cd \"$RUNNER_TEMP\" && cargo install --locked --git \"$VPLAN_REPOSITORY\" --rev \"$VPLAN_REVISION\" --root \"$RUNNER_TEMP/built\" vplan)
          install -D \"$RUNNER_TEMP/built/bin/vplan\" \"$RUNNER_TEMP/vplan/vplan\"
          install -D \"$RUNNER_TEMP/built/bin/vplan\" .vplan/program/vplan
        env:
          VPLAN_REPOSITORY: ${{ vars.VPLAN_REPOSITORY }}
          VPLAN_REVISION: ${{ vars.VPLAN_REVISION }}
      - uses: actions/upload-artifact@v6
        with:
          name: vplan-program
          path: .vplan/program/vplan
          include-hidden-files: true
          if-no-files-found: error
          overwrite: true
";

/// An artifact has no modes, so that the program is made one again.
const FETCH_PROGRAM: &str = "      - uses: actions/download-artifact@v7
        with:
          name: vplan-program
          path: .vplan/program
      - run: install -D .vplan/program/vplan \"$RUNNER_TEMP/vplan/vplan\"
";

const FETCH_PLAN: &str = "      - uses: actions/download-artifact@v7
        with:
          name: vplan-plan
          path: .vplan
";

/// How long steps took in an earlier run: it decides who runs what, and nothing else.
const RESTORE: &str = "      - uses: actions/cache/restore@v5
        with:
          path: .vplan/shards/**/events.jsonl
          key: vplan-past-${{ github.run_id }}-${{ github.run_attempt }}
          restore-keys: vplan-past-
";

const SAVE: &str = "      - if: always()
        uses: actions/cache/save@v5
        with:
          path: .vplan/shards/**/events.jsonl
          key: vplan-past-${{ github.run_id }}-${{ github.run_attempt }}
";

/// Returns where a job runs.
fn runs_on(options: &EmitOptions) -> String {
    let image = options.image();
    let container = image.map(|image| format!("    container: \"{image}\"\n"));
    format!(
        "    runs-on: ubuntu-latest\n{}",
        container.unwrap_or_default()
    )
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

/// Returns the step that keeps files. `always`: also when a step before it failed. A job that runs
/// again replaces what it kept.
fn upload(name: &str, paths: &[&str], always: bool) -> String {
    let head = match always {
        true => "      - if: always()\n        uses: actions/upload-artifact@v6\n",
        false => "      - uses: actions/upload-artifact@v6\n",
    };
    let paths = match paths {
        [path] => format!("          path: {path}\n"),
        paths => {
            let lines: String = paths.iter().map(|p| format!("            {p}\n")).collect();
            format!("          path: |\n{lines}")
        }
    };
    format!(
        "{head}        with:\n          name: {name}\n{paths}          include-hidden-files: true\n          \
         overwrite: true\n"
    )
}
