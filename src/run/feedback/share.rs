//! Shares the bytes of a budget among the failing checks.
//!
//! Names and counts are outside of the budget: no failing check vanishes, however small it is. The
//! first check gets half of it, the others equal shares of the rest. Unused bytes go to the
//! following checks, and at the end to the first one again.

use super::check::{FailedCheck, LEVELS, cut};
use super::content::{FILES_SHOWN, Feedback};
use vplan_base::canon::to_canonical;

/// Measures feedback in its output form, in bytes.
pub type Size<'s> = dyn Fn(&Feedback) -> usize + 's;

/// Maximum number of listed caveats.
pub(super) const CAVEATS_SHOWN: usize = 20;

/// Measures canonical JSON.
pub fn json_size(feedback: &Feedback) -> usize {
    to_canonical(feedback).len()
}

impl Feedback {
    /// Cuts it to a budget in bytes, as measured by `size`. Counts omitted items, and marks it as
    /// `cut`. Keeps the names of all failing checks; they do not count against the budget.
    pub fn within(&self, bytes: usize, size: &Size<'_>) -> Self {
        if size(self) <= bytes {
            return self.clone();
        }
        let mut whole = self.clone();
        let others = std::mem::take(&mut whole.other_failures);
        let count = others.len();
        fit(&whole, (others.into_iter(), count), bytes, size)
    }
}

/// Makes a feedback that fits. `whole`: all but the other failures; `others`: those, and how many.
pub(super) fn fit(
    whole: &Feedback,
    (others, mut count): (impl Iterator<Item = FailedCheck>, usize),
    bytes: usize,
    size: &Size<'_>,
) -> Feedback {
    let first = whole.first();
    let last = LEVELS.len() - 1;
    let set_first = |made: &mut Feedback, level: usize| {
        made.set_first(
            LEVELS
                .get(level)
                .map_or_else(|| first.clone(), |b| first.bounded(*b)),
        );
    };
    let set_caveats = |made: &mut Feedback, level: usize| {
        made.caveats = some(&whole.caveats, CAVEATS_SHOWN, level)
            .map(|line| cut(line, (1024 >> level).max(32)))
            .collect();
    };
    let set_scope = |made: &mut Feedback, level: usize| {
        made.outside_scope = some(&whole.outside_scope, FILES_SHOWN, level)
            .cloned()
            .collect();
        made.allowed_paths_needed = some(&whole.allowed_paths_needed, FILES_SHOWN, level)
            .cloned()
            .collect();
    };
    let set_files = |made: &mut Feedback, level: usize| {
        made.changed_files = some(&whole.changed_files, FILES_SHOWN, level)
            .cloned()
            .collect();
    };
    let mut made = whole.clone();
    for set in [
        &set_first as &dyn Fn(&mut Feedback, usize),
        &set_caveats,
        &set_scope,
        &set_files,
    ] {
        set(&mut made, last);
    }
    let nameless = Feedback {
        failing: Vec::new(),
        step_id: String::new(),
        ..made.clone()
    };
    let bare = size(&made);
    let total = bytes.saturating_add(bare.saturating_sub(size(&nameless)));
    let room = total.saturating_sub(bare);
    let for_files = room / 16;
    grow(&mut made, bare + room / 4, size, &set_caveats);
    let now = size(&made);
    grow(&mut made, now + room / 2, size, &set_scope);
    let left = total.saturating_sub(size(&made) + for_files);
    let share = if count == 0 { left } else { left / 2 };
    let now = size(&made);
    grow(&mut made, now + share, size, &set_first);
    let mut left = total.saturating_sub(size(&made) + for_files);
    let empty = size(&Feedback::default());
    for other in others {
        let cost = |check: &FailedCheck| {
            let alone = Feedback {
                other_failures: vec![check.clone()],
                ..Feedback::default()
            };
            size(&alone).saturating_sub(empty)
        };
        let share = left / count.max(1);
        let least = LEVELS.last().map(|b| other.bounded(*b));
        let fitting = LEVELS
            .iter()
            .map(|b| other.bounded(*b))
            .find(|c| cost(c) <= share);
        // Skip a share that is too small for anything.
        let Some(check) = fitting.or(least).filter(|c| cost(c) <= left) else {
            break;
        };
        left -= cost(&check);
        count = count.saturating_sub(1);
        made.other_failures.push(check);
    }
    while size(&made) > total && made.other_failures.pop().is_some() {}
    grow(&mut made, total.saturating_sub(for_files), size, &set_first);
    grow(&mut made, total, size, &set_files);
    made
}

/// Sets a part to the most generous level at which the whole has at most so many bytes.
fn grow(made: &mut Feedback, bytes: usize, size: &Size<'_>, set: &dyn Fn(&mut Feedback, usize)) {
    for level in 0..LEVELS.len() {
        set(made, level);
        if size(made) <= bytes {
            break;
        }
    }
}

/// The first of a list, fewer at each level, none at the last one.
fn some<T>(list: &[T], most: usize, level: usize) -> impl Iterator<Item = &T> {
    let most = if level + 1 == LEVELS.len() {
        0
    } else {
        (most >> level).max(usize::from(level < 8))
    };
    list.iter().take(most)
}
