//! `vplan import`: converts another tool's configuration to a contract, and reports what it does
//! not express.

mod document;
mod text;

use super::format;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::terminal::Terminal;
use crate::declared::single;
use crate::engine::Failure;
use crate::engine::convert::{self, write};
use crate::front::convert::Format as Tool;
use clap::{Args, ValueEnum};
pub(super) use document::ImportDocument;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// `vplan import`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 converted; 2 usage, also when there is a contract already; 3 the file is invalid, asks for no check, or with \
                        `--strict` something is lost; 5 the contract cannot be written."
)]
pub struct Import {
    /// The file to convert; `-` is standard input.
    pub file: PathBuf,
    /// The kind of the file, when neither its name nor its keys tell.
    #[arg(long, value_name = "KIND")]
    pub from: Option<Kind>,
    /// Write the contract to this file instead of contracts/verify.vplan.
    #[arg(short, long, value_name = "PATH", conflicts_with = "stdout")]
    pub output: Option<PathBuf>,
    /// Print the contract instead of writing it; the account goes to standard error.
    #[arg(long)]
    pub stdout: bool,
    /// Replace a contract that is there.
    #[arg(long)]
    pub force: bool,
    /// Write nothing, with exit code 3, when something is lost or means something else.
    #[arg(long)]
    pub strict: bool,
}

/// Kinds of files that can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// runr.config.json
    Runr,
    /// .ralph-tui/config.toml
    RalphTui,
    /// .agent/config.yml
    Acode,
    /// verify.contract.json
    VerifyContractJson,
    /// A workflow of GitHub, Forgejo or Gitea
    GithubWorkflow,
    /// .gitlab-ci.yml, with what it includes from the repository
    GitlabCi,
    /// .pre-commit-config.yaml, prek.toml
    PreCommit,
    /// lefthook.yml
    Lefthook,
    /// .lintstagedrc, or the map in a package.json
    LintStaged,
    /// turbo.json
    Turbo,
    /// nx.json, project.json
    Nx,
    /// moon.yml, .moon/tasks.yml
    Moon,
    /// justfile
    Just,
    /// mise.toml
    Mise,
    /// tox.ini, tox.toml
    Tox,
    /// noxfile.py
    Nox,
    /// Makefile
    Make,
    /// The scripts of a package.json
    PackageJson,
}

impl Kind {
    fn of_file(self) -> convert::Kind {
        use single::Kind as Declared;
        let declared = convert::Kind::Declared;
        match self {
            Kind::Runr => convert::Kind::Tool(Tool::Runr),
            Kind::RalphTui => convert::Kind::Tool(Tool::RalphTui),
            Kind::Acode => convert::Kind::Tool(Tool::Acode),
            Kind::VerifyContractJson => convert::Kind::Tool(Tool::VerifyContractJson),
            Kind::GithubWorkflow => declared(Declared::GithubWorkflow),
            Kind::GitlabCi => declared(Declared::GitlabCi),
            Kind::PreCommit => declared(Declared::PreCommit),
            Kind::Lefthook => declared(Declared::Lefthook),
            Kind::LintStaged => declared(Declared::LintStaged),
            Kind::Turbo => declared(Declared::Turbo),
            Kind::Nx => declared(Declared::Nx),
            Kind::Moon => declared(Declared::Moon),
            Kind::Just => declared(Declared::Just),
            Kind::Mise => declared(Declared::Mise),
            Kind::Tox => declared(Declared::Tox),
            Kind::Nox => declared(Declared::Nox),
            Kind::Make => declared(Declared::Make),
            Kind::PackageJson => declared(Declared::PackageJson),
        }
    }
}

/// Converts, checks the result, writes it, and says what it does not say.
///
/// # Errors
/// A file that cannot be read or is none of the kinds, errors in it, a contract that is there
/// already, `--strict`.
pub fn run(global: &Global, args: &Import, terminal: &Terminal) -> Result<u8, Failure> {
    let form = format(global, &[Format::Text, Format::Json])?;
    let engine = global.engine();
    let found = engine.convert(&args.file, args.from.map(Kind::of_file))?;
    let heavy = found.heavy();
    if found.verifies_nothing() {
        terminal.note(&text::account(&found, ""));
        let message = format!(
            "nothing in `{}` becomes a check: a contract of it would verify nothing",
            found.name
        );
        return Err(
            Failure::new(Exit::Contract, "vplan::import::no_checks", message)
                .help("write by hand what is lost, or let `vplan init` propose a contract"),
        );
    }
    if args.strict && heavy > 0 {
        terminal.note(&text::account(&found, ""));
        let what = if heavy == 1 { "thing is" } else { "things are" };
        let message = format!("{heavy} {what} lost or changed, and `--strict` was said");
        return Err(Failure::new(
            Exit::Contract,
            "vplan::import::lossy",
            message,
        ));
    }
    if args.stdout {
        if form == Format::Json {
            terminal.print_json(&ImportDocument::of(&found, None, Some(&found.text)));
        } else {
            terminal.print(&found.text);
            if !terminal.quiet {
                terminal.note(&text::account(&found, ""));
            }
        }
        return Ok(Exit::Success.code());
    }
    let (target, shown) = match &args.output {
        Some(path) => (path.clone(), visible(path.as_os_str().as_bytes())),
        None => engine.own_contract()?,
    };
    write(&target, &shown, &found.text, args.force)?;
    if form == Format::Json {
        terminal.print_json(&ImportDocument::of(&found, Some(&shown), None));
    } else if !terminal.quiet {
        terminal.say(&text::account(&found, &shown));
    }
    Ok(Exit::Success.code())
}
