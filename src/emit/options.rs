//! The options of an emitted file. Free text in them consists of characters that mean nothing to
//! YAML, to a shell, or to the expressions of a CI system.

use std::fmt;

/// The code of an option that cannot be used.
pub const USAGE: &str = "vplan::usage::emit";
/// Maximum number of shards with `auto`.
pub(crate) const AUTO_MOST: u32 = 20;
/// The expected time of a shard above which `auto` uses more shards.
pub(crate) const AUTO_TARGET: &str = "10m";
/// The default number of shards of GitLab.
const OF_GITLAB: u32 = 4;
/// Limit of a free text, in bytes.
const LONGEST: usize = 1_000;

/// A system that an emitted file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// GitHub Actions: a workflow.
    Github,
    /// GitLab CI: a pipeline, or a file that one includes.
    Gitlab,
    /// Slurm: a script that submits itself as a job array.
    Slurm,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Github, Self::Gitlab, Self::Slurm];

    /// Returns its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Slurm => "slurm",
        }
    }

    /// Returns the system with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.word() == word)
    }

    /// Returns the fewest and the most shards that the system takes.
    pub const fn bounds(self) -> (u32, u32) {
        match self {
            Self::Github => (1, 256),
            Self::Gitlab => (2, 200),
            Self::Slurm => (1, 1_000),
        }
    }
}

/// The number of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// As many as needed to keep each of them within `AUTO_TARGET`, but at most `AUTO_MOST`.
    Auto,
    /// A fixed number.
    Fixed(u32),
}

/// The place of the revision that a change is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseFrom {
    /// The CI system provides it.
    Auto,
    /// The default branch.
    Default,
    /// None: every tracked file counts as changed.
    All,
    /// The value of a variable.
    Variable(String),
}

/// The source of the vplan that the jobs start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramFrom {
    /// The first job builds it, from the revision that two variables of the project name.
    #[default]
    Build,
    /// It is on the PATH already.
    Installed,
}

/// The minimum coverage of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastCoverage {
    /// At least one effective check.
    Some,
    /// Nothing waived, dropped, cut or skipped.
    Full,
}

/// The options of the command line.
#[derive(Clone, Debug, Default)]
pub struct EmitRequest<'a> {
    /// `--shards`.
    pub shards: Option<&'a str>,
    /// `--base-from`.
    pub base_from: Option<&'a str>,
    /// `--contract`.
    pub contract: Option<&'a str>,
    /// `--image`.
    pub image: Option<&'a str>,
    /// `--program`.
    pub program: Option<ProgramFrom>,
    /// `--require`.
    pub require: Option<LeastCoverage>,
    /// `--sbatch-args`.
    pub sbatch_args: Option<&'a str>,
}

/// Options that fit their target. Only [`EmitOptions::new`] makes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitOptions {
    pub(crate) target: Target,
    pub(crate) shards: Shards,
    pub(crate) base_from: BaseFrom,
    contract: Option<String>,
    pub(crate) image: Option<String>,
    program: ProgramFrom,
    require: Option<LeastCoverage>,
    sbatch_args: Vec<String>,
}

/// The reason why an option cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionError {
    /// One line for people.
    pub message: String,
    /// The next step for the user.
    pub help: String,
}

fn wrong<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, OptionError> {
    Err(OptionError {
        message: message.into(),
        help: help.into(),
    })
}

impl EmitOptions {
    /// Checks the options of the command line.
    ///
    /// # Errors
    /// An option that the target does not have, a number of shards that it does not take, a text
    /// with characters that are not allowed.
    pub fn new(target: Target, asked: &EmitRequest<'_>) -> Result<Self, OptionError> {
        let (of, flags): (_, &[_]) = match target {
            Target::Slurm => (
                "GitHub and GitLab",
                &[
                    (asked.image.is_some(), "--image"),
                    (asked.program.is_some(), "--program"),
                ],
            ),
            _ => ("Slurm", &[(asked.sbatch_args.is_some(), "--sbatch-args")]),
        };
        if let Some((_, flag)) = flags.iter().find(|(is_asked, _)| *is_asked) {
            let word = target.word();
            let message = format!("`{flag}` is for {of}, and has no effect for `{word}`");
            return wrong(message, format!("leave `{flag}` out"));
        }
        Ok(Self {
            target,
            shards: shards(target, asked.shards)?,
            base_from: base_from(target, asked.base_from)?,
            contract: asked.contract.map(path).transpose()?,
            image: asked.image.map(image).transpose()?,
            program: match target {
                Target::Slurm => ProgramFrom::Installed,
                _ => asked.program.unwrap_or_default(),
            },
            require: asked.require,
            sbatch_args: sbatch_args(asked.sbatch_args.unwrap_or_default())?,
        })
    }

