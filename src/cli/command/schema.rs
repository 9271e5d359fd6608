//! `vplan schema`: prints the schemas of the documents that vplan prints and writes.
//!
//! The schemas are made from the very types that are serialised, only when requested.

mod documents;
mod shape;

use super::answer::*;
use documents::{ALL, Kind, List, SchemaEntry};

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

/// Returns the names of all documents.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|document| document.name)
}

/// Prints a schema, or lists them.
///
/// # Errors
/// A name that no document has.
pub fn run(global: &Global, args: &Schema, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[OutputFormat::Text, OutputFormat::Json])?;
    match &args.name {
        // What is printed is JSON in any form: a schema has only one.
        Some(name) => {
            let schema = shape::schema(find(name)?);
            terminal.print_with(|out| {
                serde_json::to_writer_pretty(&mut *out, &schema)?;
                out.write_all(b"\n")
            });
        }
        None if format == OutputFormat::Json => {
            let entry = |&Kind {
                             about, by, name, ..
                         }: &Kind| SchemaEntry { about, by, name };
            let schemas = ALL.iter().map(entry).collect();
            terminal.print_document(&List { schemas });
        }
        None => {
            let width = widest(ALL.iter().map(|k| k.name));
            let line = |k: &Kind| format!("{:width$}  {}\n", k.name, k.about);
            terminal.print(&ALL.iter().map(line).collect::<String>());
        }
    }
    Ok(Exit::Success.code())
}

/// The document of that name, or what the command of that name prints.
fn find(name: &str) -> Result<&'static Kind, Failure> {
    let by_command = || ALL.iter().find(|k| k.by.contains(&name));
    let found = ALL.iter().find(|k| k.name == name);
    found.or_else(by_command).ok_or_else(|| {
        let names = ALL
            .iter()
            .flat_map(|k| [k.name].into_iter().chain(k.by.iter().copied()));
        let help = suggest(name, names, "`vplan schema` lists them");
        let message = format!("no document is called `{}`", visible(name));
        Failure::usage("vplan::usage::unknown_schema", message).help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Every text that people read.
    fn descriptions(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                out.extend(
                    object
                        .get("description")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
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
            let schema = shape::schema(kind).to_value();
            assert_eq!(
                schema,
                shape::schema(kind).to_value(),
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
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("command");
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
            ("explain", "explanation"),
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
            assert_eq!(
                (failure.exit, failure.help.as_deref()),
                (Exit::Usage, Some(help))
            );
        }
    }
}
