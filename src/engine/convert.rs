//! Converts another tool's configuration to a contract, and writes that.

use super::failure::Failure;
use super::place::Engine;
use crate::base::diagnostic::Diagnostics;
use crate::base::setting::Row;
use crate::base::source::{Source, Sources};
use crate::base::unit::show_size;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::contract::Contract;
use crate::effect::os::{files, input};
use crate::effect::repo::import::{NOT_UTF8, TOO_LARGE};
use crate::effect::repo::load;
use crate::front::convert::{Conversion, Format, Weight, convert, recognize, text, verify};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The converted parts of a configuration, and the lost ones.
#[derive(Debug)]
pub struct Converted {
    /// The file that was read.
    pub name: String,
    /// The parts that were read, and those that are lost.
    pub conversion: Conversion,
    /// The contract.
    pub contract: Contract,
    /// Its text.
    pub text: String,
    /// The file, for places in it.
    pub sources: Sources,
}

impl Converted {
    /// Whether no check of the contract verifies anything.
    #[must_use]
    pub fn verifies_nothing(&self) -> bool {
        let mut checks = self.contract.checks.iter();
        checks.all(|check| check.has(Row::Setup))
    }

    /// Returns the number of parts that are lost, or mean something else now.
    #[must_use]
    pub fn heavy(&self) -> usize {
        let lost = self.conversion.lost.iter();
        lost.filter(|l| l.weight != Weight::NoEffect).count()
    }
}

impl Engine<'_> {
    /// Converts a file, or standard input (`-`), and checks the result.
    ///
    /// # Errors
    /// A file that cannot be read or is none of the kinds, errors in it.
    pub fn convert(&self, file: &Path, kind: Option<Format>) -> Result<Converted, Failure> {
        let name = visible(file.as_os_str().as_bytes());
        let content = read(file, &name, self.max_file)?;
        let kind = kind.or_else(|| recognize(&name, &content)).ok_or_else(|| {
            let message = format!("nothing tells what kind of file `{name}` is");
            Failure::usage("vplan::import::kind", message).help(
                "say it with `--from runr`, `--from ralph-tui`, `--from acode` or `--from verify-contract-json`",
            )
        })?;
        let mut sources = Sources::default();
        let id = sources.add(Source::new(name.clone(), &content));
        let mut sink = Diagnostics::default();
        let Some(conversion) = convert(&sources, id, kind, &mut sink) else {
            let message = format!("`{name}` cannot be converted, read as {}", kind.name());
            let failure = Failure::new(Exit::Contract, "vplan::import::invalid", message);
            return Err(Failure {
                diagnostics: Some(Box::new((sources, sink.sorted()))),
                ..failure
            });
        };
        let text = text(&conversion, &sources);
        // Whatever is wrong now is wrong with vplan; nothing has been written.
        let contract = verify(&conversion, &sources, &text).map_err(|message| {
            Failure::internal(format!("the conversion of `{name}` went wrong: {message}"))
                .help("please report it with the file")
        })?;
        Ok(Converted {
            name,
            conversion,
            contract,
            text,
            sources,
        })
    }

    /// Returns the path of the repository's contract, and its name.
    ///
    /// # Errors
    /// No repository, a contract outside of it.
    pub fn own_contract(&self) -> Result<(PathBuf, String), Failure> {
        let site = self.locate()?;
        let path = load::contract_path(&site, self.contract)
            .map_err(|e| Failure::usage(e.code(), e.to_string()))?;
        Ok((site.root.join(path.to_os()), path.to_string()))
    }
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
            let message = format!("`{name}` is larger than {}", show_size(cap));
            return Failure::new(Exit::Contract, TOO_LARGE.0, message)
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
        Failure::new(Exit::Contract, NOT_UTF8.0, message)
    })
}

/// Writes the contract; with `force` in the place of one that is there.
///
/// # Errors
/// A contract that is there already, a place that cannot be written.
pub fn write(target: &Path, shown: &str, text: &str, force: bool) -> Result<(), Failure> {
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
    files::replace(target, text.as_bytes()).map_err(|e| {
        Failure::new(
            Exit::Setup,
            "vplan::import::write",
            format!("`{shown}` cannot be written: {e}"),
        )
    })
}