    /// Whether the first job builds vplan.
    pub(crate) fn builds(&self) -> bool {
        self.program == ProgramFrom::Build
    }

    /// Returns the words for `sbatch`, in a line.
    pub(crate) fn sbatch_args(&self) -> String {
        self.sbatch_args.join(" ")
    }

    /// Returns the arguments of `vplan plan` that select the change, each after a blank.
    pub(crate) fn of_plan(&self) -> String {
        let base = match &self.base_from {
            BaseFrom::Auto => " --base auto".to_owned(),
            BaseFrom::Default => String::new(),
            BaseFrom::All => " --all".to_owned(),
            BaseFrom::Variable(name) => format!(" --base=\"${name}\""),
        };
        format!("{}{base} --last", self.of_contract())
    }

    /// Returns the argument that names the contract, after a blank.
    pub(crate) fn of_contract(&self) -> String {
        let contract = self.contract.as_ref();
        contract.map_or(String::new(), |path| format!(" --contract={path}"))
    }

    /// Returns the words of `vplan plan` that divide a plan.
    pub(crate) fn of_division(&self) -> String {
        match self.shards {
            Shards::Auto => format!("--divide {AUTO_MOST} --target {AUTO_TARGET}"),
            Shards::Fixed(count) => format!("--divide {count}"),
        }
    }

    /// Returns the arguments of `vplan merge` for the coverage of a pass, after a blank.
    pub(crate) fn of_verdict(&self) -> &'static str {
        match self.require {
            None => "",
            Some(LeastCoverage::Some) => " --require some",
            Some(LeastCoverage::Full) => " --require full",
        }
    }

    /// Returns the arguments of `vplan emit` that reproduce these options.
    pub fn words(&self) -> String {
        let mut words = format!("{} --shards {}", self.target.word(), self.shards);
        if self.base_from != base_default(self.target) {
            words.push_str(&format!(" --base-from {}", self.base_from));
        }
        words.push_str(&self.of_contract());
        if let Some(image) = &self.image {
            words.push_str(&format!(" --image {image}"));
        }
        if !self.builds() && self.target != Target::Slurm {
            words.push_str(" --program installed");
        }
        words.push_str(self.of_verdict());
        if !self.sbatch_args.is_empty() {
            words.push_str(&format!(" --sbatch-args='{}'", self.sbatch_args()));
        }
        words
    }
}

impl fmt::Display for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(count) => write!(f, "{count}"),
        }
    }
}

impl fmt::Display for BaseFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Default => f.write_str("default"),
            Self::All => f.write_str("all"),
            Self::Variable(name) => write!(f, "env:{name}"),
        }
    }
}

/// Returns the default source of the base: a job of Slurm has no CI system that could tell it.
fn base_default(target: Target) -> BaseFrom {
    match target {
        Target::Slurm => BaseFrom::Default,
        _ => BaseFrom::Auto,
    }
}

fn shards(target: Target, asked: Option<&str>) -> Result<Shards, OptionError> {
    let (least, most) = target.bounds();
    let word = target.word();
    match (asked, target) {
        (None, Target::Gitlab) => Ok(Shards::Fixed(OF_GITLAB)),
        (Some("auto"), Target::Gitlab) => wrong(
            "the number of shards stands in a pipeline of GitLab, so that `auto` has no meaning there",
            format!("name it: `--shards {OF_GITLAB}`"),
        ),
        (None | Some("auto"), _) => Ok(Shards::Auto),
        (Some(text), _) => {
            let is_number = text.bytes().all(|b| b.is_ascii_digit());
            let count = text.parse::<u32>().ok().filter(|_| is_number);
            match count.filter(|count| (least..=most).contains(count)) {
                Some(count) => Ok(Shards::Fixed(count)),
                None => wrong(
                    format!("`--shards` of `{word}` is a number from {least} to {most}"),
                    "each shard is a job of its own",
                ),
            }
        }
    }
}

