//! `vplan import`: converts another tool's configuration to a contract, and reports what it does
//! not express.

use super::format;
use crate::base::diagnostic::Diagnostics;
use crate::base::source::{Source, Sources};
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::render::style::count;
use crate::cli::terminal::Terminal;
use crate::contract::Contract;
use crate::effect::os::{files, input};
use crate::effect::repo::import::{NOT_UTF8, TOO_LARGE};
use crate::effect::repo::load;
use crate::effect::repo::load::DEFAULT_CONTRACT;
use crate::engine::Failure;
use crate::front::convert::{self, Conversion, Weight, convert, tell, text, verify};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// `vplan import`
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 converted; 2 usage, also when there is a contract already; 3 the file is invalid, or with `--strict` something is \
                        lost; 5 the contract cannot be written."
)]
pub struct Import {
    /// The file to convert; `-` is standard input.
    pub file: PathBuf,
    /// What kind of file it is, when neither its name nor its keys tell.
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
}

impl Kind {
    fn format(self) -> convert::Format {
        match self {
            Kind::Runr => convert::Format::Runr,
            Kind::RalphTui => convert::Format::RalphTui,
            Kind::Acode => convert::Format::Acode,
            Kind::VerifyContractJson => convert::Format::VerifyContractJson,
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
    let name = visible(args.file.as_os_str().as_bytes());
    let content = read(&args.file, &name, global.max_file)?;
    let kind = args.from.map(Kind::format).or_else(|| tell(&name, &content)).ok_or_else(|| {
        Failure::usage("vplan::import::kind", format!("nothing tells what kind of file `{name}` is"))
            .help("say it with `--from runr`, `--from ralph-tui`, `--from acode` or `--from verify-contract-json`")
    })?;
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name.clone(), &content));
    let mut sink = Diagnostics::default();
    let Some(conversion) = convert(&sources, id, kind, &mut sink) else {
        let message = format!("`{name}` cannot be converted, read as {}", kind.name());
        let failure = Failure::new(Exit::Contract.code(), "vplan::import::invalid", message);
        return Err(Failure {
            diagnostics: Some(Box::new((sources, sink.sorted()))),
            ..failure
        });
    };
    let written = text(&conversion, &sources);
    // Whatever is wrong now is wrong with vplan; nothing has been written.
    let contract = verify(&conversion, &sources, &written).map_err(|message| {
        Failure::new(
            Exit::Internal.code(),
            "vplan::internal",
            format!("the conversion of `{name}` went wrong: {message}"),
        )
        .help("please report it, with the file")
    })?;
    let account = Account {
        name: &name,
        conversion: &conversion,
        contract: &contract,
        sources: &sources,
    };
    let heavy = conversion
        .lost
        .iter()
        .filter(|l| l.weight != Weight::NoEffect)
        .count();
    if args.strict && heavy > 0 {
        terminal.note(&account.text(""));
        let what = if heavy == 1 { "thing is" } else { "things are" };
        let message = format!("{heavy} {what} lost or changed, and `--strict` was said");
        return Err(Failure::new(
            Exit::Contract.code(),
            "vplan::import::lossy",
            message,
        ));
    }
    if args.stdout {
        if form == Format::Json {
            terminal.print_json(&account.json(None, Some(&written)));
        } else {
            terminal.print(&written);
            if !terminal.quiet {
                terminal.note(&account.text(""));
            }
        }
        return Ok(Exit::Success.code());
    }
    let (target, shown) = target(global, args)?;
    write(&target, &shown, &written, args.force)?;
    if form == Format::Json {
        terminal.print_json(&account.json(Some(&shown), None));
    } else if !terminal.quiet {
        terminal.say(&account.text(&shown));
    }
    Ok(Exit::Success.code())
}

/// The text of a regular file, or of standard input.
fn read(path: &Path, name: &str, cap: u64) -> Result<String, Failure> {
    let bytes = if path == Path::new("-") {
        input::standard(cap)
    } else {
        files::read_plain(path, cap)
    };
    let bytes = bytes.map_err(|e| {
        if e.kind() == io::ErrorKind::FileTooLarge {
            let message = format!(
                "`{name}` is larger than {}",
                crate::base::unit::show_size(cap)
            );
            return Failure::new(Exit::Contract.code(), TOO_LARGE.0, message)
                .help("`--max-file 16MiB` reads larger ones");
        }
        let failure = Failure::usage(
            "vplan::usage::unreadable",
            format!("`{name}` cannot be read: {e}"),
        );
        if path.is_symlink() {
            failure.help("it is a symlink: name the file itself")
        } else {
            failure
        }
    })?;
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let message =
            format!("`{name}` is not UTF-8: the first byte that is none is at offset {at}");
        Failure::new(Exit::Contract.code(), NOT_UTF8.0, message)
    })
}

