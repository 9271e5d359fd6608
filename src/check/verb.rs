//! The verb that a caller states in front of a command: `test:make x`.

use super::Kind;
use super::tool::Invocation;
use super::tool::matched::{CommandReading, read};
use super::tool::table::{TaskVerb, ToolClass, task_word};
use vplan_base::command::{Command, Piece};
use vplan_base::nearest::nearest;
use vplan_base::span::Span;

/// A command of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRequest {
    /// The stated verb.
    pub verb: Option<Kind>,
    /// The command itself.
    pub command: Command,
}

impl From<Command> for CommandRequest {
    fn from(command: Command) -> Self {
        let verb = None;
        Self { verb, command }
    }
}

impl CommandRequest {
    /// Reads a command with or without a verb; `parse` reads the command.
    pub fn read(text: &str, parse: fn(&str) -> Command) -> Self {
        let (verb, text) = split(text);
        let command = parse(text);
        Self { verb, command }
    }

    /// Returns the text in normal form. The name of a program that begins like a verb is quoted.
    pub fn to_text(&self) -> String {
        let text = self.command.to_text();
        match (self.verb, &self.command) {
            (Some(verb), _) => format!("{}:{text}", verb.verb()),
            (None, Command::Argv { .. }) if split(&text).0.is_some() || wrong(&text).is_some() => {
                let (program, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
                format!("'{program}'{rest}")
            }
            (None, _) => text,
        }
    }
}

/// Splits a text into the stated verb and the text of the command.
pub fn split(text: &str) -> (Option<Kind>, &str) {
    let found = prefix(text).and_then(|(word, command)| {
        let verb = Kind::ALL.into_iter().find(|kind| kind.verb() == word);
        Some((verb.filter(|kind| demand(*kind).is_some())?, command))
    });
    found.map_or((None, text), |(verb, command)| (Some(verb), command))
}

/// The word before the first colon and the text after it. URLs and drives have none.
fn prefix(text: &str) -> Option<(&str, &str)> {
    let (word, command) = text.trim_start().split_once(':')?;
    let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
    (is_word && !command.starts_with(['/', '\\'])).then(|| (word, command.trim_start()))
}

/// A text that begins with what looks like a verb and is none of a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a verb of a command")]
pub struct WrongVerb {
    pub word: String,
    /// Its place in the text.
    pub span: Span,
    /// The text to write instead.
    pub help: String,
}

/// Returns the fault of a text that begins with a misspelt verb, or one that takes no command.
pub fn wrong(text: &str) -> Option<WrongVerb> {
    let (word, _) = prefix(text).filter(|_| split(text).0.is_none())?;
    let known = Kind::ALL.map(Kind::verb);
    let near = nearest(word, known)?;
    let start = text.len() - text.trim_start().len();
    let help = if known.contains(&word) {
        "the verbs of a command are `run`, `compile`, `test` and `lint`; `sh -c '…'` gives text to a shell".to_owned()
    } else {
        format!("did you mean `{near}:`? `run:{word}:…` starts a program of this name")
    };
    Some(WrongVerb {
        word: word.to_owned(),
        span: Span::new(start, start + word.len()),
        help,
    })
}

/// How much a verb demands in addition to the exit code; `None` for one that takes no command.
fn demand(verb: Kind) -> Option<u8> {
    match verb {
        Kind::Run => Some(0),
        Kind::Compile | Kind::Lint => Some(1),
        Kind::Test => Some(2),
        Kind::Shell | Kind::File | Kind::Judge => None,
    }
}

/// Returns the verb and the `min-tests` of a command of a request. What the table of tools knows of
/// it counts, unless the caller states a verb that demands as much. A test need not show its tests
/// where only the table says that it is one, does not know its output, and executes it.
pub fn of_words<'a>(
    stated: Option<Kind>,
    words: impl Iterator<Item = &'a [u8]>,
) -> (Kind, Option<u64>) {
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    let words: Vec<String> = words.collect();
    let is_dry = Invocation::parse(&words.iter().map(String::as_str).collect::<Vec<_>>()).is_dry();
    let reading = read(&words);
    // Where the name of a task says nothing, only that it tests is taken from its runner.
    let is_told = |reading: &&CommandReading| match &reading.task {
        Some(task) => reading.verb == Some(Kind::Test) || task_word(task) != TaskVerb::Unclear,
        None => reading.class != ToolClass::Task || reading.verb == Some(Kind::Test),
    };
    let known = reading.as_ref().filter(is_told).and_then(|r| r.verb);
    let known = known.unwrap_or(Kind::Run);
    match stated.filter(|stated| demand(*stated) >= demand(known)) {
        Some(stated) => (stated, None),
        None => {
            let is_counted = reading.is_some_and(|reading| !reading.formats.is_empty());
            let is_excused = known == Kind::Test && !is_counted && !is_dry;
            (known, is_excused.then_some(0))
        }
    }
}

