//! `vplan fmt`: formats contracts in place, in their one layout.

use super::format;
use crate::base::diagnostic::{Diagnostic, Severity};
use crate::base::source::{Source, Sources};
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::render::diagnostic::{self, Message};
use crate::cli::render::diff;
use crate::cli::render::style::count;
use crate::cli::terminal::Terminal;
use crate::effect::os::files::rewrite::{Editable, named};
use crate::effect::os::input;
use crate::effect::repo::load::{self, LoadError};
use crate::engine::Failure;
use crate::engine::failure::load_failed;
use crate::lang::layout::{Formatted, reformat};
use crate::lang::parse::Caps;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// `vplan fmt`
#[derive(Debug, Args)]
#[command(
    after_help = "Decided by vplan: indentation, blanks between arguments, blank lines (one at most), the quoting of strings, the \
                  order of settings. Left to you: comments, where a statement goes on in the next line (`\\`), and how a command \
                  is spelt. What a contract says, and so its digest, never changes. When one of the files has an error, none is \
                  written.\n\nExit codes: 0 formatted; 2 usage; 3 a file is invalid; 40 with `--check`, when a file is not formatted."
)]
pub struct Fmt {
    /// These files, relative to the current directory; `-` formats standard input to standard
    /// output. Without any: the contract, and the `*.test.vplan` beside it.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write nothing: show what would change, and exit 40 if something would.
    #[arg(long)]
    pub check: bool,
}

/// A text that is to be formatted.
struct Item {
    name: String,
    /// None for standard input.
    file: Option<Editable>,
    bytes: Vec<u8>,
    /// What it is to become; none when it is invalid.
    new: Option<String>,
}

/// Formats files, or says how they differ from what they would be.
///
/// # Errors
/// No contract, files that cannot be read or written (exit 2), that are invalid (exit 3), that are
/// not formatted (`--check`, exit 40).
pub fn run(global: &Global, args: &Fmt, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let mut items = if args.files.iter().any(|f| f.as_os_str() == "-") {
        if args.files.len() > 1 {
            let message = "`-` stands alone: standard input is one text";
            return Err(Failure::usage("vplan::usage::fmt_stdin", message));
        }
        let bytes = input::standard(global.max_file).map_err(|e| unreadable("-", &e))?;
        vec![Item {
            name: "-".to_owned(),
            file: None,
            bytes,
            new: None,
        }]
    } else {
        targets(global, args)?
    };
    let mut sources = Sources::default();
    let mut faults: Vec<Diagnostic> = Vec::new();
    let mut failure = None;
    for item in &mut items {
        if let Err(fault) = one(item, global, &mut sources, &mut faults) {
            failure.get_or_insert(fault);
        }
    }
    let differ = items.iter().filter(|i| i.differs()).count();
    if failure.is_none() && faults.is_empty() && !args.check {
        for item in items.iter().filter(|i| i.differs()) {
            write(item)?;
        }
    }
    if format == Format::Json {
        print_json(&items, args.check, &sources, &faults, terminal);
    } else {
        print_text(
            &items,
            args.check,
            failure.is_none() && faults.is_empty(),
            terminal,
        );
    }
    if !faults.is_empty() {
        let errors = faults
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count();
        let nothing = if args.check {
            ""
        } else {
            "; nothing was written"
        };
        let invalid = Failure::new(
            Exit::Contract.code(),
            "vplan::fmt::invalid",
            format!(
                "what has errors cannot be formatted: {}{nothing}",
                count(errors, "error")
            ),
        );
        let diagnostics = (format == Format::Text).then(|| Box::new((sources, faults)));
        return Err(Failure {
            diagnostics,
            ..invalid
        });
    }
    match failure {
        Some(failure) => Err(failure),
        None if args.check && differ > 0 => {
            let message = format!("{differ} of {} not formatted", count(items.len(), "file"));
            Err(
                Failure::new(Exit::Failed.code(), "vplan::fmt::differs", message)
                    .help("`vplan fmt` formats them"),
            )
        }
        None => Ok(Exit::Success.code()),
    }
}

