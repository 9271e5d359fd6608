//! `vplan argv`: shows how vplan parses a command's text.

use super::answer::*;
use crate::args::Argv;
use vplan_base::command::{Command, Env, Piece, Unsupported};
use vplan_base::word::Word;
use vplan_engine::propose::command;

#[derive(Serialize, JsonSchema)]
pub(super) struct Read<'a> {
    /// The words; `{changed}` means the changed files.
    argv: Vec<Word>,
    /// The assignments in front of them.
    env: &'a Env,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Unread<'a> {
    /// The reason why no program can be started with it.
    unsupported: &'a Unsupported,
}

/// Prints the environment and the argument vector, or what is unsupported (exit 3).
///
/// # Errors
/// A text that is not UTF-8, a format other than JSON.
pub fn run(global: &Global, args: &Argv, terminal: &Terminal) -> Result<u8, Failure> {
    format(global, &[OutputFormat::Json])?;
    match command(&args.text)? {
        Command::Argv { env, pieces } => {
            let word = |piece: Piece| match piece {
                Piece::Word(word) => word,
                Piece::Changed => Word::from("{changed}"),
            };
            terminal.print_document(&Read {
                argv: pieces.into_iter().map(word).collect(),
                env: &env,
            });
            Ok(Exit::Success.code())
        }
        Command::Unsupported { unsupported, .. } => {
            terminal.print_document(&Unread {
                unsupported: &unsupported,
            });
            Ok(Exit::Contract.code())
        }
    }
}
