//! Carries the `cd` and `export` of a list of commands into the commands after them.

use super::command::{Command, Env, Link, Unsupported};
use super::path::RepoPath;

/// The directory and variables that the `cd` and `export` of a list set for the commands after
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// The directory in which they run.
    pub dir: RepoPath,
    /// The variables that they have in addition to their own.
    pub env: Env,
}

impl Carried {
    /// Adds these variables to a command's own, which win.
    pub fn env_of(&self, own: &Env) -> Env {
        let mut all = self.env.clone();
        all.extend(own.clone());
        all
    }

    /// Applies a part. `None` if it is not a `cd` or `export`, leaves the repository, or depends on
    /// the shell (`cd`, `cd -`, `cd ~`, any with a `CDPATH`).
    pub fn follow(&mut self, link: &Link) -> Option<()> {
        match link {
            Link::ChangeDirectory { cd } => {
                let only_a_shell_knows = matches!(cd.as_bytes(), [] | [b'-' | b'~', ..]);
                if only_a_shell_knows || self.env.contains_key("CDPATH") {
                    return None;
                }
                self.dir = self.dir.join(cd.as_bytes()).ok()?;
            }
            Link::Export { export } => self.env.extend(export.clone()),
            Link::Run { .. } | Link::Other { .. } => return None,
        }
        Some(())
    }

    /// Applies a text of a list if it has only `cd` and `export`. `None` if it has anything else,
    /// or a part that cannot be applied; then nothing has changed.
    pub fn follow_all(&mut self, unsupported: &Unsupported) -> Option<()> {
        if unsupported.chain.is_empty() {
            return None;
        }
        let mut next = self.clone();
        unsupported
            .chain
            .iter()
            .try_for_each(|link| next.follow(link))?;
        *self = next;
        Some(())
    }
}

/// A list of commands, read as one shell would read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T> {
    /// The commands that run, with the directory and exported variables of each.
    pub commands: Vec<(T, Carried)>,
    /// Each `cd` and `export` that was carried into the commands after it.
    pub gone: Vec<T>,
}

/// Carries each separate `cd` and `export` command into the commands after it. It stays as it is, a
/// text outside the grammar, if no command follows or if only a shell can follow it. Each command
/// comes with its identifier in the result.
pub fn listed<'a, T>(list: impl IntoIterator<Item = (T, &'a Command)>) -> Listed<T> {
    let (commands, gone) = (Vec::new(), Vec::new());
    let mut listed = Listed { commands, gone };
    let mut carried = Carried::default();
    let mut waiting: Vec<(T, Carried)> = Vec::new();
    for (name, command) in list {
        let before = carried.clone();
        if let Command::Unsupported { unsupported, .. } = command
            && carried.follow_all(unsupported).is_some()
        {
            waiting.push((name, before));
            continue;
        }
        listed.gone.extend(waiting.drain(..).map(|(name, _)| name));
        listed.commands.push((name, before));
    }
    listed.commands.extend(waiting);
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Piece, UnsupportedReason};
    use crate::word::Word;

    fn command(text: &str) -> Command {
        let link = |part: &str| match part.split_once(' ') {
            Some(("cd", dir)) => Link::ChangeDirectory {
                cd: Word::from(dir),
            },
            Some(("export", pair)) => {
                let (name, value) = pair.split_once('=').unwrap();
                Link::Export {
                    export: Env::from([(name.to_owned(), Word::from(value))]),
                }
            }
            _ => Link::Run {
                argv: vec![Word::from(part)],
                env: Env::new(),
            },
        };
        let chain: Vec<Link> = text.split(" && ").map(link).collect();
        match chain.as_slice() {
            [Link::Run { argv, env }] => Command::Argv {
                env: env.clone(),
                pieces: argv.iter().cloned().map(Piece::Word).collect(),
            },
            _ => Command::Unsupported {
                text: text.to_owned(),
                unsupported: Unsupported {
                    chain,
                    changes_shell: true,
                    offset: 0,
                    reason: UnsupportedReason::Builtin,
                    text: String::new(),
                },
            },
        }
    }

    #[test]
    fn lists() {
        for (list, want, gone) in [
            (&["a"][..], "0@.", &[][..]),
            (&["cd d", "a"], "1@d", &[0]),
            (&["a", "cd d", "b", "cd ../e", "c"], "0@. 2@d 4@e", &[1, 3]),
            (
                &["export A=1", "a", "cd d", "export A=2", "b"],
                "1@.A=1 4@dA=2",
                &[0, 2, 3],
            ),
            (&["cd a && export B=1", "c"], "1@aB=1", &[0]),
            // If nothing comes after it, or it leads outside, it stays unchanged.
            (&["a", "cd d"], "0@. 1@.", &[]),
            (&["cd d", "a", "cd e", "cd f"], "1@d 2@d 3@d/e", &[0]),
            (&["cd ..", "a"], "0@. 1@.", &[]),
            (&["cd d", "cd /tmp", "a"], "1@d 2@d", &[0]),
            (&["cd a && cd ../..", "b"], "0@. 1@.", &[]),
            (
                &["export CDPATH=x", "cd d", "a"],
                "1@.CDPATH=x 2@.CDPATH=x",
                &[0],
            ),
            // The `cd` of a conjunction applies to that conjunction only.
            (&["cd d && a", "b"], "0@. 1@.", &[]),
        ] {
            let commands: Vec<Command> = list.iter().map(|text| command(text)).collect();
            let got = listed(commands.iter().enumerate());
            let shown = |(index, carried): &(usize, Carried)| {
                let env: String = carried
                    .env
                    .iter()
                    .map(|(n, v)| format!("{n}={}", v.as_str().unwrap()))
                    .collect();
                format!("{index}@{}{env}", carried.dir)
            };
            assert_eq!(
                got.commands.iter().map(shown).collect::<Vec<_>>().join(" "),
                want,
                "{list:?}"
            );
            assert_eq!(got.gone, gone, "{list:?}");
        }
    }
}
