//! Repositories of a given size, and what other programs need in them.

use crate::paired;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A repository with a contract, all committed, one file changed since.
pub struct Tree {
    pub root: PathBuf,
    files: Vec<String>,
    changes: AtomicUsize,
}

impl Tree {
    pub fn new(root: &Path, files: usize, contract: &str) -> Self {
        let files: Vec<String> = (0..files)
            .map(|i| format!("src/{}/{}/file{i}.txt", i % 40, i / 40 % 50))
            .collect();
        let tree = Self {
            root: root.to_owned(),
            files,
            changes: AtomicUsize::new(0),
        };
        for (i, file) in tree.files.iter().enumerate() {
            tree.write(file, &format!("{i}\n").repeat(100));
        }
        tree.write("contracts/verify.vplan", contract);
        tree.write(
            ".gitignore",
            ".vplan/\nout/\nbuild.ninja\n.ninja_log\n.n2_db\n",
        );
        paired::commit(&tree.root);
        tree.change();
        // What git knows of times is then as it is after any command of it.
        paired::time(&mut tree.git(&["status", "--porcelain"]));
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Gives a file another content.
    pub fn change(&self) {
        let number = self.changes.fetch_add(1, Ordering::Relaxed);
        self.write(&self.files[0], &format!("change {number}\n"));
    }

    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).args(args);
        command
    }

    pub fn git(&self, args: &[&str]) -> Command {
        self.command("git", args)
    }

    /// The same three checks for ninja and n2, whose outputs are newer than all files.
    pub fn ninja(&self) {
        let inputs = self.files.join(" ");
        let mut text = String::from("rule r\n  command = touch $out\n");
        for i in 0..3 {
            let _ = writeln!(text, "build out/{i}: r {inputs}");
        }
        self.write("build.ninja", &text);
    }

    /// Copies the record of the only run so that there are so many.
    pub fn copy_records(&self, runs: usize) {
        let folder = self.root.join(".vplan/runs");
        let first = std::fs::read_dir(&folder).unwrap().flatten();
        let first = first.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
        let name = first.file_name().unwrap().to_str().unwrap().to_owned();
        let (time, id) = name.split_at(20);
        for i in 0..runs {
            // Another id for each, in the form of the first.
            let copy = folder.join(format!("{time}{}{:05x}", &id[..id.len() - 5], i));
            std::fs::create_dir_all(copy.join("logs")).unwrap();
            for file in ["events.jsonl", "plan.json", "report.json"] {
                std::fs::copy(first.join(file), copy.join(file)).unwrap();
            }
        }
    }
}
