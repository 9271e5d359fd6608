//! `vplan schema`: prints the schemas of the documents that vplan prints and writes.
//!
//! The schemas are made from the very types that are serialised, only when requested.

use super::format;
use crate::base::nearest::nearest;
use crate::base::vocabulary::Exit;
use crate::base::word::visible;
use crate::cli::args::{Format, Global};
use crate::cli::terminal::Terminal;
use crate::engine::Failure;
use clap::Args;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema as Json, json_schema};
use serde::Serialize;
use serde_json::Value;

/// `vplan schema`
#[derive(Debug, Args)]
#[command(
    after_help = "A schema describes what vplan writes today. Within a `version`, keys may be added and none goes away or gets another \
                  meaning: whoever reads a document lets pass what they do not know.\n\nExit codes: 0 printed; 2 usage, also when there \
                  is no such document."
)]
pub struct Schema {
    /// A document, or the command that prints it; without it they are listed.
    pub name: Option<String>,
}

/// A kind of document.
struct Kind {
    name: &'static str,
    /// One line for people.
    about: &'static str,
    /// The commands that print it with `--format json`.
    by: &'static [&'static str],
    /// Whether vplan reads it and another program writes it.
    read: bool,
    /// One of these.
    shapes: &'static [fn(&mut SchemaGenerator) -> Json],
}

/// The schema of a type.
fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Json {
    generator.root_schema_for::<T>()
}

/// A document that vplan writes.
const fn written(
    name: &'static str,
    about: &'static str,
    by: &'static [&'static str],
    shapes: &'static [fn(&mut SchemaGenerator) -> Json],
) -> Kind {
    Kind {
        name,
        about,
        by,
        read: false,
        shapes,
    }
}

