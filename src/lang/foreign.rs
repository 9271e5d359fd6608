//! Words of other tools, and what to write for each: one table, which the parser asks before it
//! looks for a misspelt word of the language.
//!
//! Whole are the vocabularies of GitHub Actions, pre-commit, lefthook, Turborepo and tox, as far as
//! a check could have them; of other tools the words for the same things. A word that the language
//! has too is not here: there it means what the language says.

use super::statement::Context;

/// The answer to a word of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The same value behind a word of the language.
    Word(&'static str),
    /// A number of such units, as the `timeout` of a check.
    Timeout(&'static str),
    /// A line of its own in place of the word and its value; where the value is `false`, nothing.
    Line(&'static str),
    /// A block around the check, which holds further checks: a sentence with its head.
    Around(&'static str),
    /// A sentence with the line to write.
    Write(&'static str),
    /// A reason why the language has no such thing.
    No(&'static str),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// The words, in lower case and without `-` and `_`, in which tools differ.
    pub words: &'static str,
    /// The answer.
    pub advice: Advice,
}

impl Foreign {
    /// Whether the answer is about checks and what is around them, so that it holds in this
    /// context.
    fn is_about(self, context: Context) -> bool {
        match context {
            Context::Top
            | Context::Group
            | Context::Check
            | Context::Override
            | Context::Service
            | Context::Defaults => true,
            Context::Limits => {
                matches!(self.advice, Advice::Word("jobs" | "budget" | "max-checks"))
            }
            _ => false,
        }
    }
}

/// Returns a word in lower case and without the marks in which tools differ.
fn plain(word: &str) -> Option<String> {
    if word.len() > 40 || !word.is_ascii() {
        return None;
    }
    let kept = word.chars().filter(|c| !matches!(c, '-' | '_' | '.'));
    Some(kept.map(|c| c.to_ascii_lowercase()).collect())
}

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|w| w == word)
}

/// Finds the row of a word, in whatever case and with or without hyphens and underscores.
#[must_use]
pub fn find(word: &str, context: Context) -> Option<Foreign> {
    let plain = plain(word)?;
    if matches!(context, Context::Change | Context::Override) && has(TAKEN_OUT.words, &plain) {
        return Some(TAKEN_OUT);
    }
    let mut rows = FOREIGN.iter().copied();
    rows.find(|row| row.is_about(context) && has(row.words, &plain))
}

/// Names the tool that has a word; of several the first.
#[must_use]
pub fn tool(word: &str) -> &'static str {
    let plain = plain(word).unwrap_or_default();
    let mut tools = VOCABULARIES.iter();
    tools
        .find(|(_, words)| has(words, &plain))
        .map_or("other tools", |(tool, _)| *tool)
}

/// The vocabularies of other tools, as far as a check could have them: each word has a row of
/// [`FOREIGN`], or is one of the language. The first five are whole.
pub const VOCABULARIES: &[(&str, &str)] = &[
    (
        "GitHub Actions",
        "name runname on push pullrequest schedule branches branchesignore tagsignore paths pathsignore permissions concurrency group jobs job if runson environment outputs timeoutminutes strategy matrix include exclude failfast maxparallel continueonerror container services image ports volumes options credentials secrets uses with args entrypoint steps id workingdirectory",
    ),
    (
        "pre-commit",
        "repos repo rev hooks hook id alias name entry language languageversion defaultlanguageversion additionaldependencies files exclude types typesor excludetypes alwaysrun passfilenames requireserial verbose logfile failfast stages defaultstages defaultinstallhooktypes minimumprecommitversion description args ci",
    ),
    (
        "lefthook",
        "commands jobs scripts script runner skip glob files filetypes root failtext stagefixed interactive usestdin priority parallel piped follow group exclude excludetags failonchanges extends remotes output",
    ),
    (
        "Turborepo",
        "tasks pipeline dependson outputs cache passthroughenv globalpassthroughenv globalenv globaldependencies dotenv outputlogs outputmode persistent interruptible interactive with extends remotecache boundaries ui concurrency description",
    ),
    (
        "tox",
        "commands commandspre commandspost changedir deps depends setenv passenv disallowpassenv allowlistexternals whitelistexternals ignoreerrors ignoreoutcome skipinstall basepython envlist testenv description isolatedbuild skipsdist usedevelop package packageenv nopackage extras dependencygroups installcommand listdependenciescommand sitepackages pippre download recreate envdir constrainpackagedeps minversion ignorebasepythonconflict parallelshowoutput platform labels argsarepaths runner interrupttimeout terminatetimeout suicidetimeout failfast",
    ),
    (
        "GitLab CI",
        "retry script beforescript afterscript allowfailure rules variables except artifacts stage resourcegroup",
    ),
    ("Nx", "cwd command executor targets dependencies"),
    ("Task", "cmds cmd sources generates preconditions desc"),
    ("just", "set alias export"),
];

const fn row(words: &'static str, advice: Advice) -> Foreign {
    Foreign { words, advice }
}

use Advice::{Around, Line, No, Timeout, Word, Write};

/// What takes a check, or a setting, out of what an import brings.
const TAKEN_OUT: Foreign = row(
    "except exclude unset remove drop disable omit delete",
    Word("without"),
);

/// The files of a condition, for all tools that list them beside a command.
const FILES: Advice = Around(
    "put the check into a block: `whenChangedAny \"GLOB\" … {`; in its command, `{changed}` stands for the changed files",
);
const NOT_FILES: Advice =
    Around("exclude in the block around the check: `whenChangedAny \"src/**\" \"!src/gen/**\" {`");
const WHEN: Advice = Around(
    "put the check into a block: `whenChangedAny \"GLOB\" {`, `whenExists \"PATH\" {`, `byRole NAME {` or `tier N {`",
);
const NAMED: Advice = Write(
    "the name stands in the head: `check NAME {`; for a longer text write `describe \"TEXT\"`",
);
/// Of words around several checks.
pub const COMMANDS: Advice = Write(
    "write one check for each command: `check NAME: COMMAND`; `needs NAME` puts them in order",
);
const BEFORE: Advice =
    Write("write a check of its own for it, with `setup` in its block: it runs before the others");
const AFTER: Advice =
    Write("write a check of its own for it, with `always` in its block: it runs whatever failed");
const ELSE: Advice = Around(
    "vplan has no `else`: close the block, and open one for the opposite, such as `whenChangedNone \"GLOB\" {`",
);
const INSTALLS: Advice =
    No("a check installs nothing: write a check with `setup` that runs the installer");
const MACHINE: Advice = No(
    "checks run on the machine on which vplan is started, or on one that `on NAME` asks a server for (`run --remote`)",
);
const SECRET: Advice = Write("let it through from the environment: `pass-env NAME`");
const MATRIX: Advice = Around(
    "put the checks into a block: `each NAME in VALUE … {`; in it `{NAME}` stands for the value",
);
const SHOWN: Advice =
    No("`vplan run` shows the output of what failed, and keeps that of all checks in its record");
const FETCHED: Advice =
    No("hooks and actions are not fetched: write their command, `check NAME: COMMAND`");
const TRIGGER: Advice = No(
    "a contract is no workflow: `vplan run` is started by a hook or a pipeline (`vplan help integrations`)",
);
const CACHE: Advice = Write(
    "what its result depends on is written `inputs \"src/**\" …`; a pass on the same is reused",
);
const PERSISTENT: Advice = No(
    "a check ends, and what it leaves running is ended with it; what runs beside it is written at the top level: `service NAME: COMMAND`",
);
const INPUT: Advice = No("a check gets no keyboard and no standard input");

/// The table.
pub const FOREIGN: &[Foreign] = &[
    // GitHub Actions
    row("if when condition rules onlyif runif", WHEN),
    row("else elif elseif otherwise", ELSE),
    row(
        "unless except skipif ignoreif",
        Around(
            "write the opposite around the check: `whenChangedNone \"GLOB\" {`, or `whenAbsent \"PATH\" {`",
        ),
    ),
    row("whenexistsall whenallexist", Word("whenExists")),
    row("whenanyexists whenexistsone", Word("whenExistsAny")),
    row(
        "whenexistsnone whennoneexists whenmissing whennotexists",
        Word("whenAbsent"),
    ),
    row("name id key alias title label displayname", NAMED),
    row(
        "runname",
        Write("write `contract \"NAME\"` at the top level"),
    ),
    row(
        "description desc summary doc docs message failtext",
        Word("describe"),
    ),
    row(
        "workingdirectory workdir cwd changedir chdir directory folder root workspace",
        Word("dir"),
    ),
    row("timeoutminutes", Timeout("m")),
    row(
        "timeoutseconds timeoutsecs timelimit timeoutsec maxtime",
        Timeout("s"),
    ),
    row("timeoutms timeoutmillis timeoutmilliseconds", Timeout("ms")),
    row(
        "interrupttimeout terminatetimeout suicidetimeout",
        No(
            "a command that is out of time is ended at once: write `timeout 5m` for the time that it has",
        ),
    ),
    row(
        "continueonerror allowfailure allowfail softfail ignoreerrors ignoreoutcome ignorefailure ignorefailures ignoreerror warnonly nonblocking",
        Line("severity warning"),
    ),
    row(
        "env environment environ variables vars setenv envs dotenv envfile export",
        Word("env"),
    ),
    row("secrets secret credentials", SECRET),
    row(
        "needs dependson depends dependencies deps after requiresjobs wants prerequisites prereqs waitfor",
        Word("needs"),
    ),
    row(
        "before runbefore",
        Write(
            "order is written at the top level: `sequence this -> other`; or `needs this` in the other check",
        ),
    ),
    row("runson platform os pool agent", MACHINE),
    row(
        "services service sidecar sidecars background daemon",
        Write(
            "what runs beside checks stands at the top level: `service NAME: COMMAND`; a check says `with NAME`",
        ),
    ),
    row(
        "container image ports volumes options docker",
        No(
            "a check starts no container by itself: write the command that does, `run docker run …`",
        ),
    ),
    row("strategy matrix parametrize foreach for", MATRIX),
    row(
        "failfast",
        No("`vplan run` ends with the first failure; `--keep-going` goes on"),
    ),
    row(
        "maxparallel concurrency parallel parallelism workers threads maxjobs",
        Word("jobs"),
    ),
    row(
        "group resourcegroup mutex lock concurrencygroup serial requireserial",
        Write("write `exclusive NAME`: never two of these at once"),
    ),
    row(
        "permissions",
        No("a check has the rights of whoever starts vplan"),
    ),
    row(
        "push pullrequest schedule cron workflowdispatch workflowcall stages stage hooktype defaultstages branches branchesignore tagsignore events ref refs",
        TRIGGER,
    ),
    row("pathsignore", NOT_FILES),
    row(
        "job step task target recipe rule hook suite testenv",
        Word("check"),
    ),
    row(
        "jobs",
        Write(
            "write one check for each job, `check NAME: COMMAND`; how many run side by side is `jobs N` in `limits {` at the top level",
        ),
    ),
    row(
        "steps tasks targets recipes hooks commands cmds scripts pipeline testenvs envlist workflow workflows checks",
        COMMANDS,
    ),
    row(
        "uses repo repos rev language languageversion defaultlanguageversion additionaldependencies minimumprecommitversion remotes defaultinstallhooktypes ci",
        FETCHED,
    ),
    row(
        "args posargs arguments params parameters entrypoint",
        Write("arguments stand in the command: `run PROGRAM ARGUMENT …`"),
    ),
    row(
        "outputs output generates artifacts artefacts products creates",
        Word("produces"),
    ),
    // pre-commit
    row(
        "entry command cmd script exec execute commandline bash sh",
        Word("run"),
    ),
    row(
        "files glob globs filetypes fileset patterns match matches onchange changes sources paths filter types typesor watch",
        FILES,
    ),
    row(
        "exclude excludes excludetypes ignore ignores skip excludetags",
        NOT_FILES,
    ),
    row(
        "alwaysrun",
        No("a check outside of every block runs for every change: leave it out"),
    ),
    row(
        "passfilenames",
        Write("the changed files stand where you write them: `run PROGRAM {changed}`"),
    ),
    row(
        "verbose silent quiet logfile outputlogs outputmode parallelshowoutput ui follow method show",
        SHOWN,
    ),
    // lefthook
    row(
        "runner executor interpreter",
        Write("the program stands in front: `run PROGRAM SCRIPT`"),
    ),
    row(
        "stagefixed autofix autostage",
        Write(
            "what mends a failure is written `fix COMMAND`, and `vplan fix --staged` stages what it mended; a check that changes tracked files says so, `writes \"GLOB\"`",
        ),
    ),
    row("fixer fixcommand fixcmd repair mend", Word("fix")),
    row("interactive usestdin stdin tty", INPUT),
    row(
        "priority weight order",
        Write(
            "order is written at the top level, `sequence first -> second`, or `needs first` in the second",
        ),
    ),
    row(
        "piped",
        Write("write `needs NAME` in what comes after: it runs only when the other passed"),
    ),
    row(
        "failonchanges nodiff verifyclean",
        Write("write `unchanged \"**\"`: it fails when it changes such a file"),
    ),
    row(
        "extends extend inherit template include",
        Write("write `import \"FILE\" as NAME` at the top level"),
    ),
    // Turborepo
    row("cache caching cached", CACHE),
    row(
        "passthroughenv globalpassthroughenv passenv envpassthrough keepenv",
        Word("pass-env"),
    ),
    row(
        "disallowpassenv",
        No("a variable that no `pass-env` names is not let through: leave it out"),
    ),
    row(
        "globalenv",
        Write("write `env NAME=VALUE`, or `pass-env NAME`, in `defaults {` at the top level"),
    ),
    row(
        "globaldependencies",
        Write("write `inputs \"GLOB\"` in `defaults {` at the top level"),
    ),
    row("persistent interruptible", PERSISTENT),
    row(
        "remotecache boundaries",
        No("passes are reused on this machine alone: write `inputs \"GLOB\" …`"),
    ),
    // tox
    row("commandspre beforescript presteps beforeall pre", BEFORE),
    row(
        "commandspost afterscript post finally cleanup teardown",
        AFTER,
    ),
    row(
        "allowlistexternals whitelistexternals",
        No("every program on the PATH may be started: leave it out"),
    ),
    row(
        "basepython install installcommand skipinstall skipsdist usedevelop package packageenv wheel extras dependencygroups sitepackages pippre constrainpackagedeps isolatedbuild download recreate envdir listdependenciescommand nopackage ignorebasepythonconflict minversion provision python",
        INSTALLS,
    ),
    row("labels keywords categories category groups", Word("tags")),
    row(
        "argsarepaths",
        Write("paths in a command are relative to the check's `dir \"PATH\"`"),
    ),
    // Others.
    row(
        "retry attempts tries maxretries maxattempts retrycount retrytimes flakyretries reruns repeat",
        Word("retries"),
    ),
    row(
        "allowedexitcodes successcodes exitcode exitcodes expectexit okcodes returncode exits",
        Word("exit"),
    ),
    row("skipcodes skipexitcodes", Word("skip-exit")),
    row("optionaltask allowmissing", Line("optional")),
    row(
        "precondition preconditions assert guard",
        Write(
            "what must be there is a condition around the check, `whenExists \"PATH\" {`, or a check of its own with `file \"PATH\" {`",
        ),
    ),
    row("level importance", Word("severity")),
    row(
        "set let var const local",
        No(
            "the language has no variables: write the value where it is used, or `paths NAME = \"GLOB\"` for files",
        ),
    ),
    row(
        "function def macro define",
        No("the language is data: write a script, and `run ./script.sh`"),
    ),
    row(
        "source load includefile requirefile",
        Write("write `import \"FILE\" as NAME` at the top level"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::statement::STATEMENTS;
    use std::collections::BTreeSet;

    #[test]
    fn a_word_has_one_row_and_its_answer_is_in_the_language() {
        let mut seen = BTreeSet::new();
        for row in FOREIGN {
            for word in row.words.split(' ') {
                assert!(seen.insert(word), "`{word}` stands twice");
                assert!(word.bytes().all(|b| b.is_ascii_lowercase()), "{word}");
                assert!(find(word, Context::Check).is_some(), "{word}");
            }
            if let Word(word) = row.advice {
                assert!(STATEMENTS.iter().any(|s| s.word == word), "{word}");
            }
            if let Around(text) | Write(text) | No(text) | Line(text) = row.advice {
                assert!(
                    text.matches('`').count().is_multiple_of(2) && !text.ends_with('.'),
                    "{text}"
                );
            }
        }
        assert!(find("Working_Directory", Context::Check).is_some());
        assert!(find("retry", Context::Gate).is_none());
        assert_eq!(
            (tool("depends-on"), tool("chdir")),
            ("Turborepo", "other tools")
        );
        for (name, words) in VOCABULARIES {
            for word in words.split(' ') {
                let known = find(word, Context::Check).is_some();
                assert!(
                    known || STATEMENTS.iter().any(|s| s.word == word),
                    "{name}: {word}"
                );
            }
        }
    }
}
