//! Lowers a `machine` block of the language to a draft.

use super::vplan::Lowering;
use vplan_contract::draft::{At, Machine};
use vplan_lang::ast::Node;

impl Lowering<'_> {
    /// Lowers a block with its lines.
    pub(super) fn machine(&mut self, node: &Node<'_>) {
        let Some(name) = self.values.word(node) else {
            // What it would have defined is not reported as unknown.
            return self.draft.absent.push(String::new());
        };
        let body = node.body.as_ref();
        let lines = node.lines();
        let property = |line: &Node<'_>| {
            let mut strings = self.values.strings(line).into_iter();
            let (name, value) = (strings.next()?, strings.next()?);
            Some(At::new((name.value, value.value), self.place(line.span)))
        };
        let sound = lines.iter().filter(|line| !line.broken);
        let properties: Vec<_> = sound.filter_map(property).collect();
        let is_broken =
            node.broken || body.is_none_or(|body| body.broken) || properties.len() < lines.len();
        self.draft.machines.push(Machine {
            name,
            properties,
            is_broken,
        });
    }
}
