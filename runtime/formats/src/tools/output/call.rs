//! One call while it is read: what is certain is told, and what was read is kept in case that it is none after all.

use std::fmt;
use std::sync::Arc;

use super::json::Step;
use super::text::Out;
use crate::tools::Declared;

/// What reads calls of one format, from behind the tag that opens them.
pub(crate) trait CallReader: fmt::Debug + Send {
    /// Reads one character.
    fn push(&mut self, c: char, call: &mut Call<'_, '_>) -> Step;

    /// The model ended here by itself. A reader that can say that its call is complete ends it.
    fn finish(&mut self, _call: &mut Call<'_, '_>) {}
}

/// The functions that may be called.
#[derive(Clone, Debug)]
pub(crate) struct Functions(Arc<[Declared]>);

impl Functions {
    pub(crate) fn new(declared: Arc<[Declared]>) -> Self {
        Self(declared)
    }

    /// Whether that is a function. Where none is declared, any name is one.
    pub(crate) fn has(&self, name: &str) -> bool {
        if self.0.is_empty() { !name.is_empty() } else { self.get(name).is_some() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Declared> {
        self.0.iter().find(|function| function.name == name)
    }

    /// Whether a name may begin like this, be it one of a function or not: a call of another one is read to its end too.
    pub(crate) fn may_begin(&self, name: &str) -> bool {
        const LONGEST: usize = 256;
        let is_word = |c: char| !c.is_whitespace() && !c.is_control() && !"<>[]{}\"".contains(c);
        name.len() <= LONGEST && name.chars().all(is_word) || self.0.iter().any(|function| function.name.starts_with(name))
    }
}

/// What is known of the calls of an answer.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) functions: Functions,
    /// Which call comes next, or is being told.
    index: usize,
    /// A call was told and has not ended.
    pub(crate) is_told: bool,
    /// What is read is no call.
    pub(crate) is_rejected: bool,
    /// A call ended with this character, or what belongs to it did: what was read is no text.
    pub(crate) is_layout: bool,
    /// After the first call, nothing is one.
    only_one: bool,
    /// Calls that are complete.
    pub(crate) complete: usize,
}

impl Progress {
    pub(crate) fn new(functions: Functions, only_one: bool) -> Self {
        Self { functions, index: 0, is_told: false, is_rejected: false, is_layout: false, only_one, complete: 0 }
    }

    /// Whether a further call may begin.
    pub(crate) fn is_open(&self) -> bool {
        !self.only_one || self.complete == 0
    }

    /// What was told of a call stays, and it never ends.
    pub(crate) fn abandon(&mut self) {
        if std::mem::take(&mut self.is_told) {
            self.index += 1;
        }
    }
}

/// Where a reader tells what it reads.
pub(crate) struct Call<'a, 'b> {
    pub(crate) progress: &'a mut Progress,
    pub(crate) out: &'a mut Out<'b>,
    /// What is read was found to be no call, and its reader follows it to its end only.
    pub(crate) is_muted: bool,
}

impl Call<'_, '_> {
    /// A call of this function begins, unless that is none.
    pub(crate) fn begin(&mut self, name: &str) {
        if self.is_muted || self.progress.is_rejected {
            return;
        }
        if !self.progress.is_open() || !self.progress.functions.has(name) {
            return self.reject();
        }
        self.out.begin(self.progress.index, name);
        self.progress.is_told = true;
    }

    /// More JSON text of the arguments.
    pub(crate) fn arguments(&mut self, text: &str) {
        if self.progress.is_told && !self.is_muted {
            self.out.arguments(self.progress.index, text);
        }
    }

    pub(crate) fn argument_char(&mut self, c: char) {
        self.arguments(c.encode_utf8(&mut [0; 4]));
    }

    /// The call that has begun is complete.
    pub(crate) fn end(&mut self) {
        if self.progress.is_told && !self.is_muted {
            self.out.end(self.progress.index);
            self.progress.is_told = false;
            self.progress.is_layout = true;
            self.progress.index += 1;
            self.progress.complete += 1;
        }
    }

    /// What was read since the call that ended belongs to it.
    pub(crate) fn layout(&mut self) {
        if !self.is_muted {
            self.progress.is_layout = true;
        }
    }

    /// What is read is well-formed and no call: it is content to its end.
    pub(crate) fn reject(&mut self) {
        if !self.is_muted {
            self.progress.is_rejected = true;
        }
    }
}
