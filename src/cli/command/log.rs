//! `vplan log`: prints what a check wrote.

use super::answer::*;
use crate::history::unknown_check;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write};
use vplan_base::inert::{inert, without_commands};
use vplan_os::files::read_start;
use vplan_store::history::{History, Logged};

/// Limit of a log in a JSON document, in bytes: its end is kept.
const MOST: u64 = 1 << 20;
/// Limit of a piece of a line that is filtered at once, in bytes.
const PIECE: u64 = 1 << 16;

/// `vplan log`
#[derive(Debug, Args)]
#[command(after_help = format!("Exit codes: 0 printed, also when the check wrote nothing; 2 usage, also when there is no such run, check or try; 5 the log cannot be read.\n\n{NAMES}"))]
pub struct LogArgs {
    /// The check, or the service.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The run.
    #[arg(long, value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// The number of the try, from 1; the last one otherwise.
    #[arg(long = "try", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: Option<u32>,
    /// Print the very bytes that it wrote; otherwise terminal sequences are taken out.
    #[arg(long)]
    pub raw: bool,
    /// The directory of the records.
    #[command(flatten)]
    pub records: Records,
}

/// The log of a check.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogDocument {
    /// Of the whole log.
    bytes: u64,
    /// The check.
    id: String,
    /// Relative to the run's folder; absent when the check wrote nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// The number of bytes left out of its beginning.
    omitted_bytes: u64,
    /// The run.
    run_id: String,
    /// Its text, made inert.
    text: String,
    /// The number of the try, from 1.
    #[serde(rename = "try")]
    attempt: u32,
}

/// Prints the log of a check.
///
/// # Errors
/// No such run, check or try; a log that no longer exists.
pub fn run(global: &Global, args: &LogArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    if args.raw && format == OutputFormat::Json {
        let message = "a JSON document cannot hold the very bytes of a log";
        return Err(Failure::usage("vplan::usage::raw", message)
            .help("leave out `--raw` or `--format json`"));
    }
    let (_, history) = open(global, &args.records)?;
    let id = pick(&history, &args.run)?;
    let logged = choose(&history, &id, args)?;
    let document = LogDocument {
        bytes: 0,
        id: args.name.clone(),
        log: logged.log.clone(),
        omitted_bytes: 0,
        run_id: id.clone(),
        text: String::new(),
        attempt: logged.attempt,
    };
    let Some(path) = logged.log else {
        if format == OutputFormat::Json {
            terminal.print_document(&document);
        } else if !terminal.quiet {
            terminal.note(&format!("`{}` wrote nothing\n", visible(&args.name)));
        }
        return Ok(0);
    };
    let gone = |why: io::Error| {
        let message = format!("the log of `{}` {why}", visible(&args.name));
        Failure::setup("vplan::records::log", message)
    };
    let mut file = history.log(&id, &path).map_err(gone)?;
    if format == OutputFormat::Json {
        let mut read = || {
            let bytes = file.metadata()?.len();
            let omitted_bytes = bytes.saturating_sub(MOST);
            file.seek(SeekFrom::Start(omitted_bytes))?;
            Ok::<_, io::Error>((bytes, omitted_bytes, read_start(&file, MOST)?))
        };
        let (bytes, omitted_bytes, tail) = read().map_err(gone)?;
        terminal.print_document(&LogDocument {
            bytes,
            omitted_bytes,
            text: inert(&tail),
            ..document
        });
    } else if args.raw {
        terminal.print_with(|out| io::copy(&mut file, out).map(|_| ()));
    } else {
        terminal.print_with(|out| harmless(file, out));
    }
    Ok(0)
}

/// Copies a log line by line, each made inert: no terminal sequence goes beyond its line, none is a
/// workflow command. Of a line without end, pieces.
fn harmless(file: File, out: &mut dyn Write) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut piece = Vec::new();
    loop {
        // What is left of a character that the last piece ended in.
        let kept = piece.len();
        if (&mut reader).take(PIECE).read_until(b'\n', &mut piece)? == 0 {
            return out.write_all(without_commands(&inert(&piece)).as_bytes());
        }
        let end = match std::str::from_utf8(piece.get(kept.saturating_sub(4)..).unwrap_or_default())
        {
            Err(_) if !piece.ends_with(b"\n") => incomplete(&piece),
            _ => piece.len(),
        };
        let rest = piece.split_off(end);
        out.write_all(without_commands(&inert(&piece)).as_bytes())?;
        piece = rest;
    }
}

/// Returns the offset of the last character if it is not complete.
fn incomplete(bytes: &[u8]) -> usize {
    let begins = bytes.iter().rev().take(3).position(|b| *b >= 0xc0);
    begins.map_or(bytes.len(), |back| bytes.len() - back - 1)
}

fn choose(history: &History, id: &str, args: &LogArgs) -> Result<Logged, Failure> {
    let name = visible(&args.name);
    let tries = history.tries(id);
    let unknown = |message: String, help: String| {
        Err(Failure::usage("vplan::records::unknown_check", message).help(help))
    };
    let all = format!("`vplan details {}` shows all of them", short(id));
    if !tries.planned.contains(&args.name) {
        if let Some(service) = history.service_log(id, &args.name) {
            return Ok(service);
        }
        let planned = tries.planned.iter().map(String::as_str);
        return Err(unknown_check(&args.name, planned, all));
    }
    let of = tries.tries.into_iter().filter(|t| t.id == args.name);
    let of: Vec<Logged> = of.collect();
    let last = of.iter().map(|t| t.attempt).max();
    let wanted = |t: &&Logged| args.attempt.is_none_or(|n| t.attempt == n);
    match (of.iter().rev().find(wanted), last) {
        (Some(found), _) => Ok(found.clone()),
        (None, None) => unknown(format!("`{name}` did not run in this run"), all),
        (None, Some(last)) => unknown(
            format!("`{name}` had only {}", count(last, "try")),
            "`--try` counts from 1".to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_log_is_harmless_and_complete() {
        let long = "é".repeat(100_000);
        for (text, want) in [
            ("plain\n".to_owned(), "plain\n".to_owned()),
            (
                "a\n::error::b\n##[c]\n".to_owned(),
                "a\n| ::error::b\n## [c]\n".to_owned(),
            ),
            (
                "\u{1b}[31mred\u{1b}[0m\r\nx".to_owned(),
                "red\nx".to_owned(),
            ),
            (long.clone(), long.clone()),
            (format!("a{long}"), format!("a{long}")),
            (format!("a{long}\nb\u{7}"), format!("a{long}\nb\u{fffd}")),
            (String::new(), String::new()),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.rewind().unwrap();
            let mut out = Vec::new();
            harmless(file, &mut out).unwrap();
            assert!(
                String::from_utf8(out).unwrap() == want,
                "{} bytes",
                text.len()
            );
        }
    }
}
