//! Returns the layers of a step's command, with make's settings from its environment.

use vplan_base::word::Word;
use vplan_check::tool::layers;
pub(super) use vplan_check::tool::{Layer, LayerRole, ToolLayer, layers_of_body};
use vplan_plan::{Origin, Step};

/// Returns the layers of a step's command, outermost first. None without an argument vector.
///
/// Only a contract may let a command pass without its script: a request asks for it.
pub(super) fn layers_of(step: &Step) -> Vec<Layer> {
    let is_requested = step.origin != Origin::Contract;
    let words = step.argv.iter().flatten().map(lossy);
    let words: Vec<String> = words
        .filter(|word| !(is_requested && word == "--if-present"))
        .collect();
    let mut layers = layers(&words, Some(&step.dir));
    if layers.iter().any(|l| l.tool == ToolLayer::Make) && is_steered(step) {
        let makes = layers.iter_mut().filter(|l| l.tool == ToolLayer::Make);
        makes.for_each(|l| l.lenient = true);
    }
    layers
}

pub(super) fn lossy(word: &Word) -> String {
    String::from_utf8_lossy(word.as_bytes()).into_owned()
}

/// Variables that change which files make reads, or where it searches.
const STEERING: [&str; 4] = ["MAKEFILES", "MAKEFLAGS", "GNUMAKEFLAGS", "VPATH"];

/// Whether the step passes such a variable to make: before the command, by `env`, as an operand, or
/// from the caller's environment.
fn is_steered(step: &Step) -> bool {
    let sets = |word: &Word| {
        let word = lossy(word);
        let sets = |name: &str| {
            ["=", ":="]
                .iter()
                .any(|sign| word.contains(&[name, sign].concat()))
        };
        STEERING.into_iter().any(sets)
    };
    let passes = |wanted: &String| {
        let mut names = STEERING.iter();
        match wanted.split_once('*') {
            Some((begin, _)) => names.any(|name| name.starts_with(begin)),
            None => names.any(|name| name == wanted),
        }
    };
    let mut own = step.env.keys();
    own.any(|name| STEERING.contains(&name.as_str()))
        || step.argv.iter().flatten().any(sets)
        || step.pass_env.iter().any(passes)
}