fn base_from(target: Target, asked: Option<&str>) -> Result<BaseFrom, OptionError> {
    let Some(text) = asked else {
        return Ok(base_default(target));
    };
    match (text, text.strip_prefix("env:")) {
        ("auto", _) => Ok(BaseFrom::Auto),
        ("default", _) => Ok(BaseFrom::Default),
        ("all", _) => Ok(BaseFrom::All),
        (_, Some(name)) if is_variable(name) => Ok(BaseFrom::Variable(name.to_owned())),
        (_, Some(_)) => wrong(
            "`--base-from env:NAME` wants the name of a variable",
            "a name has letters, digits and `_`, and does not begin with a digit",
        ),
        _ => wrong(
            "`--base-from` is `auto`, `default`, `all` or `env:NAME`",
            "`env:NAME` takes the revision from a variable when the job runs",
        ),
    }
}

fn is_variable(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(is_word) && name.len() <= LONGEST
}

/// Whether a text consists of letters, digits and these signs, and begins with a letter, a digit or
/// one of `first`.
fn is_plain(text: &str, signs: &str, first: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || first.contains(c));
    let plain = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    begins && text.chars().all(plain) && text.len() <= LONGEST
}

fn path(text: &str) -> Result<String, OptionError> {
    if is_plain(text, "._/-", "._") {
        return Ok(text.to_owned());
    }
    wrong(
        "the path of `--contract` stands in the text, where only letters, digits and `.`, `_`, `/`, \
         `-` may be, and it is relative to the root of the repository",
        "call the file so, such as `contracts/verify.vplan`",
    )
}

fn image(text: &str) -> Result<String, OptionError> {
    if is_plain(text, "._/:@-", "") {
        return Ok(text.to_owned());
    }
    wrong(
        "`--image` names an image, with letters, digits and `.`, `_`, `/`, `:`, `@`, `-`",
        "such as `rust:1.95` or `registry.example.org/ci/rust@sha256:…`",
    )
}

/// The options of `sbatch` that the script sets itself, or that would prevent the submission.
const RESERVED: &str =
    "array chdir dependency error help output parsable test-only usage version wait wrap";