impl Item {
    fn differs(&self) -> bool {
        self.new
            .as_ref()
            .is_some_and(|new| new.as_bytes() != self.bytes)
    }
}

/// Reads all files before anything is done to one of them.
fn targets(global: &Global, args: &Fmt) -> Result<Vec<Item>, Failure> {
    let mut items: Vec<Item> = Vec::new();
    let mut add = |name: String, file: Editable| {
        // One file by two names is one file.
        if items.iter().all(|i| {
            i.file
                .as_ref()
                .is_none_or(|other| other.path() != file.path())
        }) {
            items.push(Item {
                name,
                bytes: file.bytes().to_vec(),
                file: Some(file),
                new: None,
            });
        }
    };
    if !args.files.is_empty() {
        for path in &args.files {
            let name = visible(path.as_os_str().as_bytes());
            refuse_json(&name)?;
            add(
                name.clone(),
                Editable::read(path, None, global.max_file).map_err(|e| unreadable(&name, &e))?,
            );
        }
        return Ok(items);
    }
    let site = global.engine().locate()?;
    let contract = load::contract_path(&site, global.contract.as_deref()).map_err(load_failed)?;
    refuse_json(&contract.to_string())?;
    let path = site.root.join(contract.to_os());
    let file = Editable::read(&path, Some(&site.root), global.max_file).map_err(|e| {
        load_failed(match e.kind() {
            io::ErrorKind::NotFound if !path.is_symlink() => LoadError::Missing(contract.clone()),
            _ => LoadError::Unreadable {
                path: contract.clone(),
                message: said(&e),
            },
        })
    })?;
    add(contract.to_string(), file);
    let beside = path.parent().unwrap_or(Path::new("."));
    for path in named(beside, ".test.vplan")
        .map_err(|e| unreadable(&visible(beside.as_os_str().as_bytes()), &e))?
    {
        let below = path.strip_prefix(&site.root).unwrap_or(&path);
        let name = visible(below.as_os_str().as_bytes());
        let file = Editable::read(&path, Some(&site.root), global.max_file)
            .map_err(|e| unreadable(&name, &e))?;
        add(name, file);
    }
    Ok(items)
}

fn refuse_json(name: &str) -> Result<(), Failure> {
    if !name.ends_with(".json") {
        return Ok(());
    }
    Err(Failure::usage(
        "vplan::usage::fmt_json",
        format!("`{name}` is JSON, and `vplan fmt` formats `.vplan` files"),
    )
    .help(format!("`vplan import {name}` converts it")))
}

fn said(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "it is larger than `--max-file` allows".to_owned(),
        _ => error.to_string(),
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let failure = Failure::usage(
        "vplan::usage::unreadable",
        format!("`{name}` cannot be read: {}", said(error)),
    );
    match error.kind() {
        io::ErrorKind::IsADirectory => {
            failure.help("name its files, as in `vplan fmt contracts/*.vplan`")
        }
        _ => failure,
    }
}

/// Formats one text. Its errors of syntax go to `faults`; everything else that is wrong with it is
/// the `Err`.
fn one(
    item: &mut Item,
    global: &Global,
    sources: &mut Sources,
    faults: &mut Vec<Diagnostic>,
) -> Result<(), Failure> {
    let name = &item.name;
    let text = std::str::from_utf8(&item.bytes).map_err(|e| {
        let at = e.valid_up_to();
        let byte = item.bytes.get(at).copied().unwrap_or(0);
        let message = format!("`{name}` is not UTF-8: byte 0x{byte:02x} at offset {at}");
        Failure::new(Exit::Contract.code(), load::NOT_UTF8.0, message)
            .help("save the file as UTF-8")
    })?;
    let id = sources.add(Source::new(name.clone(), text));
    let Some(source) = sources.get(id) else {
        return Ok(());
    };
    let caps = Caps {
        file_bytes: usize::try_from(global.max_file).unwrap_or(usize::MAX),
        ..Caps::default()
    };
    match reformat(source, id, &caps) {
        Ok(Formatted::Text(text)) => item.new = Some(text),
        Ok(Formatted::Invalid(diagnostics)) => faults.extend(diagnostics.sorted()),
        Ok(Formatted::TooLarge(diagnostics)) => {
            let why = diagnostics
                .iter()
                .next()
                .map(|d| d.message.clone())
                .unwrap_or_default();
            let message =
                format!("`{name}` cannot be formatted, it would be over a limit then: {why}");
            return Err(Failure::new(
                Exit::Contract.code(),
                "vplan::fmt::too_large",
                message,
            ));
        }
        Err(why) => {
            let message = format!(
                "`{name}` was left as it is: {why}; this is a fault of vplan, please report it"
            );
            return Err(Failure::new(
                Exit::Internal.code(),
                "vplan::internal",
                message,
            ));
        }
    }
    Ok(())
}

