//! Command lines.

use clap::{ColorChoice, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use vplan::cli::command_line::CommandLine;
use vplan::cli::hints::advised;

/// Any words, each ended by a zero, as arguments: read or refused with a documented code, always
/// the same way, and the short way of reading, which builds one subcommand, agrees with the long
/// one.
pub fn arguments(bytes: &[u8]) {
    let mut words = vec![OsString::from("vplan")];
    words.extend(
        bytes
            .split(|b| *b == 0)
            .take(24)
            .map(|w| OsString::from_vec(w.to_vec())),
    );
    let long = CommandLine::command()
        .color(ColorChoice::Never)
        .try_get_matches_from(&words)
        .and_then(|matches| CommandLine::from_arg_matches(&matches));
    match (
        CommandLine::read(words.clone(), |_| ColorChoice::Never),
        long,
    ) {
        (Ok(short), Ok(long)) => assert_eq!(format!("{short:?}"), format!("{long:?}"), "{words:?}"),
        (Err(short), Err(long)) => {
            // The advice about other tools' flags is added to the error of either.
            let long = advised(long, &words);
            assert_eq!(
                (short.kind(), short.to_string()),
                (long.kind(), long.to_string()),
                "{words:?}"
            );
            assert_eq!(short.use_stderr(), short.exit_code() != 0, "{words:?}");
            assert!(matches!(short.exit_code(), 0 | 2), "{words:?}");
        }
        (short, long) => panic!("{words:?}: {short:?}, should be {long:?}"),
    }
}
