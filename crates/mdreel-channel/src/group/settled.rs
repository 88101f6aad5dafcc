//! The steps of a group in share mode that need no more work.
//!
//! A commit lists the open steps and not the completed ones. Members hold few steps at a time, but while one member is stopped,
//! the others may complete any number of steps after its own.

use serde::{Deserialize, Serialize};

/// A set of steps that need no more work: all steps up to one of them, except those that are open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The greatest step that was read; `None` before the first.
    pub up_to: Option<i64>,
    /// The steps up to `up_to` on which a member works, in order.
    pub open: Vec<i64>,
}

impl Settled {
    pub(super) fn new(up_to: Option<i64>, open: impl IntoIterator<Item = i64>) -> Self {
        let mut open: Vec<i64> = open.into_iter().collect();
        open.sort_unstable();
        open.dedup();
        Settled { up_to, open }
    }

    /// Returns whether a step needs no more work.
    pub(crate) fn holds(&self, step: i64) -> bool {
        self.up_to.is_some_and(|up_to| step <= up_to) && self.open.binary_search(&step).is_err()
    }

    /// Returns the union of sets: the steps that any of them holds.
    pub(super) fn union(all: &[&Settled]) -> Self {
        let open = all.iter().flat_map(|settled| &settled.open).copied();
        let of_none = open.filter(|step| !all.iter().any(|settled| settled.holds(*step)));
        Settled::new(all.iter().filter_map(|settled| settled.up_to).max(), of_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOST: i64 = 20;

    fn any_settled() -> impl Strategy<Value = Settled> {
        let up_to = proptest::option::of(0..MOST);
        (up_to, proptest::collection::vec(0..MOST, 0..6)).prop_map(|(up_to, open)| {
            let open = open.into_iter().filter(|step| up_to.is_some_and(|up_to| *step <= up_to));
            Settled::new(up_to, open)
        })
    }

    proptest! {
        #[test]
        fn union_holds_what_one_of_them_holds(all in proptest::collection::vec(any_settled(), 0..4)) {
            let union = Settled::union(&all.iter().collect::<Vec<_>>());
            for step in -1..=MOST {
                prop_assert_eq!(union.holds(step), all.iter().any(|settled| settled.holds(step)), "step {}", step);
            }
        }
    }

    #[test]
    fn nothing_is_settled_at_first() {
        assert!(!Settled::default().holds(i64::MIN));
        assert_eq!(Settled::union(&[]), Settled::default());
    }
}