/// Where the contract goes, and what that is called.
fn target(global: &Global, args: &Import) -> Result<(PathBuf, String), Failure> {
    if let Some(path) = &args.output {
        return Ok((path.clone(), visible(path.as_os_str().as_bytes())));
    }
    let site = global.engine().locate()?;
    let path = load::contract_path(&site, global.contract.as_deref())
        .map_err(|e| Failure::usage(e.code(), e.to_string()))?;
    Ok((site.root.join(path.to_os()), path.to_string()))
}

fn write(target: &Path, shown: &str, text: &str, force: bool) -> Result<(), Failure> {
    match target.symlink_metadata() {
        Ok(there) if there.is_dir() => {
            return Err(Failure::usage(
                "vplan::import::exists",
                format!("`{shown}` is a directory"),
            ));
        }
        Ok(_) if !force => {
            return Err(Failure::usage("vplan::import::exists", format!("`{shown}` is there already"))
                .help("`--stdout` prints the contract, `-o PATH` writes another file, `--force` replaces this one"));
        }
        _ => {}
    }
    // The parent of a bare name is the empty path, which no call takes.
    let target = if target.parent() == Some(Path::new("")) {
        Path::new(".").join(target)
    } else {
        target.to_owned()
    };
    files::replace(&target, text.as_bytes()).map_err(|e| {
        Failure::new(
            Exit::Setup.code(),
            "vplan::import::write",
            format!("`{shown}` cannot be written: {e}"),
        )
    })
}

/// What was converted, and what was not.
struct Account<'a> {
    name: &'a str,
    conversion: &'a Conversion,
    contract: &'a Contract,
    sources: &'a Sources,
}

/// What was converted.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'a> {
    /// How many checks the contract has.
    checks: usize,
    /// The file that was read.
    file: &'a str,
    /// Whose configuration it is.
    from: &'static str,
    /// What the contract does not say, or says otherwise.
    lost: Vec<Line<'a>>,
    /// The file that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    /// The contract, when no file was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// How many risk triggers the contract has.
    triggers: usize,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// Something that the contract does not say, or says otherwise.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Lost")]
struct Line<'a> {
    /// From 1, in bytes.
    column: usize,
    /// What to do by hand, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<&'a str>,
    /// From 1.
    line: usize,
    /// Whether it is lost, means something else now, or has no effect on checks.
    weight: &'static str,
    /// What it is about.
    what: &'a str,
    /// Why, in one line.
    why: &'a str,
}

impl Account<'_> {
    fn json<'a>(&'a self, output: Option<&'a str>, text: Option<&'a str>) -> Document<'a> {
        let line = |lost: &'a convert::Lost| {
            let position = self.sources.position(lost.place);
            Line {
                column: position.column,
                instead: lost.instead.as_deref(),
                line: position.line,
                weight: lost.weight.name(),
                what: &lost.what,
                why: &lost.why,
            }
        };
        Document {
            checks: self.contract.checks.len(),
            file: self.name,
            from: self.conversion.format.name(),
            lost: self.conversion.lost.iter().map(line).collect(),
            output,
            text,
            triggers: self.contract.risks.len(),
            version: 1,
        }
    }

    fn text(&self, output: &str) -> String {
        let (checks, triggers) = (self.contract.checks.len(), self.contract.risks.len());
        let to = if output.is_empty() {
            String::new()
        } else {
            format!(" to {output}")
        };
        let also = if triggers > 0 {
            format!(", {}", count(triggers, "trigger"))
        } else {
            String::new()
        };
        let from = self.conversion.format.name();
        let mut out = format!(
            "converted {}{to} ({from}): {}{also}\n",
            self.name,
            count(checks, "check")
        );
        for (weight, title) in [
            (Weight::Lost, "lost: not in the contract"),
            (
                Weight::Changed,
                "changed: in the contract, but with another meaning; look at each",
            ),
            (Weight::NoEffect, "without effect on checks"),
        ] {
            let lines: Vec<&convert::Lost> = self
                .conversion
                .lost
                .iter()
                .filter(|l| l.weight == weight)
                .collect();
            if lines.is_empty() {
                continue;
            }
            out.push_str(&format!("{title}\n"));
            for lost in lines {
                let line = self.sources.position(lost.place).line;
                out.push_str(&format!(
                    "  {}:{line}: {}: {}\n",
                    self.name, lost.what, lost.why
                ));
                if let Some(instead) = &lost.instead {
                    out.push_str(&format!("    by hand: {instead}\n"));
                }
            }
        }
        // `check` reads contracts of the repository only.
        let inside = !output.is_empty()
            && !output.starts_with('/')
            && !output.split('/').any(|part| part == "..");
        if inside {
            let which = if output == DEFAULT_CONTRACT {
                String::new()
            } else {
                format!(" --contract {output}")
            };
            out.push_str(&format!(
                "next: `vplan check{which}` compares the contract with the repository\n"
            ));
        }
        out
    }
}
