//! The names that a command requests from a file that declares scripts or goals.

use super::invocation::{Layer, LayerRole, ToolLayer, layers_of};
use vplan_base::path::RepoPath;
use vplan_plan::Step;
use vplan_plan::facts::{Certainty, FactAnswer, Facts, Question};

/// The names that a step's command requests from a file that declares scripts or goals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedNames {
    /// Scripts or goals.
    pub kind: AskedKind,
    pub names: Vec<String>,
    /// The directory of the declaring file, if that is certain.
    pub dir: Option<RepoPath>,
    /// The possible names of such a file, or the one that the command gives.
    pub files: Vec<String>,
    /// Whether the command names the file.
    pub given: bool,
    /// Whether a name that is not declared may still work.
    pub lenient: bool,
}

/// The kind of name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedKind {
    /// Scripts of a package.json.
    Script,
    /// Goals of a makefile.
    MakeGoal,
    /// Goals of ninja or just, whose files are not parsed for facts.
    OtherGoal,
}

impl RequestedNames {
    /// Returns the questions for the list of declared names, in the repository and at the base
    /// revision.
    pub fn questions(&self) -> Option<[Question; 2]> {
        let dir = self.dir.clone()?;
        match self.kind {
            AskedKind::Script => Some([Question::Scripts(dir.clone()), Question::BaseScripts(dir)]),
            AskedKind::MakeGoal if self.given => {
                let file = dir.join(self.files.first()?.as_bytes()).ok()?;
                let base = Question::BaseMakefileTargets(file.clone());
                Some([Question::MakefileTargets(file), base])
            }
            AskedKind::MakeGoal => {
                let base = Question::BaseMakeTargets(dir.clone());
                Some([Question::MakeTargets(dir), base])
            }
            AskedKind::OtherGoal => None,
        }
    }

    /// Returns the first of the questions, about what is declared now.
    pub(crate) fn now(&self) -> Option<Question> {
        self.questions().map(|[now, _]| now)
    }

    /// Returns the names that the repository certainly does not declare, in a file that certainly
    /// exists.
    pub fn undeclared(&self, facts: &Facts) -> Vec<String> {
        let now = self.now();
        let now = now.filter(|now| matches!(facts.get(now), Some(FactAnswer::List(_))));
        let Some(now) = now else {
            return Vec::new();
        };
        let missing = |name: &&String| facts.holds(&now, name.as_bytes()) == Certainty::No;
        self.names.iter().filter(missing).cloned().collect()
    }

    /// Returns the possible paths of the declaring file, in the tool's order.
    pub fn paths(&self) -> Vec<RepoPath> {
        let dirs = self.dir.iter();
        let paths = dirs.flat_map(|dir| self.files.iter().map(|file| dir.join(file.as_bytes())));
        paths.filter_map(Result::ok).collect()
    }
}

/// Returns the names that a step's command requests.
pub fn requested_names(step: &Step) -> Option<RequestedNames> {
    layers_of(step).into_iter().find_map(asked_of)
}

/// Returns the question about what is declared now of the kind that a layer asks for.
pub(super) fn asked_now(layer: &Layer) -> Option<Question> {
    asked_of(layer.clone())?.now()
}

const MAKEFILES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

pub(super) fn asked_of(layer: Layer) -> Option<RequestedNames> {
    let (kind, usual): (AskedKind, &[&str]) = match (layer.role, layer.tool) {
        (LayerRole::Script, _) => (AskedKind::Script, &["package.json"]),
        (LayerRole::Goals, ToolLayer::Make) if layer.lenient => (AskedKind::OtherGoal, MAKEFILES),
        (LayerRole::Goals, ToolLayer::Make) => (AskedKind::MakeGoal, MAKEFILES),
        (LayerRole::Goals, ToolLayer::Ninja) => (AskedKind::OtherGoal, &["build.ninja"]),
        (LayerRole::Goals, ToolLayer::Just) => {
            (AskedKind::OtherGoal, &["justfile", ".justfile", "Justfile"])
        }
        _ => return None,
    };
    let given = layer.file.is_some();
    let files = match layer.file {
        Some(file) => vec![file],
        None => usual.iter().map(|f| (*f).to_owned()).collect(),
    };
    Some(RequestedNames {
        kind,
        names: layer.asked,
        dir: layer.dir,
        files,
        given,
        lenient: layer.lenient,
    })
}
