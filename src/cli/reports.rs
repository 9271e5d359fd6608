//! Writes the additional documents of a run: JUnit, SARIF, GitHub annotations and step summary.
//!
//! A write error is reported and never hides the verdict: it changes only the exit code of a
//! pass, to 1.

use super::outputs::{JUNIT, OutputTarget, SARIF};
use super::render::{github, junit, sarif};
use super::terminal::Terminal;
use clap::{Args, ValueEnum};
use std::io;
use std::path::{Path, PathBuf};
use vplan_base::canon::to_canonical;
use vplan_base::inert::json_without_commands;
use vplan_base::vocabulary::Exit;
use vplan_base::word::{visible, visible_path};
use vplan_engine::Failure;
use vplan_plan::Plan;
use vplan_repo::github::{GithubJob, append};
use vplan_run::report::Report;

/// Flags of `run` and `merge`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reports")]
pub struct Reports {
    /// Write the results as JUnit XML to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write what was found as SARIF 2.1.0 to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Annotate the change and summarise the step on GitHub Actions: `auto` does when
    /// `GITHUB_ACTIONS` is `true`.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub github: ReportWhen,
    /// Replace the files that `--junit`, `--sarif` and `--events` name, whatever they hold.
    #[arg(long)]
    pub force: bool,
}

/// The use of GitHub's annotations and summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportWhen {
    /// In a job of GitHub Actions.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Reports {
    fn files(&self) -> [(OutputTarget, Option<&Path>); 2] {
        [
            (JUNIT, self.junit.as_deref()),
            (SARIF, self.sarif.as_deref()),
        ]
    }

    /// Whether one of the documents goes to standard output, which is then for a program.
    pub(crate) fn take_stdout(&self) -> bool {
        self.files()
            .iter()
            .any(|(_, file)| *file == Some(Path::new("-")))
    }

    /// Looks at the flags before anything runs. `stdout` is what standard output holds already, if
    /// it is for a program.
    ///
    /// # Errors
    /// Two documents in one place, and places that cannot hold one.
    pub fn check(&self, stdout: Option<&str>) -> Result<(), Failure> {
        let wrong = |message: String| Err(Failure::usage("vplan::usage::report", message));
        let mut taken: Vec<(&str, &Path)> = Vec::new();
        for (output, file) in self.files() {
            let Some(file) = file else { continue };
            let flag = output.flag;
            if let Some(holder) = stdout.filter(|_| file == Path::new("-")) {
                let message =
                    format!("standard output is taken by `{holder}`, so `{flag} -` has no place");
                return wrong(message);
            }
            output.check(file, self.force, "vplan::usage::report")?;
            if let Some((other, _)) = taken.iter().find(|(_, path)| *path == file) {
                let name = visible_path(file);
                return wrong(format!(
                    "`{other}` and `{flag}` cannot both write to `{name}`"
                ));
            }
            taken.push((flag, file));
        }
        Ok(())
    }

    /// Writes all requested documents, and returns the exit code of the run: its verdict's, or 1
    /// for a pass that could not be reported. `root` is the repository, if it is here; `events`
    /// why the events could not be written, with their place.
    pub fn write(
        &self,
        report: &Report,
        plan: &Plan,
        root: Option<&Path>,
        events: Option<(&Path, io::Error)>,
        terminal: &Terminal,
    ) -> u8 {
        let mut complete = true;
        let mut failed = |what: &str, path: &Path, error: &io::Error| {
            complete = false;
            let (path, why) = (visible_path(path), visible(error.to_string()));
            let message = format!("{what} cannot be written to `{path}`: {why}");
            terminal.failure(&Failure::new(Exit::Internal, "vplan::run::report", message));
        };
        if let Some((path, error)) = events {
            failed("the events", path, &error);
        }
        let publish = |output: OutputTarget, path: &Path, text: &str| match path == Path::new("-") {
            true => {
                terminal.print(text);
                Ok(())
            }
            false => output.write(path, text, self.force),
        };
        if let Some(path) = &self.junit
            && let Err(error) = publish(JUNIT, path, &junit::run(report, plan))
        {
            failed("the JUnit report", path, &error);
        }
        if let Some(path) = &self.sarif {
            let log = json_without_commands(&to_canonical(&sarif::log(report, plan, root))) + "\n";
            if let Err(error) = publish(SARIF, path, &log) {
                failed("the SARIF log", path, &error);
            }
        }
        let job = GithubJob::from_environment();
        if self.github == ReportWhen::On || (self.github == ReportWhen::Auto && job.is_one) {
            let way = root.map(|root| job.way_to(root)).unwrap_or_default();
            terminal.command(&github::annotations(report, plan, root, &way));
            if let Some(path) = &job.summary
                && let Err(error) =
                    append(path, &github::summary(report, plan), github::SUMMARY_BYTES)
            {
                // A convenience of the service, not a requested document: worth a warning, no
                // failure.
                let why = match error.kind() {
                    io::ErrorKind::FileTooLarge => "the limit of 1 MiB is reached".to_owned(),
                    _ => visible(error.to_string()),
                };
                terminal.note(&format!("  ! the step summary was not written: {why}\n"));
            }
        }
        match report.exit_code {
            0 if !complete => Exit::Internal.code(),
            code => code,
        }
    }
}
