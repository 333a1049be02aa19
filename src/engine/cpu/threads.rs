//! Threads, and each thread's own memory.

use super::code::Scratch;
use super::gemm::KeptOperand;
use super::team::Team;
use crate::array::OutOfMemory;
use crate::engine::arrays::{CacheLine, lines};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most threads of a program for each that the machine offers. More than one of them is of use to see that a program does
/// not depend on their number.
const MOST: usize = 4;

/// The threads that programs run on.
#[derive(Clone, Debug)]
pub(super) enum Threads {
    /// The caller's alone.
    One,
    /// The threads that the whole process shares.
    Shared(&'static Team),
    /// The program's own threads.
    Own(Arc<Team>),
}

/// One thread's own memory.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) scratch: Scratch,
    /// Memory for parts of the operands of products.
    pub(super) packing: Vec<CacheLine>,
    /// Operands of products that many blocks of rows have in common.
    pub(super) kept: Vec<KeptOperand>,
}

impl Own {
    fn new(scratch: Scratch, packing: usize) -> Result<Own, OutOfMemory> {
        Ok(Own { scratch, packing: lines(packing * size_of::<CacheLine>())?, kept: Vec::new() })
    }
}

/// Lines of packing memory that kernels need: on the thread that runs a program, and on each that runs chunks of a kernel.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PackingLines {
    pub(super) own: usize,
    pub(super) helper: usize,
}

impl PackingLines {
    /// As many on any thread.
    pub(super) fn alike(lines: usize) -> PackingLines {
        PackingLines { own: lines, helper: lines }
    }

    /// Enough for either of two kernels.
    pub(super) fn or(self, other: PackingLines) -> PackingLines {
        PackingLines { own: self.own.max(other.own), helper: self.helper.max(other.helper) }
    }
}

/// The memory of the thread that runs a program, and of those that help with large kernels.
#[derive(Debug)]
pub(super) struct Worker {
    threads: Threads,
    pub(super) own: Own,
    helpers: Vec<Mutex<Own>>,
}

/// Pointers that other threads see too.
pub(super) struct SharedPointers<'a>(pub(super) &'a [*mut u8]);

// SAFETY: chunks of a kernel write to places of their own and read what none of them writes, and whoever hands pointers to
// other threads waits until these are done with them.
unsafe impl Sync for SharedPointers<'_> {}
unsafe impl Send for SharedPointers<'_> {}

impl SharedPointers<'_> {
    pub(super) fn pointers(&self) -> &[*mut u8] {
        self.0
    }
}

impl Threads {
    /// So many threads at most, and no more than [`MOST`] of them for each that the machine offers; or as many as that
    /// offers, which the process shares. Where the system gives none, the caller's alone.
    pub(super) fn new(threads: Option<usize>) -> Threads {
        static SHARED: OnceLock<Team> = OnceLock::new();
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        match threads.map(|count| count.min(MOST.saturating_mul(available()))) {
            Some(1) => Threads::One,
            Some(count) => Threads::Own(Arc::new(Team::new(count))),
            None => match SHARED.get_or_init(|| Team::new(available())) {
                team if team.threads() == 1 => Threads::One,
                team => Threads::Shared(team),
            },
        }
    }

    /// The number of threads.
    pub(super) fn count(&self) -> usize {
        self.team().map_or(1, Team::threads)
    }

    fn team(&self) -> Option<&Team> {
        match self {
            Threads::One => None,
            Threads::Shared(team) => Some(team),
            Threads::Own(team) => Some(team),
        }
    }

    /// The memory that a run of a machine needs: scratch, and lines of packing memory for the thread that runs it, and for every
    /// thread, if it has kernels for several.
    ///
    /// # Errors
    ///
    /// When there is no memory for packing.
    pub(super) fn worker(
        &self,
        scratch: Scratch,
        packing: PackingLines,
        is_parallel: bool,
    ) -> Result<Worker, OutOfMemory> {
        let count = if is_parallel { self.team().map_or(0, Team::threads) } else { 0 };
        let helper = |_| Ok(Mutex::new(Own::new(scratch.alike(), packing.helper)?));
        let helpers = (0..count).map(helper).collect::<Result<_, OutOfMemory>>()?;
        Ok(Worker { threads: self.clone(), own: Own::new(scratch, packing.own)?, helpers })
    }
}

impl Worker {
    /// One without helpers, with so many lines of packing memory.
    ///
    /// # Errors
    ///
    /// When there is no memory for packing.
    pub(super) fn alone(scratch: Scratch, packing: usize) -> Result<Worker, OutOfMemory> {
        Ok(Worker { threads: Threads::One, own: Own::new(scratch, packing)?, helpers: Vec::new() })
    }

    /// The number of threads that share chunks.
    pub(super) fn threads(&self) -> usize {
        self.helpers.len().max(1)
    }

    /// Calls a function for every chunk, with the thread's number and memory: in turn, or on several threads.
    pub(super) fn each(&mut self, chunks: usize, f: impl Fn(usize, usize, &mut Own) + Sync) {
        match self.split() {
            (_, Some(helpers)) => helpers.each(chunks, f),
            (own, None) => (0..chunks).for_each(|chunk| f(chunk, 0, own)),
        }
    }

    /// The memory of the thread that runs a program, and the threads that it can share work with.
    pub(super) fn split(&mut self) -> (&mut Own, Option<Helpers<'_>>) {
        let Worker { threads, own, helpers } = self;
        let team = threads.team().filter(|_| !helpers.is_empty());
        (own, team.map(|team| Helpers { team, own: helpers }))
    }
}

/// Threads that share work, this one among them, and their memory.
#[derive(Clone, Copy)]
pub(super) struct Helpers<'w> {
    team: &'w Team,
    own: &'w [Mutex<Own>],
}

impl Helpers<'_> {
    /// The number of threads.
    pub(super) fn count(self) -> usize {
        self.own.len()
    }

    /// Calls a function for every chunk, with the thread's number and memory.
    pub(super) fn each(self, chunks: usize, f: impl Fn(usize, usize, &mut Own) + Sync) {
        self.team.run(chunks, &|chunk, thread| {
            f(chunk, thread, &mut self.own[thread].lock().unwrap_or_else(PoisonError::into_inner));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_bounded_whatever_is_asked_for() {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!([1, 2, 3].map(|count| Threads::new(Some(count)).count()), [1, 2, 3]);
        assert_eq!(Threads::new(None).count(), available);
        for count in [100_000, 1_000_000, usize::MAX] {
            assert_eq!(Threads::new(Some(count)).count(), MOST * available, "{count}");
        }
    }
}
