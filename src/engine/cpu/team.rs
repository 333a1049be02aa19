//! Threads that help with large kernels. They sleep between kernels; to hand them one allocates nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

/// The function that is called for each chunk, with the number of the calling thread: 0 for the one that hands out the work.
type Task<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Some threads that wait for work.
#[derive(Debug)]
pub(super) struct Team {
    board: Arc<Board>,
    helpers: Vec<JoinHandle<()>>,
    /// Held by the thread whose work is done.
    turn: Mutex<()>,
}

/// Where work is found.
#[derive(Debug, Default)]
struct Board {
    notice: Mutex<Notice>,
    posted: Condvar,
    done: Condvar,
    /// The next chunk that nobody has begun.
    next: AtomicUsize,
}

#[derive(Debug, Default)]
struct Notice {
    work: Option<PostedWork>,
    /// How much work there has been, so that nobody takes part twice.
    number: usize,
    /// Helpers that have started, which takes memory.
    started: usize,
    /// Helpers that take part.
    busy: usize,
    failed: bool,
    /// The team is no more.
    over: bool,
}

#[derive(Clone, Copy)]
struct PostedWork {
    task: *const Task<'static>,
    chunks: usize,
}

// SAFETY: tasks are called by several threads at once, and whoever posts one waits until no helper takes part.
unsafe impl Send for PostedWork {}

impl std::fmt::Debug for PostedWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} chunks", self.chunks)
    }
}

impl Board {
    fn notice(&self) -> MutexGuard<'_, Notice> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a task for chunks that nobody has begun, until there are none.
    fn take_part(&self, task: &Task<'_>, chunks: usize, thread: usize) {
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return;
            }
            task(chunk, thread);
        }
    }

    /// The loop that a helper runs for all its life.
    fn help(&self, thread: usize) {
        let mut seen = 0;
        let mut notice = self.notice();
        notice.started += 1;
        self.done.notify_all();
        while !notice.over {
            match notice.work {
                Some(PostedWork { task, chunks }) if notice.number != seen => {
                    seen = notice.number;
                    notice.busy += 1;
                    drop(notice);
                    // SAFETY: the task lives until its work is taken from the board and no helper takes part.
                    let task = unsafe { &*task };
                    let result = catch_unwind(AssertUnwindSafe(|| self.take_part(task, chunks, thread)));
                    notice = self.notice();
                    notice.failed |= result.is_err();
                    notice.busy -= 1;
                    if notice.busy == 0 {
                        self.done.notify_all();
                    }
                }
                _ => notice = self.posted.wait(notice).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Work on the board, which dropping takes away as soon as no helper takes part: also when the thread whose work it is panics.
struct Posted<'a>(&'a Board);

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        let mut notice = self.0.notice();
        notice.work = None;
        while notice.busy > 0 {
            notice = self.0.done.wait(notice).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Team {
    /// A team of so many threads, the one that has its work done counted; of fewer, where the system gives fewer.
    pub(super) fn new(threads: usize) -> Team {
        let board = Arc::new(Board::default());
        let helper = |thread| {
            let board = board.clone();
            let builder = std::thread::Builder::new().name(format!("deltaray {thread}"));
            builder.spawn(move || board.help(thread)).ok()
        };
        let helpers: Vec<JoinHandle<()>> = (1..threads).map_while(helper).collect();
        let mut notice = board.notice();
        while notice.started < helpers.len() {
            notice = board.done.wait(notice).unwrap_or_else(PoisonError::into_inner);
        }
        drop(notice);
        Team { board, helpers, turn: Mutex::new(()) }
    }

    /// The number of threads.
    pub(super) fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    /// Calls a task for every chunk: on all threads, or on this one while they do another's work.
    pub(super) fn run(&self, chunks: usize, task: &Task<'_>) {
        let turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return (0..chunks).for_each(|chunk| task(chunk, 0)),
        };
        self.board.next.store(0, Ordering::Relaxed);
        // SAFETY: only the lifetime changes; the task is on the board no longer than this call.
        let lasting: *const Task<'static> = unsafe { std::mem::transmute(std::ptr::from_ref(task)) };
        let mut notice = self.board.notice();
        notice.work = Some(PostedWork { task: lasting, chunks });
        notice.number = notice.number.wrapping_add(1);
        notice.failed = false;
        drop(notice);
        let posted = Posted(&self.board);
        self.board.posted.notify_all();
        self.board.take_part(task, chunks, 0);
        drop(posted);
        // Whoever's turn is next takes this from the board.
        let failed = self.board.notice().failed;
        drop(turn);
        assert!(!failed, "a kernel failed on another thread");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.board.notice().over = true;
        self.board.posted.notify_all();
        for helper in self.helpers.drain(..) {
            // Failures are reported where the work was asked for.
            let _ = helper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::resume_unwind;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    const ROUNDS: usize = 20_000;

    /// How often each of some chunks was called for.
    fn counts(team: &Team, chunks: usize) -> Vec<u64> {
        let counts: Vec<AtomicU64> = (0..chunks).map(|_| AtomicU64::new(0)).collect();
        team.run(chunks, &|chunk, thread| {
            assert!(thread < team.threads());
            counts[chunk].fetch_add(1, Ordering::SeqCst);
        });
        counts.into_iter().map(AtomicU64::into_inner).collect()
    }

    #[test]
    fn every_chunk_is_called_for_once() {
        for threads in [1, 2, 5] {
            let team = Team::new(threads);
            for chunks in [0, 1, 2, 3, 64] {
                (0..50).for_each(|_| assert_eq!(counts(&team, chunks), vec![1; chunks], "{threads} threads"));
            }
        }
    }

    #[test]
    fn several_threads_share_a_team() {
        let team = Team::new(3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|_| assert_eq!(counts(&team, 7), [1; 7])));
            }
        });
    }

    #[test]
    fn failures_are_reported_to_the_thread_whose_work_it_is() {
        let team = Team::new(2);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Whoever's turn is next takes the failure of the turn before from the board.
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    team.run(0, &|_, _| {});
                }
            });
            for _ in 0..ROUNDS {
                let helped = AtomicBool::new(false);
                let task = |_: usize, thread: usize| {
                    if thread > 0 {
                        helped.store(true, Ordering::SeqCst);
                        // A panic that prints nothing.
                        resume_unwind(Box::new(()));
                    }
                    (0..100).for_each(|_| std::hint::spin_loop());
                };
                let is_reported = catch_unwind(AssertUnwindSafe(|| team.run(8, &task))).is_err();
                if is_reported != helped.into_inner() {
                    is_over.store(true, Ordering::SeqCst);
                    panic!("a failure is lost");
                }
            }
            is_over.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn a_team_outlives_a_task_that_panics() {
        let team = Team::new(3);
        for failing in 0..8 {
            let run = || team.run(8, &|chunk, _| assert!(chunk != failing, "chunk {chunk}"));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
            assert_eq!(counts(&team, 9), [1; 9]);
        }
    }
}
