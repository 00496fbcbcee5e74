//! Ids of a fixed pool (pages, state slots, snapshots): which are free.

/// The free ids of a pool, in an order that depends on nothing but what was taken and given back, so that runs repeat exactly.
#[derive(Clone, Debug)]
pub(crate) struct FreeList {
    taken: Vec<bool>,
    /// The last is taken next.
    free: Vec<u32>,
}

impl FreeList {
    /// A pool of the ids `0..size`, all free.
    pub(crate) fn new(size: usize) -> Self {
        Self { taken: vec![false; size], free: (0..size).rev().map(|id| id as u32).collect() }
    }

    /// Ids that are free.
    pub(crate) fn free(&self) -> usize {
        self.free.len()
    }

    /// All ids.
    pub(crate) fn size(&self) -> usize {
        self.taken.len()
    }

    /// Takes one, unless all are taken.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let id = self.free.pop()?;
        self.taken[id as usize] = true;
        Some(id)
    }

    /// Gives one back.
    ///
    /// # Panics
    /// If it is free already: two sequences would end up with the same page.
    pub(crate) fn give_back(&mut self, id: u32) {
        let taken = &mut self.taken[id as usize];
        assert!(*taken, "id {id} was given back twice");
        *taken = false;
        self.free.push(id);
    }

    /// Whether an id is free.
    #[cfg(test)]
    pub(crate) fn is_free(&self, id: u32) -> bool {
        !self.taken[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_there_is_and_reuses_what_comes_back() {
        let mut list = FreeList::new(3);
        assert_eq!([list.take(), list.take(), list.take(), list.take()], [Some(0), Some(1), Some(2), None]);
        list.give_back(1);
        assert_eq!((list.free(), list.size(), list.is_free(1), list.is_free(0)), (1, 3, true, false));
        assert_eq!((list.take(), list.take()), (Some(1), None));
    }

    #[test]
    #[should_panic(expected = "id 2 was given back twice")]
    fn giving_back_twice_is_a_bug() {
        let mut list = FreeList::new(4);
        while list.take().is_some() {}
        list.give_back(2);
        list.give_back(2);
    }
}
