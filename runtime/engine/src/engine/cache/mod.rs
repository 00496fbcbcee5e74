//! Pages and snapshots: who uses them, and what they hold.
//!
//! A page is free, or used by one sequence that writes it, or it is *kept*: full, known by its tokens and by the page before it, and
//! used by any number of sequences, which only read it. A kept page that nobody uses stays until its room is needed, the longest
//! unused one first. Tokens are compared, not only their hashes: a page is found by nobody whose tokens are not exactly those that it
//! holds, from the first of the sequence on.
//!
//! Where a model has recurrent layers, a kept page may have a snapshot of the state behind its last token.

mod lru;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use tenon_core::batch::{PageId, SnapshotId};

use crate::free_list::FreeList;
use lru::Lru;

/// What is known of one page.
#[derive(Debug, Default)]
struct Page {
    /// Sequences that use it.
    users: u32,
    /// What it holds, if it is kept.
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    /// The page before it; it is kept as long as this one.
    parent: Option<PageId>,
    tokens: Box<[u32]>,
    hash: u64,
    /// Kept pages whose parent this is.
    children: u32,
    snapshot: Option<SnapshotId>,
}

/// The pages of all layers' caches, and the snapshots of recurrent states.
#[derive(Debug)]
pub(super) struct Cache {
    pages: Vec<Page>,
    free: FreeList,
    /// Kept pages that nobody uses. A page goes in before its parent does, so that the oldest one is no parent.
    unused: Lru,
    kept: usize,
    /// Kept pages by the hash of their parent and tokens.
    by_hash: HashMap<u64, Vec<PageId>>,
    hasher: RandomState,
    snapshots: FreeList,
    /// The page of each snapshot that is taken.
    snapshot_pages: Vec<PageId>,
    snapshots_used: Lru,
    /// Grows with each page that is kept.
    version: u64,
    #[cfg(test)]
    collide: bool,
}

impl Cache {
    /// All pages and snapshots free.
    pub(super) fn new(pages: usize, snapshots: usize) -> Self {
        Self {
            pages: (0..pages).map(|_| Page::default()).collect(),
            free: FreeList::new(pages),
            unused: Lru::new(pages),
            kept: 0,
            by_hash: HashMap::new(),
            hasher: RandomState::new(),
            snapshots: FreeList::new(snapshots),
            snapshot_pages: vec![PageId(0); snapshots],
            snapshots_used: Lru::new(snapshots),
            version: 0,
            #[cfg(test)]
            collide: false,
        }
    }

    /// All pages.
    pub(super) fn size(&self) -> usize {
        self.pages.len()
    }

    /// Pages that can be taken.
    pub(super) fn available(&self) -> usize {
        self.free.free() + self.unused.len()
    }

    /// Kept pages that nobody uses.
    pub(super) fn unused(&self) -> usize {
        self.unused.len()
    }

    /// Snapshots that are taken.
    pub(super) fn snapshots_taken(&self) -> usize {
        self.snapshots.size() - self.snapshots.free()
    }

    /// Changes whenever a further page is kept.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Whether a page is in use.
    pub(super) fn is_used(&self, page: PageId) -> bool {
        self.page(page).users > 0
    }

    /// Takes a page to write, if need be in place of the kept one that was unused longest.
    pub(super) fn take(&mut self) -> Option<PageId> {
        if self.free.free() == 0 {
            let oldest = self.unused.oldest()?;
            self.forget(PageId(oldest));
        }
        let page = PageId(self.free.take()?);
        self.page_mut(page).users = 1;
        Some(page)
    }

    /// Makes a sequence a further user of a kept page.
    pub(super) fn share(&mut self, page: PageId) {
        debug_assert!(self.page(page).kept.is_some(), "a page that is written is not shared");
        self.page_mut(page).users += 1;
        self.unused.remove(page.0);
    }

    /// Ends the use of a sequence's pages, in their order.
    pub(super) fn release(&mut self, pages: &[PageId]) {
        // The last first: a page must not be forgotten before those that follow it.
        for &page in pages.iter().rev() {
            self.release_one(page);
        }
    }

    fn release_one(&mut self, page: PageId) {
        let of = self.page_mut(page);
        assert!(of.users > 0, "page {} was released twice", page.0);
        of.users -= 1;
        if of.users > 0 {
            return;
        }
        if of.kept.is_some() {
            self.unused.touch(page.0);
        } else {
            self.free.give_back(page.0);
        }
    }

