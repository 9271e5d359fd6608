//! What a shell script does, by the programs that it starts: one level deep, in whatever shape of the
//! language, so that no part of it is left unread.

use crate::shell::compares_tree;
use crate::words::{listed, words_of};
use vplan_check::Kind;
use vplan_check::tool::Form;
use vplan_check::tool::matched::{CommandReading, read};
use vplan_check::tool::table::ToolClass;

/// Words in front of a command, and what a script tells the CI system with.
const KEYWORDS: &str = "if then elif else do while until ! time { && ||";
const TELLS: [&str; 3] = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"];

/// Returns what the tools of a script verify, and whether it compares the tree with what it was before. The error
/// is the reason why it is not a check, if one is known.
pub(crate) fn verb(text: &str) -> (Result<Kind, Option<&'static str>>, bool) {
    let text = text.replace("\\\n", " ");
    let code = text.lines().filter(|line| !line.trim().starts_with('#'));
    let code: Vec<&str> = code.collect();
    let has = |word: &str| code.iter().any(|line| line.contains(word));
    let parts = code
        .iter()
        .flat_map(|line| line.split(['(', ')', '`', '|', ';', '&']));
    let read = parts.filter_map(|part| {
        let mut words = words_of(part);
        words.retain(|word| !listed(KEYWORDS, word));
        read(&words)
    });
    let read: Vec<CommandReading> = read.collect();
    let compares = has("git diff") || has("git status");
    let is_checking = |one: &CommandReading| matches!(one.form, Form::AsWritten(_));
    let writes = |one: &CommandReading| one.class == ToolClass::Tool && !is_checking(one);
    let writes = read.iter().any(writes);
    let is_tool = |one: &&CommandReading| matches!(one.class, ToolClass::Tool | ToolClass::Task);
    let verbs = read.iter().filter(is_tool);
    let verbs: Vec<Kind> = verbs.filter_map(|one| one.verb).collect();
    let kinds = [Kind::Test, Kind::Lint, Kind::Compile, Kind::Run];
    let reason = |one: &CommandReading| match one.class {
        ToolClass::Never(why) | ToolClass::Service(why) | ToolClass::Setup(why) => Some(why),
        _ => None,
    };
    let verb = match kinds.into_iter().find(|verb| verbs.contains(verb)) {
        Some(_) if writes && !compares => Err(Some("it writes or generates files")),
        Some(verb) => Ok(verb),
        None if TELLS.iter().any(|name| has(name)) => Err(Some("it tells CI something")),
        None => Err(read.iter().find_map(reason)),
    };
    (
        verb,
        compares && (writes || code.iter().any(|line| compares_tree(line))),
    )
}

#[cfg(test)]
mod tests {
    use super::verb;
    use vplan_check::Kind;

    #[test]
    fn scripts_by_the_tools_that_they_start() {
        let compared = "go generate ./...\nif [ -n \"$(git status -s)\" ]; then exit 1; fi\n";
        for (text, want) in [
            ("set -e\ngo vet ./...\n", Ok(Kind::Lint)),
            ("f() {\n  cargo \\\n    miri test\n}\nf\n", Ok(Kind::Test)),
            (
                "if [ -n \"$(gofmt -l .)\" ]; then\n  exit 1\nfi\n",
                Ok(Kind::Lint),
            ),
            (
                "for x in a b; do ! tsc -p $x || exit 1; done\n",
                Ok(Kind::Compile),
            ),
            (compared, Ok(Kind::Lint)),
            (
                "# git diff shows what it did\ngo generate ./...\n",
                Err(Some("it writes or generates files")),
            ),
            (
                "go generate ./...\n",
                Err(Some("it writes or generates files")),
            ),
            ("# cargo test\npip install x\n", Err(Some("installs"))),
            (
                "x=\"$(curl -s y | jq .z)\"\n",
                Err(Some("reaches the network, or changes git's state")),
            ),
            (
                "echo \"a=b\" >> \"$GITHUB_OUTPUT\"\n",
                Err(Some("it tells CI something")),
            ),
            ("./frobnicate\n", Err(None)),
        ] {
            assert_eq!(
                verb(text).1,
                text.starts_with("go generate ./...\nif"),
                "{text}"
            );
            assert_eq!(verb(text).0, want, "{text}");
        }
    }
}
