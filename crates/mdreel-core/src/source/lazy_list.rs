//! Lists whose items are created when they are first needed.

use std::sync::OnceLock;

/// A list of a fixed length. Each item is created once, when it is first needed.
pub struct LazyList<T> {
    items: Box<[OnceLock<Box<T>>]>,
    create: Box<dyn Fn(usize) -> T + Send + Sync>,
}

impl<T> LazyList<T> {
    /// Creates a list of `n` items. `create(i)` returns the i-th item.
    pub(crate) fn new(n: usize, create: impl Fn(usize) -> T + Send + Sync + 'static) -> Self {
        LazyList { items: (0..n).map(|_| OnceLock::new()).collect(), create: Box::new(create) }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns the i-th item. Creates it if this has not been done.
    pub(crate) fn get(&self, i: usize) -> &T {
        self.items[i].get_or_init(|| Box::new((self.create)(i)))
    }

    /// Returns all items. Creates each one when the iterator reaches it.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Returns the number of items that have been created.
    #[cfg(test)]
    pub(crate) fn n_created(&self) -> usize {
        self.items.iter().filter(|item| item.get().is_some()).count()
    }
}

impl<T: Clone + Send + Sync + 'static> From<Vec<T>> for LazyList<T> {
    fn from(items: Vec<T>) -> Self {
        LazyList::new(items.len(), move |i| items[i].clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_item_is_created_once_and_only_when_it_is_needed() {
        let n_calls = Arc::new(AtomicUsize::new(0));
        let calls = Arc::clone(&n_calls);
        let list = LazyList::new(5, move |i| {
            calls.fetch_add(1, Ordering::Relaxed);
            10 * i
        });
        assert_eq!((list.len(), *list.get(3), *list.get(3)), (5, 30, 30));
        assert_eq!((n_calls.load(Ordering::Relaxed), list.n_created()), (1, 1));
        assert!(list.iter().eq(LazyList::from(vec![0, 10, 20, 30, 40]).iter()));
        assert_eq!((n_calls.load(Ordering::Relaxed), list.n_created()), (5, 5));
    }
}
