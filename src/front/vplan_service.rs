//! Lowers `service` blocks, and checks the use of service placeholders.

use super::vplan::{Content, Lowering};
use vplan_base::command::{Command, Env, Piece};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::hole::{Escape, service_hole, service_holes};
use vplan_base::setting::Row;
use vplan_base::span::Span;
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_contract::InclusionIndex;
use vplan_contract::draft::{At, Ready, Service, Verb};
use vplan_lang::ast::{Arg, Hole, Holed, HoledWord, Node, Value};
use vplan_lang::error::HOLE_PLACE;
use vplan_lang::statement::Keyword;

impl Lowering<'_> {
    /// Lowers a `service`.
    pub(super) fn service(&mut self, node: &Node<'_>) {
        let Some(name) = self.values.word(node) else {
            self.draft.absent.push(String::new());
            return;
        };
        let mut verbs = Vec::new();
        for command in self.commands(node) {
            let verb = Verb::Command(Kind::Run, command.value);
            verbs.push(At::new(verb, command.place));
        }
        let Content {
            verbs: own,
            settings,
            mut broken,
            ..
        } = self.content(node);
        verbs.extend(own);
        let mut ready = Vec::new();
        for line in node.lines() {
            broken |= line.broken;
            if line.statement.keyword == Keyword::Ready && !line.broken {
                let place = self.place(line.span);
                ready.extend(self.ready(line).map(|ready| At::new(ready, place)));
            }
        }
        self.report_literal_holes(node);
        self.draft.services.push(Service {
            name,
            verbs,
            ready,
            settings,
            broken,
            inclusion: InclusionIndex::CONTRACT,
        });
    }

    fn ready(&self, node: &Node<'_>) -> Option<Ready> {
        let mut values = node.values();
        let (form, what) = (values.next()?, values.next()?);
        let form = form.word()?;
        Some(match (form, &what.value) {
            ("tcp", Value::Word(port)) => Ready::Tcp((*port).to_owned()),
            ("file", _) => Ready::File(self.values.text(what, Escape::Nothing)?),
            ("line", _) => Ready::Line(self.values.text(what, Escape::Nothing)?),
            (_, Value::Command(command)) => Ready::Run(command.fill(&self.values.holes)),
            _ => return None,
        })
    }

    /// Returns the first service placeholder in a check, or in an import's change of a check. None
    /// if a line could not be read: it may have been the one with `with`.
    pub(super) fn hole_of_service(&self, node: &Node<'_>) -> Option<At<String>> {
        let lines = node.lines().iter();
        if node.broken || lines.clone().any(|line| line.broken) {
            return None;
        }
        let args = node.args.iter().chain(lines.flat_map(|line| &line.args));
        let hole = |arg: &Arg<'_>| {
            let found = match &arg.value {
                Value::Command(command) => command.find_hole(is_service_hole),
                Value::Assignment(pair) => pair.find_hole(is_service_hole),
                _ => None,
            };
            found.map(|found| At::new(found, self.place(arg.span)))
        };
        args.into_iter().find_map(hole)
    }

    /// Reports literal text that looks like a service placeholder in commands with services. A plan
    /// could not distinguish the two.
    pub(super) fn report_literal_holes(&mut self, node: &Node<'_>) {
        let lines = node.lines().iter();
        let takes_holes = |line: &&Node<'_>| match line.statement.keyword {
            Keyword::Ready | Keyword::Row(Row::Env | Row::Fix) => true,
            Keyword::Row(_) => false,
            _ => line.body.is_none(),
        };
        let lines = lines.filter(takes_holes);
        let args = node.args.iter().chain(lines.flat_map(|line| &line.args));
        let found = args.filter(|arg| self.is_literal(arg)).map(|arg| arg.span);
        let found: Vec<Span> = found.collect();
        for span in found {
            let message = "the text of a hole is no text here";
            let label = "`{port}` or `{tmp}` is written, and nothing is filled in";
            let error = Diagnostic::at(HOLE_PLACE, message, self.place(span), label);
            let error = error.help("beside a service they always stand for its port and its folder: write them outside of '…' and `shell`, `env PORT={port}` and `\"$PORT\"` in a text for a shell");
            self.values.sink.push(error);
        }
    }

    /// Whether an argument has literal text that looks like a service placeholder.
    fn is_literal(&self, arg: &Arg<'_>) -> bool {
        match &arg.value {
            Value::Command(command) => {
                let Command::Argv { env, pieces } = command.fill(&self.values.holes) else {
                    return false;
                };
                is_more(command, &env, &pieces)
            }
            Value::Assignment(pair) => {
                let (name, value) = pair.fill(&self.values.holes);
                let own = |hole: &&Hole| hole.word == HoledWord::Variable(name.clone());
                let before = pair.value.1.as_bytes();
                count_placeholders(&value)
                    != pair
                        .holes
                        .iter()
                        .filter(own)
                        .filter(|h| is_of_service(before, h))
                        .count()
            }
            Value::Shell(text) => service_holes(text).next().is_some(),
            Value::Str(string) => {
                let filled = self.values.text(arg, Escape::Nothing).unwrap_or_default();
                let written = if string.holes {
                    service_holes(&string.text).count()
                } else {
                    0
                };
                service_holes(&filled).count() != written
            }
            _ => false,
        }
    }
}

/// Whether words have text that looks like a placeholder but is not one.
fn is_more(command: &Holed<Command>, env: &Env, pieces: &[Piece]) -> bool {
    let Command::Argv {
        env: env_before,
        pieces: before,
    } = &command.value
    else {
        return false;
    };
    let words = before.iter().zip(pieces).enumerate();
    let words = words.filter_map(|(n, pair)| match pair {
        (Piece::Word(before), Piece::Word(word)) => Some((HoledWord::Piece(n), before, word)),
        _ => None,
    });
    let variables = env_before.iter().filter_map(|(name, before)| {
        let of = HoledWord::Variable(name.clone());
        Some((of, before, env.get(name)?))
    });
    words.chain(variables).any(|(of, before, word)| {
        let holes = command.holes.iter().filter(|hole| hole.word == of);
        count_placeholders(word)
            != holes
                .filter(|hole| is_of_service(before.as_bytes(), hole))
                .count()
    })
}

/// Returns the number of apparent service placeholders in a word.
fn count_placeholders(word: &Word) -> usize {
    word.as_str().map_or(0, |text| service_holes(text).count())
}

/// Whether a placeholder's name belongs to a service.
fn is_service_hole(name: &str) -> bool {
    service_hole(name).is_some()
}

fn is_of_service(word: &[u8], hole: &Hole) -> bool {
    let text = word.get(hole.range.clone()).map(String::from_utf8_lossy);
    text.is_some_and(|text| service_holes(&text).next().is_some())
}
