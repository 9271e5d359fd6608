//! Orders of nodes that are plain numbers, as tests write them.

use std::collections::BTreeSet;
use vplan_base::index::{Dense, Index as _};
use vplan_contract::InclusionIndex;
use vplan_plan::order::{self, NodeIndex as I};

/// [`order::Bundle`]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of what it becomes")]
pub struct Bundle {
    pub before: Vec<usize>,
    pub after: Vec<usize>,
}

/// [`order::Constraints`]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of what it becomes")]
pub struct Constraints {
    pub tiers: Vec<u8>,
    pub needs: Vec<(usize, usize)>,
    pub sequences: Vec<Vec<Vec<usize>>>,
    pub writers: Vec<usize>,
    pub setup: BTreeSet<usize>,
    pub judges: BTreeSet<usize>,
    pub artifacts: Vec<Bundle>,
    pub preparing: Preparing,
    pub full: bool,
}

/// [`order::Preparing`]; importers count from the first import, files from the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of what it becomes")]
pub struct Preparing {
    pub files: Vec<Option<usize>>,
    pub importers: Vec<usize>,
    pub list: Vec<usize>,
    pub alone: usize,
}

/// [`order::Ordered`]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of what it becomes")]
pub struct Ordered {
    pub order: Vec<usize>,
    pub after: Vec<Vec<usize>>,
    pub prepared_by: Vec<Vec<usize>>,
    pub against_tiers: Vec<(usize, usize)>,
}

/// Computes the order of the nodes.
pub fn order(of: &Constraints) -> Ordered {
    let bundle = |bundle: &Bundle| order::Bundle {
        before: typed(&bundle.before),
        after: typed(&bundle.after),
    };
    let preparing = &of.preparing;
    let inclusion = |file: &usize| Some(InclusionIndex::new(*file));
    let importers = std::iter::once(None).chain(preparing.importers.iter().map(inclusion));
    let file = |file: &Option<usize>| file.map(InclusionIndex::new);
    let needs = of.needs.iter();
    let ordered = order::order(&order::Constraints {
        tiers: of.tiers.iter().copied().collect(),
        needs: needs.map(|(a, b)| (I::new(*a), I::new(*b))).collect(),
        sequences: of
            .sequences
            .iter()
            .map(|groups| groups.iter().map(|g| typed(g)).collect())
            .collect(),
        writers: typed(&of.writers),
        setup: of.setup.iter().copied().map(I::new).collect(),
        judges: of.judges.iter().copied().map(I::new).collect(),
        artifacts: of.artifacts.iter().map(bundle).collect(),
        preparing: order::Preparing {
            files: preparing.files.iter().map(file).collect(),
            importers: importers.collect(),
            list: typed(&preparing.list),
            alone: preparing.alone,
        },
        full: of.full,
    });
    let lists = |lists: &Dense<I, Vec<I>>| lists.iter().map(|list| plain(list)).collect();
    let against = ordered.against_tiers.iter();
    Ordered {
        order: plain(&ordered.order),
        after: lists(&ordered.after),
        prepared_by: lists(&ordered.prepared_by),
        against_tiers: against.map(|(a, b)| (a.position(), b.position())).collect(),
    }
}

fn typed(nodes: &[usize]) -> Vec<I> {
    nodes.iter().copied().map(I::new).collect()
}

fn plain(nodes: &[I]) -> Vec<usize> {
    nodes.iter().map(|node| node.position()).collect()
}