fn write(item: &Item) -> Result<(), Failure> {
    let (Some(file), Some(new)) = (&item.file, &item.new) else {
        return Ok(());
    };
    file.rewrite(new.as_bytes()).map_err(|e| {
        Failure::usage(
            "vplan::usage::unwritable",
            format!("`{}` cannot be written: {e}", item.name),
        )
    })
}

fn print_text(items: &[Item], check: bool, sound: bool, terminal: &Terminal) {
    let to_stdout = items.iter().any(|i| i.file.is_none());
    if to_stdout && !check {
        // A filter gives back what it cannot read: an editor may put it in the place of the text.
        for item in items {
            let text = item
                .new
                .as_ref()
                .map_or(item.bytes.as_slice(), |new| new.as_bytes());
            terminal.print_with(|out| out.write_all(text));
        }
        return;
    }
    let differing: Vec<&Item> = items.iter().filter(|i| i.differs()).collect();
    if check {
        for item in &differing {
            terminal.say(&shown_diff(item, terminal.color));
        }
    }
    if terminal.quiet || !sound || check && !differing.is_empty() {
        return;
    }
    if !check {
        differing
            .iter()
            .for_each(|item| terminal.say(&format!("{}: formatted\n", item.name)));
    }
    if differing.is_empty() {
        terminal.print(&format!(
            "{}, all formatted already\n",
            count(items.len(), "file")
        ));
    }
}

fn shown_diff(item: &Item, color: bool) -> String {
    let old = String::from_utf8_lossy(&item.bytes);
    diff::unified(
        &item.name,
        &old,
        item.new.as_deref().unwrap_or_default(),
        color,
    )
}

fn print_json(
    items: &[Item],
    check: bool,
    sources: &Sources,
    faults: &[Diagnostic],
    terminal: &Terminal,
) {
    let sound = items.iter().all(|i| i.new.is_some());
    let file = |item: &'_ Item| Entry {
        diff: item.differs().then(|| shown_diff(item, false)),
        path: item.name.clone(),
        status: match (&item.new, item.differs()) {
            (None, _) => State::Invalid,
            (_, false) => State::Formatted,
            (_, true) if check || !sound => State::Differs,
            (_, true) => State::Changed,
        },
        text: item.new.clone().filter(|_| item.file.is_none()),
    };
    terminal.print_json(&Document {
        diagnostics: diagnostic::messages(sources, faults),
        files: items.iter().map(file).collect(),
        version: 1,
    });
}

/// What was formatted.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'a> {
    /// Why files are invalid.
    diagnostics: Vec<Message<'a>>,
    /// The files, in the order in which they were named.
    files: Vec<Entry>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// A file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FormattedFile")]
struct Entry {
    /// What differs from the one layout, as a unified diff; absent when nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    /// Its name; `-` is standard input.
    path: String,
    /// How it stands.
    status: State,
    /// Of standard input: the text in the one layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// How a file stands.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "FormatState")]
enum State {
    /// It had the one layout already.
    Formatted,
    /// It has it now.
    Changed,
    /// It has another layout, and was not written.
    Differs,
    /// It has an error.
    Invalid,
}