/// All documents, by name.
const ALL: &[Kind] = &[
    written(
        "argv",
        "a command text as vplan reads it",
        &["argv"],
        &[
            of::<super::argv::Read<'static>>,
            of::<super::argv::Unread<'static>>,
        ],
    ),
    written(
        "check",
        "what is wrong with a contract",
        &["check"],
        &[of::<super::check::Document<'static>>],
    ),
    written(
        "classify",
        "why a command failed",
        &["classify"],
        &[of::<super::classify::Answer>],
    ),
    written(
        "details",
        "what each check of a recorded run did, and why it was there",
        &["details"],
        &[of::<super::details::Document>],
    ),
    written(
        "diff",
        "what two plans, or two contracts, differ in",
        &["diff"],
        &[
            of::<crate::plan::diff::plans::PlanDiff>,
            of::<crate::plan::diff::ContractDiff>,
        ],
    ),
    written(
        "ended-run",
        "what vplan remembers of a run that has ended: ended/ of the state directory",
        &[],
        &[of::<crate::run::stands::Ended>],
    ),
    written(
        "event",
        "a line of events.jsonl and of `run --events`",
        &[],
        &[of::<crate::run::journal::Line>],
    ),
    written(
        "feedback",
        "what failed and what to do about it; also what `loop --feedback json` hands to a fixer",
        &["feedback"],
        &[
            of::<crate::run::feedback::Feedback>,
            of::<super::r#loop::Unexplained<'static>>,
            of::<super::r#loop::ReviewRequest<'static>>,
        ],
    ),
    written(
        "fmt",
        "the layout of contracts",
        &["fmt"],
        &[of::<super::fmt::Document<'static>>],
    ),
    written(
        "gate",
        "a round that was recorded, how subjects stand, where one begins, what was accepted or forgotten",
        &["gate"],
        &[
            of::<crate::ledger::round::Recorded>,
            of::<super::gate::Standings<'static>>,
            of::<super::gate::Accepted<'static>>,
            of::<super::gate::Begun<'static>>,
            of::<super::gate::Forgotten>,
        ],
    ),
    written(
        "gc",
        "records that were removed",
        &["gc"],
        &[of::<super::gc::Document>],
    ),
    written(
        "hook-session",
        "what is remembered of the start of an agent's session: sessions/ of the state directory",
        &[],
        &[of::<super::hook::Record>],
    ),
    written(
        "import",
        "another tool's configuration as a contract",
        &["import"],
        &[of::<super::import::Document<'static>>],
    ),
    Kind {
        name: "judge-answer",
        about: "what a judge writes to its standard output",
        by: &[],
        read: true,
        shapes: &[of::<crate::check::judge::Answer>],
    },
    written(
        "judge-question",
        "what a judge reads from its standard input",
        &[],
        &[of::<crate::check::judge::Question<'static>>],
    ),
    written(
        "kept-pass",
        "a pass that is kept for reuse: the second line of its file",
        &[],
        &[of::<crate::reuse::entry::Entry>],
    ),
    written(
        "ledger",
        "the rounds of all subjects: ledger.json of the state directory",
        &[],
        &[of::<crate::ledger::document::Document>],
    ),
    written(
        "lock-account",
        "what became of the lock",
        &["lock"],
        &[of::<super::lock::Account>],
    ),
    written(
        "log",
        "what a check of a recorded run wrote",
        &["log"],
        &[of::<super::log::Document>],
    ),
    written(
        "loop",
        "rounds of verification and repair",
        &["loop"],
        &[of::<super::r#loop::Answer<'static>>],
    ),
    written(
        "plan",
        "a plan: also plan.json, and a plan file `.json`",
        &["plan", "explain"],
        &[of::<crate::plan::Plan>],
    ),
    written(
        "plan-written",
        "what `plan --output` wrote",
        &["plan"],
        &[of::<super::plan::Written<'static>>],
    ),
    written(
        "proposal",
        "a question and its answer: proposal.json of a run",
        &[],
        &[of::<crate::plan::proposal::RecordedProposal>],
    ),
    Kind {
        name: "proposal-answer",
        about: "what a proposer writes to its standard output",
        by: &[],
        read: true,
        shapes: &[of::<crate::plan::proposal::Answer>],
    },
    written(
        "proposal-question",
        "what a proposer reads from its standard input",
        &[],
        &[of::<crate::plan::proposal::Question>],
    ),
    written(
        "recover",
        "a repaired list of commands or plan, or why there is none",
        &["recover"],
        &[of::<super::recover::Document>],
    ),
    written(
        "report",
        "what came of a run: also report.json",
        &["run", "merge"],
        &[of::<crate::run::report::Report>],
    ),
    written(
        "runs",
        "the recorded runs",
        &["runs"],
        &[of::<super::runs::Document>],
    ),
    written("schemas", "this list", &["schema"], &[of::<List>]),
    written(
        "stats",
        "how checks fare over many runs",
        &["stats"],
        &[of::<super::stats::Document>],
    ),
    written(
        "status",
        "how the latest run ended, and whether it is about what is here",
        &["status"],
        &[of::<super::status::Document<'static>>],
    ),
    written(
        "std",
        "the contracts shipped with vplan",
        &["std"],
        &[of::<super::std::List>],
    ),
    written(
        "test",
        "the tests of a contract, and what came of them",
        &["test"],
        &[of::<crate::cli::render::test::json::Document<'static>>],
    ),
    written(
        "timeline",
        "what happened in a recorded run, in order",
        &["report"],
        &[of::<super::report::Document>],
    ),
    written(
        "verify",
        "whether a report is what vplan wrote",
        &["verify"],
        &[of::<super::verify::Document<'static>>],
    ),
];

/// The documents that have a schema.
#[derive(Serialize, JsonSchema)]
struct List {
    /// By name.
    schemas: Vec<Entry>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// A kind of document.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchemaEntry")]
struct Entry {
    /// One line for people.
    about: &'static str,
    /// The commands that print it with `--format json`.
    by: &'static [&'static str],
    /// Its name.
    name: &'static str,
}

/// Prints a schema, or lists them.
///
/// # Errors
/// A name that no document has.
pub fn run(global: &Global, args: &Schema, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    match &args.name {
        // What is printed is JSON in any form: a schema has only one.
        Some(name) => {
            let schema = schema(find(name)?);
            terminal.print_with(|out| {
                serde_json::to_writer_pretty(&mut *out, &schema)?;
                out.write_all(b"\n")
            });
        }
        None if format == Format::Json => {
            let schemas = ALL
                .iter()
                .map(|k| Entry {
                    about: k.about,
                    by: k.by,
                    name: k.name,
                })
                .collect();
            terminal.print_json(&List {
                schemas,
                version: 1,
            });
        }
        None => {
            let width = ALL.iter().map(|k| k.name.len()).max().unwrap_or(0);
            terminal.print(
                &ALL.iter()
                    .map(|k| format!("{:width$}  {}\n", k.name, k.about))
                    .collect::<String>(),
            );
        }
    }
    Ok(Exit::Success.code())
}

/// The document of that name, or what the command of that name prints.
fn find(name: &str) -> Result<&'static Kind, Failure> {
    let found = ALL
        .iter()
        .find(|k| k.name == name)
        .or_else(|| ALL.iter().find(|k| k.by.contains(&name)));
    found.ok_or_else(|| {
        let names = ALL
            .iter()
            .flat_map(|k| std::iter::once(k.name).chain(k.by.iter().copied()));
        let help = match nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`vplan schema` lists them".to_owned(),
        };
        let message = format!("no document is called `{}`", visible(name.as_bytes()));
        Failure::usage("vplan::usage::unknown_schema", message).help(help)
    })
}

/// The schema of a kind of document.
fn schema(kind: &Kind) -> Json {
    let settings = SchemaSettings::draft2020_12();
    let settings = if kind.read {
        settings.for_deserialize()
    } else {
        settings.for_serialize()
    };
    let mut generator = settings.into_generator();
    let mut schema = match kind.shapes {
        [one] => one(&mut generator),
        several => {
            let any: Vec<Value> = several
                .iter()
                .map(|shape| part(shape(&mut generator)))
                .collect();
            json_schema!({"$schema": "https://json-schema.org/draft/2020-12/schema", "anyOf": any})
        }
    };
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    if !kind.read {
        RecursiveTransform(lenient).transform(&mut schema);
    }
    RecursiveTransform(plain).transform(&mut schema);
    let version = if kind.name == "plan" {
        crate::plan::canonical::VERSION
    } else {
        1
    };
    schema.insert(
        "$id".to_owned(),
        format!("urn:vplan:schema:{}:{version}", kind.name).into(),
    );
    schema.insert("title".to_owned(), format!("vplan {}", kind.name).into());
    schema.insert("description".to_owned(), kind.about.into());
    schema
}

/// A schema as a part of another one.
fn part(mut schema: Json) -> Value {
    for key in ["$schema", "$defs", "title"] {
        schema.remove(key);
    }
    schema.to_value()
}

/// Types that vplan reads again refuse what they do not know; who else reads them is to let it
/// pass. And what is left out when there is nothing to say is never null.
fn lenient(schema: &mut Json) {
    schema
        .remove("additionalProperties")
        .into_iter()
        .filter(|value| *value != Value::Bool(false))
        .for_each(|value| {
            schema.insert("additionalProperties".to_owned(), value);
        });
    let required: Vec<String> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(name)
        .collect();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (_, property) in properties
        .iter_mut()
        .filter(|(name, _)| !required.contains(name))
    {
        not_null(property);
    }
}

fn name(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn not_null(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(any)) = object.get_mut("anyOf") {
        any.retain(|s| s.get("type").is_none_or(|t| t != "null"));
        // A reference with a description beside it says the same as one inside `anyOf`.
        if let [Value::Object(one)] = any.as_slice() {
            let one = one.clone();
            object.remove("anyOf");
            one.into_iter().for_each(|(key, value)| {
                object.entry(key).or_insert(value);
            });
        }
    }
}

/// A version is the same everywhere; descriptions are made of docstrings: what only their tool
/// understands is taken out.
fn plain(schema: &mut Json) {
    if schema.get("const").is_some_and(|v| *v == 1) {
        schema.insert(
            "description".to_owned(),
            "The version of this shape.".into(),
        );
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text
            .replace("[`", "`")
            .replace("`]", "`")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text that people read.
    fn descriptions(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                out.extend(object.get("description").and_then(name));
                object.values().for_each(|v| descriptions(v, out));
            }
            Value::Array(list) => list.iter().for_each(|v| descriptions(v, out)),
            _ => {}
        }
    }

    #[test]
    fn names_are_sorted_and_nobody_reads_rust() {
        let names: Vec<&str> = ALL.iter().map(|k| k.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        for kind in ALL {
            let schema = schema(kind).to_value();
            assert_eq!(
                schema,
                super::schema(kind).to_value(),
                "{} is made twice the same",
                kind.name
            );
            for text in schema["$defs"]
                .as_object()
                .into_iter()
                .flat_map(|d| d.keys())
            {
                assert!(
                    !text.ends_with(|c: char| c.is_ascii_digit()),
                    "{}: two types are called {text}",
                    kind.name
                );
            }
            let mut texts = Vec::new();
            descriptions(&schema, &mut texts);
            for text in texts {
                let rust = text
                    .split('`')
                    .any(|word| word.contains("::") && !word.starts_with("vplan::"));
                assert!(!rust && !text.contains("]("), "{}: {text}", kind.name);
                assert!(
                    !text.contains("src/") && !text.contains(".md section"),
                    "{}: {text}",
                    kind.name
                );
            }
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads the sources")]
    fn each_command_with_a_document_has_its_schema() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/command");
        let commands = super::super::help::subcommand(None).unwrap();
        let mut seen = 0;
        for command in commands.get_subcommands().map(clap::Command::get_name) {
            let text =
                std::fs::read_to_string(dir.join(format!("{command}.rs"))).unwrap_or_default();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let has = code.contains("Format::Json");
            let known = ALL.iter().any(|k| k.by.contains(&command));
            assert_eq!(
                has, known,
                "`{command}` has `--format json`, or else no schema"
            );
            seen += usize::from(has);
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn a_document_or_its_command() {
        for (name, want) in [
            ("plan", "plan"),
            ("explain", "plan"),
            ("run", "report"),
            ("lock", "lock-account"),
            ("report", "report"),
        ] {
            assert_eq!(find(name).ok().map(|k| k.name), Some(want));
        }
        for (name, help) in [
            ("reprot", "did you mean `report`?"),
            ("", "`vplan schema` lists them"),
            ("help", "`vplan schema` lists them"),
        ] {
            let failure = find(name).err().unwrap();
            assert_eq!((failure.exit, failure.help.as_deref()), (2, Some(help)));
        }
    }
}
