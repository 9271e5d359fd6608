//! Formats contracts in place, in their one layout.

use crate::{Engine, Failure, LoadError, visible_path};
use std::io;
use std::path::{Path, PathBuf};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::source::{Source, Sources};
use vplan_lang::layout::{Formatted, reformat};
use vplan_lang::parse::ParserCaps;
use vplan_os::files::rewrite::{Editable, list_by_suffix};
use vplan_os::input;
use vplan_repo::import::NOT_UTF8;
use vplan_repo::load;

/// Texts to format, with the results.
#[derive(Debug)]
pub struct Formatting {
    /// The texts, in the order in which they were named.
    pub texts: Vec<FormattedText>,
    /// The sources of the faults.
    pub sources: Sources,
    /// Errors of syntax.
    pub faults: Vec<Diagnostic>,
    /// Any other error of the first text that cannot be formatted.
    pub failure: Option<Failure>,
}

impl Formatting {
    /// Whether all of them can be formatted.
    pub fn is_sound(&self) -> bool {
        self.failure.is_none() && self.faults.is_empty()
    }
}

/// A text to format.
#[derive(Debug)]
pub struct FormattedText {
    /// The name for messages.
    pub name: String,
    /// None for standard input.
    pub file: Option<Editable>,
    /// The content before formatting.
    pub bytes: Vec<u8>,
    /// Its new content; `None` if it is invalid.
    pub new: Option<String>,
}

impl FormattedText {
    fn new(name: String, file: Editable) -> Self {
        Self {
            name,
            bytes: file.bytes().to_vec(),
            file: Some(file),
            new: None,
        }
    }

    /// Whether its layout changes.
    pub fn differs(&self) -> bool {
        let new = self.new.as_ref();
        new.is_some_and(|new| new.as_bytes() != self.bytes)
    }

    /// Whether both are one file, under any names.
    fn is_same(&self, other: &Editable) -> bool {
        let file = self.file.as_ref();
        file.is_some_and(|file| file.path() == other.path())
    }
}

impl Engine<'_> {
    /// Formats files, standard input (`-`), or by default the contract and the tests next to it.
    /// Writes nothing for a check, or if a file cannot be formatted.
    ///
    /// # Errors
    /// No contract, files that cannot be read or written.
    pub fn format(&self, files: &[PathBuf], check: bool) -> Result<Formatting, Failure> {
        let mut done = Formatting {
            texts: self.texts(files)?,
            sources: Sources::default(),
            faults: Vec::new(),
            failure: None,
        };
        for text in &mut done.texts {
            if let Err(fault) = one(text, self.max_file, &mut done.sources, &mut done.faults) {
                done.failure.get_or_insert(fault);
            }
        }
        if done.is_sound() && !check {
            let mut differing = done.texts.iter().filter(|text| text.differs());
            differing.try_for_each(write)?;
        }
        Ok(done)
    }

    /// Reads all texts before any of them is changed.
    fn texts(&self, files: &[PathBuf]) -> Result<Vec<FormattedText>, Failure> {
        if !files.iter().any(|f| f.as_os_str() == "-") {
            return match files {
                [] => self.own_texts(),
                files => self.named_texts(files),
            };
        }
        if files.len() > 1 {
            let message = "`-` stands alone: standard input is one text";
            return Err(Failure::usage("vplan::usage::fmt_stdin", message));
        }
        let bytes = input::standard(self.max_file).map_err(|e| unreadable("-", &e))?;
        Ok(vec![FormattedText {
            name: "-".to_owned(),
            file: None,
            bytes,
            new: None,
        }])
    }

    fn named_texts(&self, files: &[PathBuf]) -> Result<Vec<FormattedText>, Failure> {
        let mut texts: Vec<FormattedText> = Vec::new();
        for path in files {
            let name = visible_path(path);
            refuse_json(&name)?;
            let file =
                Editable::read(path, None, self.max_file).map_err(|e| unreadable(&name, &e))?;
            if !texts.iter().any(|text| text.is_same(&file)) {
                texts.push(FormattedText::new(name, file));
            }
        }
        Ok(texts)
    }

    /// Returns the contract, and the `*.test.vplan` next to it.
    fn own_texts(&self) -> Result<Vec<FormattedText>, Failure> {
        let site = self.locate()?;
        let contract = load::contract_path(&site, self.contract)?;
        refuse_json(&contract.to_string())?;
        let path = site.root.join(contract.to_os());
        let file = Editable::read(&path, Some(&site.root), self.max_file);
        let file = file.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound if !path.is_symlink() => {
                LoadError::Missing(contract.clone(), Vec::new())
            }
            _ => LoadError::Unreadable {
                path: contract.clone(),
                message: error_text(&e),
            },
        })?;
        let mut texts = vec![FormattedText::new(contract.to_string(), file)];
        let beside = path.parent().unwrap_or(Path::new("."));
        let tests = list_by_suffix(beside, ".test.vplan")
            .map_err(|e| unreadable(&visible_path(beside), &e))?;
        for path in tests {
            let below = path.strip_prefix(&site.root).unwrap_or(&path);
            let name = visible_path(below);
            let file = Editable::read(&path, Some(&site.root), self.max_file)
                .map_err(|e| unreadable(&name, &e))?;
            if !texts.iter().any(|text| text.is_same(&file)) {
                texts.push(FormattedText::new(name, file));
            }
        }
        Ok(texts)
    }
}