/// Returns the verb and the `min-tests` of a command of a request.
pub fn of_command(stated: Option<Kind>, command: &Command) -> (Kind, Option<u64>) {
    let Command::Argv { pieces, .. } = command else {
        return (stated.unwrap_or_default(), None);
    };
    let words = pieces.iter().map(|piece| match piece {
        Piece::Word(word) => word.as_bytes(),
        Piece::Changed => b"{changed}",
    });
    of_words(stated, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::command::Env;

    #[test]
    fn verbs_in_front_of_commands() {
        for (text, verb, command) in [
            ("test:make x", Some(Kind::Test), "make x"),
            ("  lint: make x", Some(Kind::Lint), "make x"),
            ("compile:", Some(Kind::Compile), ""),
            ("run:test:x", Some(Kind::Run), "test:x"),
            ("npm run test:unit", None, "npm run test:unit"),
            ("'test:x' y", None, "'test:x' y"),
            ("A=1 test:x", None, "A=1 test:x"),
            ("Test:x", None, "Test:x"),
            ("shell:x", None, "shell:x"),
            ("test://host/x", None, "test://host/x"),
        ] {
            assert_eq!(split(text), (verb, command), "{text}");
        }
    }

    #[test]
    fn a_text_in_normal_form_reads_back() {
        let parse = |text: &str| {
            let words = text.split(' ').map(|word| word.trim_matches('\'').into());
            let (env, pieces) = (Env::new(), words.map(Piece::Word).collect());
            Command::Argv { env, pieces }
        };
        for text in [
            "make x",
            "test:make x",
            "run:test:x y",
            "'test:x' y",
            "'tset:x'",
            "npm:run",
        ] {
            let read = CommandRequest::read(text, parse);
            assert_eq!(read.to_text(), text);
        }
    }

    #[test]
    fn texts_that_look_like_a_verb() {
        for (text, help) in [
            ("tset:make x", Some("did you mean `test:`?")),
            ("Test: make x", Some("did you mean `test:`?")),
            ("lnit:make", Some("did you mean `lint:`?")),
            (" shell:a | b", Some("the verbs of a command are")),
            ("judge:x", Some("the verbs of a command are")),
            ("test:make", None),
            ("run:tset:make", None),
            ("npm run tset:unit", None),
            ("npm:run x", None),
            ("C:\\tools\\test.exe", None),
            ("file:///x/test", None),
            ("tset", None),
        ] {
            let found = wrong(text);
            assert_eq!(found.is_some(), help.is_some(), "{text}");
            if let (Some(found), Some(help)) = (found, help) {
                assert!(found.help.starts_with(help), "{}", found.help);
                assert_eq!(
                    text.get(found.span.start..found.span.end),
                    Some(&*found.word)
                );
            }
        }
    }

    #[test]
    fn a_stated_verb_demands_no_less_than_the_table_knows() {
        use Kind::{Compile, Lint, Run, Test};
        for (text, stated, verb, min_tests) in [
            ("cargo test", None, Test, None),
            ("cargo test", Some(Run), Test, None),
            ("cargo test", Some(Lint), Test, None),
            ("make test", None, Test, Some(0)),
            ("make test", Some(Run), Test, Some(0)),
            ("make -n test", Some(Run), Test, None),
            ("make test", Some(Test), Test, None),
            ("cargo build", Some(Run), Compile, None),
            ("cargo build", Some(Lint), Lint, None),
            ("cargo build", Some(Test), Test, None),
            ("./x", None, Run, None),
            ("./x", Some(Lint), Lint, None),
            ("./x", Some(Test), Test, None),
        ] {
            let words = text.split(' ').map(str::as_bytes);
            let want = (verb, min_tests);
            assert_eq!(of_words(stated, words), want, "{text} as {stated:?}");
        }
    }
}
