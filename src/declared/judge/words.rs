//! A call of a program: its name, its operands, its options.

use super::super::launch;
use super::super::tree::Tree;
use crate::base::command::is_env_name;
use crate::base::path::RepoPath;

/// A program and its words.
pub struct Call<'a> {
    /// The program without folder, version and ending.
    pub name: &'a str,
    /// All words; the first is the program.
    pub words: &'a [String],
    /// Indices of the operands in front of `--`.
    pub operands: Vec<usize>,
}

/// Options that take the next word, of any program: they may precede a subcommand.
const VALUED: &[&str] = &[
    "-C",
    "-Z",
    "-chdir",
    "--color",
    "--config",
    "--config-file",
    "--cwd",
    "--dir",
    "--directory",
    "--file",
    "--filter",
    "-F",
    "--git-dir",
    "--init-script",
    "--justfile",
    "--log-level",
    "--loglevel",
    "--manifest-path",
    "--prefix",
    "--profile",
    "--project",
    "--project-dir",
    "--settings",
    "--target-dir",
    "--work-tree",
    "--working-directory",
    "--workspace",
];

/// More of them, by program.
const VALUED_OF: &[(&str, &[&str])] = &[
    ("git", &["-c", "--namespace", "--exec-path"]),
    ("npm", &["-w", "-p"]),
    ("npx", &["-w", "-p"]),
    ("make", &["-f", "-I", "-o", "-W"]),
    ("just", &["-f", "-d"]),
    ("mvn", &["-f", "-pl", "-s", "-P"]),
    ("gradle", &["-p", "-b", "-x", "-I"]),
    ("docker", &["-f", "-H"]),
    ("php", &["-d", "-c"]),
    ("uv", &["-p", "--python"]),
    ("buf", &["--path"]),
    ("composer", &["-d"]),
];

/// Programs whose operands are goals in any order.
const GOALS: &[&str] = &[
    "gradle", "mvn", "sbt", "rake", "make", "just", "ant", "lein", "task", "mage", "nimble",
    "invoke", "inv",
];

/// Programs whose short options may be written as one word.
const CLUSTERED: &[&str] = &[
    "autoflake",
    "autopep8",
    "codespell",
    "docformatter",
    "jest",
    "perl",
    "rm",
    "rubocop",
    "ruby",
    "sed",
    "gsed",
    "yapf",
    "git",
    "ssort",
    "tar",
];

impl<'a> Call<'a> {
    pub fn new(words: &'a [String]) -> Self {
        let name = words.first().map_or("", |w| launch::name(w));
        let more = VALUED_OF
            .iter()
            .find(|(program, _)| *program == name)
            .map_or(&[][..], |(_, options)| options);
        let mut operands = Vec::new();
        let mut at = 1;
        while let Some(word) = words.get(at) {
            if word == "--" {
                break;
            }
            if word.starts_with(['-', '+']) && word.len() > 1 {
                let takes = VALUED.contains(&word.as_str()) || more.contains(&word.as_str());
                at += usize::from(takes);
            } else {
                operands.push(at);
            }
            at += 1;
        }
        Self {
            name,
            words,
            operands,
        }
    }

