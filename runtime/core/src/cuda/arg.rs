//! `Arg`: what a kernel is launched with.

use std::marker::PhantomData;

use super::driver::{Argument, Memory};

/// One argument of a kernel. Memory is borrowed as long as its argument lives: shared where the kernel reads it, mutably where it
/// writes, so that two arguments of a launch cannot be the same memory by mistake.
#[derive(Clone, Copy)]
pub struct Arg<'a> {
    value: Argument,
    bytes: usize,
    memory: PhantomData<&'a ()>,
}

impl<'a> Arg<'a> {
    fn new(value: Argument, bytes: usize) -> Self {
        Self { value, bytes, memory: PhantomData }
    }

    /// A null pointer, for what a model does not have.
    pub fn null() -> Self {
        Self::new(Argument::null(), 8)
    }

    /// An `int`.
    pub fn int(value: i32) -> Self {
        Self::new(Argument::int(value), 4)
    }

    /// An `int` that counts something.
    ///
    /// # Panics
    /// If it does not fit, which the plan's maxima exclude.
    pub fn count(value: usize) -> Self {
        Self::int(i32::try_from(value).unwrap_or_else(|_| panic!("{value} does not fit into an argument of 32 bits")))
    }

    /// A `float`.
    pub fn float(value: f32) -> Self {
        Self::new(Argument::float(value), 4)
    }

    /// A pointer to the first byte of memory.
    pub(super) fn memory(memory: &'a Memory) -> Self {
        Self::new(Argument::memory(memory, 0), 8)
    }

    /// A pointer to byte `at` of memory.
    pub(super) fn part(memory: &'a Memory, at: usize) -> Self {
        Self::new(Argument::memory(memory, at), 8)
    }

    /// A `Step`.
    pub(super) fn step(memory: &'a Memory, arrays: [usize; 13], numbers: [i32; 4]) -> Self {
        Self::new(Argument::step(memory, arrays, numbers), size_of::<super::driver::StepArgument>())
    }

    /// Bytes of the parameter that it is for.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn value(&self) -> Argument {
        self.value
    }
}

impl std::fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arg({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_c() {
        assert_eq!([Arg::null(), Arg::int(-1), Arg::count(7), Arg::float(0.5)].map(|a| a.bytes()), [8, 4, 4, 4]);
        // 13 pointers and 4 ints, as `step.cuh` declares them.
        assert_eq!(size_of::<super::super::driver::StepArgument>(), 13 * 8 + 4 * 4);
    }

    #[test]
    #[should_panic(expected = "2147483648 does not fit into an argument of 32 bits")]
    fn refuses_a_count_that_does_not_fit() {
        Arg::count(1 << 31);
    }
}
