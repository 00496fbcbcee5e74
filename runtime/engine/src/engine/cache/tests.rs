//! Tests of pages and snapshots without an engine; and what must hold of them at any time, for tests of the engine.

use super::*;

impl Cache {
    /// Every hash is the same from now on.
    pub(in crate::engine) fn collide(&mut self) {
        self.collide = true;
    }

    /// Checks everything that must hold between steps, given how many sequences use each page.
    ///
    /// # Panics
    /// When something does not hold.
    pub(in crate::engine) fn check(&self, users: &[u32]) {
        let (mut free, mut unused, mut kept, mut snapshots) = (0, 0, 0, 0);
        let mut children = vec![0; self.pages.len()];
        for (id, page) in (0u32..).zip(&self.pages) {
            assert_eq!(page.users, users[id as usize], "users of page {id}");
            assert_eq!(self.free.is_free(id), page.users == 0 && page.kept.is_none(), "page {id} is free or it is not");
            assert_eq!(self.unused.contains(id), page.users == 0 && page.kept.is_some(), "page {id} is unused or it is not");
            free += usize::from(self.free.is_free(id));
            unused += usize::from(self.unused.contains(id));
            let Some(of) = &page.kept else {
                assert!(page.users <= 1, "page {id} is written by {} sequences", page.users);
                continue;
            };
            kept += 1;
            assert_eq!(self.find(of.parent, &of.tokens), Some(PageId(id)), "page {id} is found by what it holds");
            if let Some(parent) = of.parent {
                children[parent.0 as usize] += 1;
                assert!(self.page(parent).users >= page.users, "whoever uses page {id} uses the one before it");
            }
            if let Some(snapshot) = of.snapshot {
                snapshots += 1;
                assert_eq!(self.snapshot_pages[snapshot.0 as usize], PageId(id), "snapshot {} of page {id}", snapshot.0);
                assert!(self.snapshots_used.contains(snapshot.0) && !self.snapshots.is_free(snapshot.0));
            }
        }
        for (id, page) in self.pages.iter().enumerate() {
            assert_eq!(page.kept.as_ref().map_or(0, |kept| kept.children), children[id], "pages behind page {id}");
        }
        assert_eq!((free, unused, kept), (self.free.free(), self.unused.len(), self.kept));
        assert_eq!(self.by_hash.values().map(Vec::len).sum::<usize>(), kept, "every kept page has one hash");
        assert_eq!((snapshots, self.snapshots_used.len()), (self.snapshots_taken(), snapshots), "snapshots belong to pages");
    }
}

/// Fills and keeps pages with these tokens, one behind the other.
fn chain(cache: &mut Cache, tokens: &[u32]) -> Vec<PageId> {
    let mut pages = Vec::new();
    for &token in tokens {
        let page = cache.take().unwrap();
        pages.push(cache.keep(page, pages.last().copied(), &[token; 2]));
    }
    pages
}

#[test]
fn pages_are_found_by_all_tokens_before_them() {
    let mut cache = Cache::new(8, 0);
    let pages = chain(&mut cache, &[1, 2]);
    let other = chain(&mut cache, &[3, 2]);
    assert_eq!(cache.find(None, &[1; 2]), Some(pages[0]));
    assert_eq!(cache.find(Some(pages[0]), &[2; 2]), Some(pages[1]));
    assert_eq!(cache.find(Some(other[0]), &[2; 2]), Some(other[1]));
    assert_eq!((cache.find(None, &[2; 2]), cache.find(Some(pages[0]), &[2, 1])), (None, None));
}

#[test]
fn equal_hashes_are_no_equal_tokens() {
    let mut cache = Cache::new(8, 0);
    cache.collide();
    let (pages, other) = (chain(&mut cache, &[1, 2]), chain(&mut cache, &[3, 2]));
    assert_eq!(cache.by_hash.len(), 1);
    assert_eq!(cache.find(None, &[1; 2]), Some(pages[0]));
    assert_eq!(cache.find(None, &[3; 2]), Some(other[0]));
    assert_eq!(cache.find(Some(pages[0]), &[2; 2]), Some(pages[1]));
    assert_eq!(cache.find(Some(other[0]), &[2; 2]), Some(other[1]));
    assert_eq!((cache.find(None, &[2; 2]), cache.find(None, &[4; 2])), (None, None));
    cache.release(&pages);
    while cache.take().is_some() {}
    assert_eq!((cache.find(None, &[1; 2]), cache.find(None, &[3; 2])), (None, Some(other[0])));
}

#[test]
fn the_same_page_is_kept_once_and_used_by_both() {
    let mut cache = Cache::new(4, 0);
    let (first, second) = (chain(&mut cache, &[1]), chain(&mut cache, &[1]));
    assert_eq!(first, second);
    assert_eq!((cache.available(), cache.kept), (3, 1));
    cache.release(&first);
    assert!(cache.is_used(first[0]));
    cache.release(&second);
    assert_eq!((cache.is_used(first[0]), cache.unused(), cache.available()), (false, 1, 4));
}

#[test]
fn what_was_unused_longest_goes_first_and_the_end_of_a_prefix_before_its_start() {
    let mut cache = Cache::new(4, 0);
    let (long, short) = (chain(&mut cache, &[1, 2]), chain(&mut cache, &[3]));
    cache.release(&long);
    cache.release(&short);
    // Used again, and so the newest.
    cache.share(long[0]);
    cache.release(&long[..1]);
    let taken: Vec<PageId> = (0..4).map(|_| cache.take().unwrap()).collect();
    assert_eq!(taken[1..], [long[1], short[0], long[0]]);
    assert_eq!((cache.take(), cache.kept), (None, 0));
    cache.check(&[1; 4]);
}

#[test]
fn snapshots_go_with_their_pages_and_the_longest_unused_first() {
    let mut cache = Cache::new(4, 2);
    let pages = chain(&mut cache, &[1, 2, 3]);
    let [a, b] = [0, 1].map(|i| cache.take_snapshot(pages[i]).unwrap());
    assert_eq!(cache.take_snapshot(pages[0]), None, "it has one already, which is newer now");
    assert_eq!(cache.take_snapshot(pages[2]), Some(b));
    assert_eq!([0, 1, 2].map(|i| cache.snapshot(pages[i])), [Some(a), None, Some(b)]);
    cache.release(&pages);
    cache.check(&[0; 4]);
    // A free page, then the end of the chain.
    assert_eq!([cache.take(), cache.take()].map(|page| page.is_some()), [true; 2]);
    assert_eq!((cache.snapshots_taken(), cache.snapshot(pages[0])), (1, Some(a)));
    assert_eq!(Cache::new(4, 0).snapshots_taken(), 0);
    let mut none = Cache::new(4, 0);
    let pages = chain(&mut none, &[1]);
    assert_eq!(none.take_snapshot(pages[0]), None);
}

#[test]
#[should_panic(expected = "page 0 was released twice")]
fn releasing_twice_is_a_bug() {
    let mut cache = Cache::new(2, 0);
    let page = cache.take().unwrap();
    cache.release(&[page]);
    cache.release(&[page]);
}
