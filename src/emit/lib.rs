//! Writes the files with which other systems run a plan in shards: a workflow of GitHub, a pipeline
//! of GitLab, a script for Slurm.
//!
//! All three have the same jobs: one plans and divides, the shards run, and one always merges their
//! reports. The text depends only on the options and never on a contract: equal options give equal
//! bytes.

#![forbid(unsafe_code)]

pub mod options;
mod systems;

use options::{EmitOptions, Target};

/// The beginning of the line with the command that made a file.
const MADE_BY: &str = "# Made by: vplan emit ";
/// The first line of a script.
const SHELL: &str = "#!/usr/bin/env bash\n";

/// Returns the whole text of the file.
pub fn text(options: &EmitOptions) -> String {
    let made_by = format!("{MADE_BY}{}\n", options.words());
    let (head, (template, own)) = match options.target {
        Target::Github => (made_by, systems::github(options)),
        Target::Gitlab => (made_by, systems::gitlab(options)),
        Target::Slurm => (SHELL.to_owned() + &made_by, systems::slurm(options)),
    };
    let values = own.into_iter().chain([
        ("plan", options.of_plan()),
        ("contract", options.of_contract()),
        ("division", options.of_division()),
        ("verdict", options.of_verdict().to_owned()),
    ]);
    values.fold(head + template, |text, (name, value)| {
        let place = format!("<<{name}>>");
        // A placeholder on a line of its own is replaced by whole lines, or by none.
        let text = text.replace(&format!("\n{place}\n"), &format!("\n{value}"));
        text.replace(&place, &value)
    })
}

/// Whether a text states that it was made by `vplan emit`.
pub fn is_emitted(text: &[u8]) -> bool {
    let text = text.strip_prefix(SHELL.as_bytes()).unwrap_or(text);
    text.starts_with(MADE_BY.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::options::{EmitOptions, EmitRequest, Target};
    use super::{is_emitted, text};

    #[test]
    fn a_text_says_how_it_was_made() {
        for target in Target::ALL {
            let options = EmitOptions::new(target, &EmitRequest::default()).unwrap();
            let text = text(&options);
            assert!(is_emitted(text.as_bytes()), "{text}");
            let line = text.lines().find(|l| l.starts_with("# Made by: ")).unwrap();
            assert!(line.contains(&format!("vplan emit {} --shards ", target.word())));
            assert!(text.ends_with('\n') && !text.contains('\t'), "{text}");
            assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
        }
        for other in [
            "",
            "name: vplan\n# Made by: vplan emit github\n",
            "#!/bin/sh\n# Made by: vplan emit slurm\n",
            "# Made by: vplan\n",
        ] {
            assert!(!is_emitted(other.as_bytes()), "{other}");
        }
    }
}