fn refuse_json(name: &str) -> Result<(), Failure> {
    if !name.ends_with(".json") {
        return Ok(());
    }
    let message = format!("`{name}` is JSON, and `vplan fmt` formats `.vplan` files");
    let help = format!("`vplan import {name}` converts it");
    Err(Failure::usage("vplan::usage::fmt_json", message).help(help))
}

fn error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::FileTooLarge => "it is larger than `--max-file` allows".to_owned(),
        _ => error.to_string(),
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let failure = Failure::unreadable(name, error_text(error));
    let is_folder = error.kind() == io::ErrorKind::IsADirectory;
    failure.helped(is_folder.then_some("name its files, as in `vplan fmt contracts/*.vplan`"))
}

/// Formats one text. Its errors of syntax go to `faults`; any other error is the `Err`.
fn one(
    item: &mut FormattedText,
    max_file: u64,
    sources: &mut Sources,
    faults: &mut Vec<Diagnostic>,
) -> Result<(), Failure> {
    let name = &item.name;
    let text = std::str::from_utf8(&item.bytes).map_err(|e| {
        let at = e.valid_up_to();
        let byte = item.bytes.get(at).copied().unwrap_or(0);
        let message = format!("`{name}` is not UTF-8: byte 0x{byte:02x} at offset {at}");
        Failure::contract(NOT_UTF8.0, message).help("save the file as UTF-8")
    })?;
    let id = sources.add(Source::new(name.clone(), text));
    let source = &sources[id];
    let caps = ParserCaps::of_bytes(usize::try_from(max_file).unwrap_or(usize::MAX));
    match reformat(source, id, &caps) {
        Ok(Formatted::Text(text)) => item.new = Some(text),
        Ok(Formatted::Invalid(diagnostics)) => faults.extend(diagnostics.sorted()),
        Ok(Formatted::TooLarge(diagnostics)) => {
            let why = diagnostics.iter().next().map_or("", |d| &d.message);
            let message =
                format!("`{name}` cannot be formatted, it would be over a limit then: {why}");
            return Err(Failure::contract("vplan::fmt::too_large", message));
        }
        Err(why) => {
            let what = format!("`{name}` was left as it is: {why}");
            return Err(Failure::internal(what));
        }
    }
    Ok(())
}

fn write(item: &FormattedText) -> Result<(), Failure> {
    let (Some(file), Some(new)) = (&item.file, &item.new) else {
        return Ok(());
    };
    file.rewrite(new.as_bytes()).map_err(|e| {
        let message = format!("`{}` cannot be written: {e}", item.name);
        Failure::usage("vplan::usage::unwritable", message)
    })
}
