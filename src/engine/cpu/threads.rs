//! Threads, and what each of them has for itself.

use super::code::Scratch;
use super::machine::{Machine, Workspace};
use crate::concrete::Failure;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// The threads that programs run on.
#[derive(Clone, Debug)]
pub(super) enum Threads {
    /// The caller's alone.
    One,
    /// Those that all of the process shares.
    Shared,
    /// So many of the program's own.
    Own(Arc<rayon::ThreadPool>),
}

/// Scratch for the thread that runs a program, and for those that help with large kernels.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) scratch: Scratch,
    helpers: Vec<Mutex<Scratch>>,
}

/// Pointers that other threads see too.
pub(super) struct Shared<'a>(pub(super) &'a [*mut u8]);

// SAFETY: chunks of a kernel write to places of their own and read what none of them writes, and whoever hands pointers to
// other threads waits until these are done with them.
unsafe impl Sync for Shared<'_> {}
unsafe impl Send for Shared<'_> {}

impl Shared<'_> {
    pub(super) fn pointers(&self) -> &[*mut u8] {
        self.0
    }
}

impl Threads {
    /// So many threads at most, or as many as the process shares; where the system gives none, the caller's alone.
    pub(super) fn new(threads: Option<usize>) -> Threads {
        match threads {
            Some(1) => Threads::One,
            None if rayon::current_num_threads() == 1 => Threads::One,
            None => Threads::Shared,
            Some(count) => match rayon::ThreadPoolBuilder::new().num_threads(count).build() {
                Ok(pool) => Threads::Own(Arc::new(pool)),
                Err(_) => Threads::One,
            },
        }
    }

    pub(super) fn count(&self) -> usize {
        match self {
            Threads::One => 1,
            Threads::Shared => rayon::current_num_threads(),
            Threads::Own(pool) => pool.current_num_threads(),
        }
    }

    /// What a run needs: scratch for every thread, if it has kernels for several.
    pub(super) fn worker(&self, scratch: Scratch, parallel: bool) -> Worker {
        let count = if parallel && self.count() > 1 { self.count() } else { 0 };
        let helpers = (0..count).map(|_| Mutex::new(scratch.alike())).collect();
        Worker { scratch, helpers }
    }

    /// Runs a machine among these threads, if it has work for several.
    ///
    /// # Errors
    ///
    /// As [`Machine::run`].
    ///
    /// # Safety
    ///
    /// As [`Machine::run`].
    pub(super) unsafe fn run(
        &self,
        machine: &Machine,
        workspace: &mut Workspace,
        worker: &mut Worker,
        arguments: &[*mut u8],
        results: &[*mut u8],
    ) -> Result<(), Failure> {
        match self {
            Threads::Own(pool) if machine.is_parallel() => {
                let (arguments, results) = (Shared(arguments), Shared(results));
                // SAFETY: as the caller's.
                pool.install(|| unsafe { machine.run(workspace, worker, arguments.pointers(), results.pointers()) })
            }
            // SAFETY: as the caller's.
            _ => unsafe { machine.run(workspace, worker, arguments, results) },
        }
    }
}

impl Worker {
    /// One without helpers.
    pub(super) fn alone(scratch: Scratch) -> Worker {
        Worker { scratch, helpers: Vec::new() }
    }

    /// Calls a function for every chunk, with the number of the thread and its scratch: in turn, or on several threads.
    pub(super) fn each(&mut self, chunks: usize, f: impl Fn(usize, usize, &mut Scratch) + Sync) {
        if self.helpers.is_empty() {
            return (0..chunks).for_each(|chunk| f(chunk, 0, &mut self.scratch));
        }
        let helpers = &self.helpers;
        (0..chunks).into_par_iter().with_max_len(1).for_each(|chunk| {
            let own = rayon::current_thread_index().unwrap_or(0) % helpers.len();
            let mut scratch = helpers[own].lock().unwrap_or_else(PoisonError::into_inner);
            f(chunk, own, &mut scratch);
        });
    }
}