    /// The operand of this number.
    pub fn operand(&self, number: usize) -> &'a str {
        self.operands
            .get(number)
            .and_then(|at| self.words.get(*at))
            .map_or("", String::as_str)
    }

    /// The operands.
    pub fn operand_words(&self) -> impl Iterator<Item = &'a str> {
        self.operands
            .iter()
            .filter_map(|at| self.words.get(*at))
            .map(String::as_str)
    }

    /// The index of the word behind `PROGRAM [WORD…]` in this call, if it is one.
    /// Programs with goals may have the one word anywhere.
    pub fn is(&self, pattern: &str) -> Option<usize> {
        let mut parts = pattern.split_whitespace();
        if parts.next() != Some(self.name) {
            return None;
        }
        let wanted: Vec<&str> = parts.collect();
        if wanted.is_empty() {
            return Some(1);
        }
        if GOALS.contains(&self.name)
            && let [one] = wanted.as_slice()
        {
            let goal = |at: &&usize| {
                self.words.get(**at).is_some_and(|w| {
                    w == one
                        || w.rsplit_once(':')
                            .is_some_and(|(_, last)| last == *one && self.name == "gradle")
                })
            };
            return self.operands.iter().find(goal).map(|at| at + 1);
        }
        let mut end = 1;
        for (number, want) in wanted.iter().enumerate() {
            if self.operand(number) != *want {
                return None;
            }
            end = self.operands.get(number).copied().unwrap_or(end) + 1;
        }
        Some(end)
    }

    /// The index of a word that is one of these options: alone, with `=VALUE` (but not `=false`),
    /// with one more dash, or in a cluster of short ones.
    pub fn option(&self, flags: &[&str]) -> Option<usize> {
        let clustered = CLUSTERED.contains(&self.name);
        (1..self.words.len()).find(|at| {
            self.words
                .get(*at)
                .is_some_and(|word| flags.iter().any(|flag| is_flag(word, flag, clustered)))
        })
    }

    /// Whether one of these options is there.
    pub fn has(&self, flags: &[&str]) -> bool {
        self.option(flags).is_some()
    }

    /// The words without these options.
    pub fn without(&self, flags: &[&str]) -> Vec<String> {
        let clustered = CLUSTERED.contains(&self.name);
        let mut out = Vec::new();
        for (index, word) in self.words.iter().enumerate() {
            let hit = flags
                .iter()
                .filter(|_| index > 0)
                .find(|flag| is_flag(word, flag, clustered));
            match hit {
                None => out.push(word.clone()),
                Some(flag)
                    if clustered
                        && !word.starts_with("--")
                        && word.len() > 2
                        && !word.contains('=') =>
                {
                    // Other letters of the cluster stay.
                    let letters: String = word
                        .chars()
                        .filter(|c| !flags.iter().any(|f| f.len() == 2 && f.ends_with(*c)))
                        .collect();
                    let _ = flag;
                    if letters.len() > 1 {
                        out.push(letters);
                    }
                }
                Some(_) => {}
            }
        }
        out
    }

    /// Its words as one line.
    pub fn shown(&self) -> String {
        let mut line: String = self
            .words
            .iter()
            .take(6)
            .cloned()
            .collect::<Vec<_>>()
            .join(" ");
        if line.len() > 80 {
            line = line.chars().take(80).collect();
        }
        line
    }
}

fn is_flag(word: &str, flag: &str, clustered: bool) -> bool {
    let same = |word: &str| {
        word == flag
            || word
                .strip_prefix(flag)
                .and_then(|rest| rest.strip_prefix('='))
                .is_some_and(|value| !matches!(value, "false" | "no" | "0" | "off" | "none"))
    };
    if same(word) {
        return true;
    }
    let short = flag.len() == 2 && flag.starts_with('-');
    if short
        && word
            .strip_prefix('-')
            .is_some_and(|rest| rest.len() == 2 && same(rest))
    {
        return true;
    }
    clustered
        && short
        && !word.starts_with("--")
        && word.strip_prefix('-').is_some_and(|letters| {
            let letter = flag.trim_start_matches('-');
            let own = letters.split(['=', '.']).next().unwrap_or_default();
            own.len() > 1 && own.bytes().all(|b| b.is_ascii_alphabetic()) && own.contains(letter)
        })
}

/// Whether a word is `NAME=…`.
pub fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| is_env_name(name))
}

/// Whether a word names a tracked file, or a folder with one.
pub fn is_tracked(tree: &Tree, dir: &RepoPath, word: &str) -> bool {
    let Ok(path) = dir.join(word.trim_end_matches('/').as_bytes()) else {
        return false;
    };
    !path.is_root() && (tree.files.contains(&path) || has_below(tree, &path))
}

fn has_below(tree: &Tree, path: &RepoPath) -> bool {
    tree.files
        .range(path.clone()..)
        .take_while(|file| file.as_bytes().starts_with(path.as_bytes()))
        .any(|file| file.below(path).is_some())
}