fn sbatch_args(text: &str) -> Result<Vec<String>, OptionError> {
    let mut words = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let name = word.strip_prefix("--").unwrap_or_default();
        if !is_plain(name, "._/:=,@%+-", "") {
            return wrong(
                "each word of `--sbatch-args` is `--name` or `--name=value`, with letters, digits \
                 and `.`, `_`, `/`, `:`, `=`, `,`, `@`, `%`, `+`, `-`",
                "such as `--sbatch-args='--partition=ci --time=1:00:00'`",
            );
        }
        // sbatch takes the beginning of a name for the name.
        let name = name.split('=').next().unwrap_or_default();
        let mut reserved = RESERVED.split(' ');
        if let Some(own) = reserved.find(|own| own.starts_with(name)) {
            return wrong(
                format!(
                    "`--{name}` in `--sbatch-args` is `--{own}` of sbatch, which the script needs for itself"
                ),
                "leave it out",
            );
        }
        words.push(word.to_owned());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(target: Target, asked: &EmitRequest<'_>) -> Result<String, String> {
        let made = EmitOptions::new(target, asked).map_err(|e| e.message);
        made.map(|options| options.words())
    }

    #[test]
    fn options_that_fit_are_said_again() {
        let asked = EmitRequest {
            shards: Some("8"),
            base_from: Some("env:FROM"),
            contract: Some("ci/verify.vplan"),
            require: Some(LeastCoverage::Full),
            ..EmitRequest::default()
        };
        let ci = EmitRequest {
            image: Some("ghcr.io/a/b@sha256:0"),
            program: Some(ProgramFrom::Installed),
            ..asked.clone()
        };
        assert_eq!(
            made(Target::Github, &ci).unwrap(),
            "github --shards 8 --base-from env:FROM --contract=ci/verify.vplan --image ghcr.io/a/b@sha256:0 \
             --program installed --require full"
        );
        let slurm = EmitRequest {
            sbatch_args: Some("  --partition=ci  --time=1:00:00 "),
            ..asked
        };
        assert_eq!(
            made(Target::Slurm, &slurm).unwrap(),
            "slurm --shards 8 --base-from env:FROM --contract=ci/verify.vplan --require full \
             --sbatch-args='--partition=ci --time=1:00:00'"
        );
        let none = EmitRequest::default();
        assert_eq!(made(Target::Github, &none).unwrap(), "github --shards auto");
        assert_eq!(made(Target::Gitlab, &none).unwrap(), "gitlab --shards 4");
        assert_eq!(made(Target::Slurm, &none).unwrap(), "slurm --shards auto");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        use Target::{Github, Gitlab, Slurm};
        let shards = |text| EmitRequest {
            shards: Some(text),
            ..EmitRequest::default()
        };
        let base = |text| EmitRequest {
            base_from: Some(text),
            ..EmitRequest::default()
        };
        let contract = |text| EmitRequest {
            contract: Some(text),
            ..EmitRequest::default()
        };
        let image = |text| EmitRequest {
            image: Some(text),
            ..EmitRequest::default()
        };
        let args = |text| EmitRequest {
            sbatch_args: Some(text),
            ..EmitRequest::default()
        };
        let installed = EmitRequest {
            program: Some(ProgramFrom::Installed),
            ..EmitRequest::default()
        };
        for (target, asked, says) in [
            (Github, shards("0"), "from 1 to 256"),
            (Github, shards("257"), "from 1 to 256"),
            (Github, shards("+2"), "from 1 to 256"),
            (Gitlab, shards("1"), "from 2 to 200"),
            (Gitlab, shards("201"), "from 2 to 200"),
            (Gitlab, shards("auto"), "`auto` has no meaning"),
            (Slurm, shards("1001"), "from 1 to 1000"),
            (Slurm, shards("many"), "from 1 to 1000"),
            (Github, base("main"), "`env:NAME`"),
            (Github, base("env:"), "name of a variable"),
            (Github, base("env:9"), "name of a variable"),
            (Github, base("env:A B"), "name of a variable"),
            (Github, base("env:A\"$(x)"), "name of a variable"),
            (Github, contract("/etc/passwd"), "the path of"),
            (Github, contract("-x"), "the path of"),
            (Github, contract(""), "the path of"),
            (Github, contract("a b"), "the path of"),
            (Github, contract("${{ github.token }}"), "the path of"),
            (Github, contract("a\nb"), "the path of"),
            (Github, image("a\"b"), "names an image"),
            (Gitlab, image("-a"), "names an image"),
            (Gitlab, image("$X"), "names an image"),
            (Slurm, image("a"), "for GitHub and GitLab"),
            (Slurm, installed, "for GitHub and GitLab"),
            (Github, args("--a"), "is for Slurm"),
            (Slurm, args("-p ci"), "each word"),
            (Slurm, args("--partition ci"), "each word"),
            (Slurm, args("--comment=$(x)"), "each word"),
            (Slurm, args("--"), "each word"),
            (Slurm, args("--test-only"), "`--test-only` of sbatch"),
            (Slurm, args("--t"), "`--test-only` of sbatch"),
            (Slurm, args("--vers"), "`--version` of sbatch"),
            (Slurm, args("--arr=1"), "`--array` of sbatch"),
            (Slurm, args("--wait"), "`--wait` of sbatch"),
        ] {
            let said = made(target, &asked).unwrap_err();
            assert!(said.contains(says), "{target:?} {asked:?}: {said}");
        }
        assert!(made(Slurm, &args("--time=5 --wait-all-nodes=1 --exclusive")).is_ok());
    }
}
