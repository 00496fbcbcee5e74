//! A list of ids of a fixed pool, in the order in which they were last used.

const NONE: u32 = u32::MAX;

/// Ids in order; each at most once. Everything takes the same time, however many there are.
#[derive(Debug)]
pub(super) struct Lru {
    /// For each id its neighbours; an id that is not in the list is its own.
    links: Vec<Link>,
    oldest: u32,
    newest: u32,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    older: u32,
    newer: u32,
    listed: bool,
}

impl Lru {
    /// An empty list of ids below `size`.
    pub(super) fn new(size: usize) -> Self {
        let link = Link { older: NONE, newer: NONE, listed: false };
        Self { links: vec![link; size], oldest: NONE, newest: NONE, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    #[cfg(test)]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.links[id as usize].listed
    }

    /// Makes an id the newest, whether it is in the list or not.
    pub(super) fn touch(&mut self, id: u32) {
        self.remove(id);
        self.links[id as usize] = Link { older: self.newest, newer: NONE, listed: true };
        match self.newest {
            NONE => self.oldest = id,
            newest => self.links[newest as usize].newer = id,
        }
        self.newest = id;
        self.len += 1;
    }

    /// Takes an id out, if it is in the list.
    pub(super) fn remove(&mut self, id: u32) {
        let Link { older, newer, listed } = self.links[id as usize];
        if !listed {
            return;
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        self.links[id as usize].listed = false;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_what_was_used_longest_ago() {
        let mut list = Lru::new(4);
        assert_eq!((list.oldest(), list.len()), (None, 0));
        [2, 0, 3, 2].iter().for_each(|&id| list.touch(id));
        assert_eq!((list.oldest(), list.len(), list.contains(1)), (Some(0), 3, false));
        list.remove(3);
        list.remove(3);
        list.remove(0);
        assert_eq!((list.oldest(), list.len()), (Some(2), 1));
        list.touch(1);
        list.remove(2);
        list.remove(1);
        assert_eq!((list.oldest(), list.len()), (None, 0));
        list.touch(0);
        assert_eq!(list.oldest(), Some(0));
    }
}
