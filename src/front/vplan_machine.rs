//! Lowers a `machine` block of the language to a draft.

use super::vplan::Lowering;
use crate::contract::draft::{At, Machine};
use crate::lang::ast::Node;

impl Lowering<'_> {
    /// Lowers a block with its lines.
    pub(super) fn machine(&mut self, node: &Node<'_>) {
        let Some(name) = self.values.word(node) else {
            // What it would have defined is not reported as unknown.
            return self.draft.absent.push(String::new());
        };
        let body = node.body.as_ref();
        let lines = body.map_or(&[][..], |body| &body.nodes);
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