    /// The kept page with these tokens behind `parent`.
    pub(super) fn find(&self, parent: Option<PageId>, tokens: &[u32]) -> Option<PageId> {
        let candidates = self.by_hash.get(&self.hash(parent, tokens))?;
        candidates.iter().copied().find(|&page| {
            let kept = self.page(page).kept.as_ref();
            kept.is_some_and(|kept| kept.parent == parent && *kept.tokens == *tokens)
        })
    }

    /// Keeps a page that a sequence has filled. Returns the page that it uses from now on: another one, where the same was there already.
    pub(super) fn keep(&mut self, page: PageId, parent: Option<PageId>, tokens: &[u32]) -> PageId {
        if let Some(there) = self.find(parent, tokens) {
            self.share(there);
            self.release_one(page);
            return there;
        }
        debug_assert!(self.page(page).users == 1 && self.page(page).kept.is_none(), "a page is kept once, by who wrote it");
        let hash = self.hash(parent, tokens);
        if let Some(parent) = parent {
            self.kept_mut(parent).children += 1;
        }
        self.page_mut(page).kept = Some(Kept { parent, tokens: tokens.into(), hash, children: 0, snapshot: None });
        self.by_hash.entry(hash).or_default().push(page);
        self.kept += 1;
        self.version += 1;
        page
    }

    /// The snapshot behind a kept page.
    pub(super) fn snapshot(&self, page: PageId) -> Option<SnapshotId> {
        self.page(page).kept.as_ref()?.snapshot
    }

    /// Notes that a snapshot was restored.
    pub(super) fn touch_snapshot(&mut self, snapshot: SnapshotId) {
        self.snapshots_used.touch(snapshot.0);
    }

    /// A snapshot to be saved behind a kept page, if need be in place of the one that was unused longest. `None` where the page has one
    /// already, or the pool is empty.
    pub(super) fn take_snapshot(&mut self, page: PageId) -> Option<SnapshotId> {
        if let Some(there) = self.snapshot(page) {
            self.touch_snapshot(there);
            return None;
        }
        if self.snapshots.free() == 0 {
            let oldest = SnapshotId(self.snapshots_used.oldest()?);
            self.drop_snapshot(oldest);
        }
        let snapshot = SnapshotId(self.snapshots.take()?);
        self.kept_mut(page).snapshot = Some(snapshot);
        self.snapshot_pages[snapshot.0 as usize] = page;
        self.touch_snapshot(snapshot);
        Some(snapshot)
    }

    /// Frees a snapshot.
    pub(super) fn drop_snapshot(&mut self, snapshot: SnapshotId) {
        let page = self.snapshot_pages[snapshot.0 as usize];
        self.kept_mut(page).snapshot = None;
        self.snapshots_used.remove(snapshot.0);
        self.snapshots.give_back(snapshot.0);
    }

    /// Frees a kept page that nobody uses.
    fn forget(&mut self, page: PageId) {
        if let Some(snapshot) = self.snapshot(page) {
            self.drop_snapshot(snapshot);
        }
        self.unused.remove(page.0);
        let of = self.page_mut(page);
        assert_eq!(of.users, 0, "page {} is in use", page.0);
        let Some(kept) = of.kept.take() else { return };
        assert_eq!(kept.children, 0, "page {} has pages behind it", page.0);
        if let Some(parent) = kept.parent {
            self.kept_mut(parent).children -= 1;
        }
        if let Some(same) = self.by_hash.get_mut(&kept.hash) {
            same.retain(|&other| other != page);
            if same.is_empty() {
                self.by_hash.remove(&kept.hash);
            }
        }
        self.kept -= 1;
        self.free.give_back(page.0);
    }

    fn hash(&self, parent: Option<PageId>, tokens: &[u32]) -> u64 {
        #[cfg(test)]
        if self.collide {
            return 0;
        }
        self.hasher.hash_one((parent, tokens))
    }

    fn page(&self, page: PageId) -> &Page {
        &self.pages[page.0 as usize]
    }

    fn page_mut(&mut self, page: PageId) -> &mut Page {
        &mut self.pages[page.0 as usize]
    }

    fn kept_mut(&mut self, page: PageId) -> &mut Kept {
        self.page_mut(page).kept.as_mut().unwrap_or_else(|| panic!("page {} is not kept", page.0))
    }
}

#[cfg(test)]
mod tests;
