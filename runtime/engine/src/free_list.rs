//! Ids of a fixed pool (pages, state slots): which are free.

/// The free ids of a pool, handed out lowest first so that runs repeat exactly.
#[derive(Clone, Debug)]
pub(crate) struct FreeList {
    taken: Vec<bool>,
    free: usize,
}

impl FreeList {
    /// A pool of the ids `0..size`, all free.
    pub(crate) fn new(size: usize) -> Self {
        Self { taken: vec![false; size], free: size }
    }

    /// Ids that are free.
    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// All ids.
    pub(crate) fn size(&self) -> usize {
        self.taken.len()
    }

    /// Takes `count` ids, or none at all when fewer are free.
    pub(crate) fn take(&mut self, count: usize) -> Option<Vec<u32>> {
        if count > self.free {
            return None;
        }
        let ids: Vec<u32> = (0u32..).zip(&self.taken).filter(|(_, taken)| !**taken).map(|(id, _)| id).take(count).collect();
        for &id in &ids {
            self.taken[id as usize] = true;
        }
        self.free -= count;
        Some(ids)
    }

    /// Gives ids back.
    ///
    /// # Panics
    /// If one is free already: two sequences would end up with the same page.
    pub(crate) fn give_back(&mut self, ids: impl IntoIterator<Item = u32>) {
        for id in ids {
            let taken = &mut self.taken[id as usize];
            assert!(*taken, "id {id} was given back twice");
            *taken = false;
            self.free += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_all_or_nothing_and_reuses_what_comes_back() {
        let mut list = FreeList::new(4);
        assert_eq!(list.take(3), Some(vec![0, 1, 2]));
        assert_eq!(list.take(2), None);
        assert_eq!((list.free(), list.size()), (1, 4));
        list.give_back([1]);
        assert_eq!(list.take(2), Some(vec![1, 3]));
        assert_eq!(list.take(0), Some(vec![]));
    }

    #[test]
    #[should_panic(expected = "id 2 was given back twice")]
    fn giving_back_twice_is_a_bug() {
        let mut list = FreeList::new(4);
        let ids = list.take(3).unwrap();
        list.give_back(ids.clone());
        list.give_back([2]);
    }
}
