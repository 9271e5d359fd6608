//! Parses the goals of make, ninja and just, and the directory in which they are built.

use super::layer::{Layer, LayerRole, Words, moved, skip_options, value};

/// Short options of GNU make that take a value (its manual, "Summary of Options"); `j` and `l` only
/// when a number follows.
const MAKE_SHORT: &str = "CfIoWE";
const MAKE_LONG: &[&str] = &[
    "--directory",
    "--file",
    "--makefile",
    "--include-dir",
    "--old-file",
    "--assume-old",
    "--what-if",
    "--new-file",
    "--assume-new",
    "--eval",
];

pub(super) fn make(rest: Words<'_>, layer: Layer) -> Layer {
    let mut layer = Layer {
        role: LayerRole::Goals,
        lenient: false,
        ..layer
    };
    let mut words = rest;
    let mut only_goals = false;
    while let Some((word, further)) = words.split_first() {
        words = further;
        let next = further.first().map(String::as_str);
        let number = next.is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        if only_goals || !word.starts_with('-') || word == "-" {
            if !word.contains('=') {
                layer.asked.push(goal(word).to_owned());
            }
        } else if word == "--" {
            only_goals = true;
        } else if word.starts_with("--") {
            let (name, given) = word
                .split_once('=')
                .map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            let takes = MAKE_LONG.contains(&name)
                || (matches!(name, "--jobs" | "--load-average" | "--max-load") && number);
            if given.is_none() && takes {
                words = further.get(1..).unwrap_or_default();
            }
            make_option(&mut layer, name, given.or(next));
        } else {
            for (at, letter) in word.char_indices().skip(1) {
                let attached = word.get(at + 1..).filter(|v| !v.is_empty());
                if MAKE_SHORT.contains(letter) {
                    if attached.is_none() {
                        words = further.get(1..).unwrap_or_default();
                    }
                    make_option(&mut layer, &format!("-{letter}"), attached.or(next));
                    break;
                }
                if "jl".contains(letter) && attached.is_none() && number {
                    words = further.get(1..).unwrap_or_default();
                }
            }
        }
    }
    layer
}

/// Removes a leading `./` of a goal, as make does.
fn goal(word: &str) -> &str {
    let mut goal = word;
    while let Some(rest) = goal
        .strip_prefix("./")
        .map(|rest| rest.trim_start_matches('/'))
        .filter(|r| !r.is_empty())
    {
        goal = rest;
    }
    goal
}

fn make_option(layer: &mut Layer, name: &str, value: Option<&str>) {
    match (name, value) {
        ("-C" | "--directory", Some(to)) => layer.dir = moved(&layer.dir, to),
        ("-f" | "--file" | "--makefile", Some(file)) => {
            // With several files each has its goals, and one on standard input cannot be read.
            layer.lenient |= layer.file.is_some() || file == "-";
            layer.file = Some(file.to_owned());
        }
        // Goals may come from there.
        ("-E" | "--eval", _) => layer.lenient = true,
        _ => {}
    }
}

pub(super) fn ninja(rest: Words<'_>, layer: Layer) -> Layer {
    let mut layer = Layer {
        role: LayerRole::Goals,
        ..layer
    };
    let mut words = rest;
    while let Some((word, further)) = words.split_first() {
        words = further;
        match word
            .strip_prefix('-')
            .and_then(|w| w.chars().next().map(|c| (c, w)))
        {
            Some((letter, option)) if "Cfjkldtw".contains(letter) => {
                let attached = option.get(1..).filter(|v| !v.is_empty());
                if attached.is_none() {
                    words = further.get(1..).unwrap_or_default();
                }
                let value = attached.or(further.first().map(String::as_str));
                match (letter, value) {
                    ('C', Some(to)) => layer.dir = moved(&layer.dir, to),
                    ('f', Some(file)) => layer.file = Some(file.to_owned()),
                    ('t', _) => {
                        return Layer {
                            role: LayerRole::Plain,
                            ..layer
                        };
                    }
                    _ => {}
                }
            }
            Some(_) => {}
            None => layer.asked.push(word.clone()),
        }
    }
    layer
}

pub(super) fn just(rest: Words<'_>, layer: Layer) -> Layer {
    let valued = [
        "-f",
        "--justfile",
        "-d",
        "--working-directory",
        "--shell",
        "--shell-arg",
        "--color",
        "--dotenv-path",
        "-E",
    ];
    let (words, options) = skip_options(rest, &valued);
    let file = value(&options, &["-f", "--justfile"]).map(str::to_owned);
    let asked = words
        .iter()
        .find(|w| !w.contains('='))
        .cloned()
        .into_iter()
        .collect();
    Layer {
        role: LayerRole::Goals,
        asked,
        file,
        ..layer
    }
}
