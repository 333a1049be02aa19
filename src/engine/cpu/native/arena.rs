//! The code of a program, in memory that is mapped once and freed with the program.

use super::alike::AlikeNest;
use super::budget::Budget;
use super::encode::WrittenCode;
use super::pages::Pages;
use crate::engine::cpu::code::{NestCode, Scratch};
use crate::engine::cpu::scalars::EmbeddedNest;
use crate::engine::cpu::vector::Instructions;
use crate::term::hash::{PositionTable, term_hash};
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bytes of code that a program has at most. What is more runs as instructions on tiles.
const MOST: usize = 64 << 20;

/// Functions, and the bytes of all of them.
#[derive(Debug, Default)]
pub(super) struct Functions {
    /// Where each begins, and its bytes.
    pub(super) all: Vec<(usize, Vec<u8>)>,
    /// Their names, where these are asked for.
    pub(super) names: Vec<String>,
    bytes: usize,
}

/// Whether the environment asks for a file of names for the profiler `perf`.
fn is_named() -> bool {
    static NAMED: OnceLock<bool> = OnceLock::new();
    *NAMED.get_or_init(|| std::env::var_os("DELTARAY_PERF_MAP").is_some())
}

/// Adds functions to the file in which `perf` looks for the names of this process's machine code. Where it can't be written, there
/// are no names.
pub(super) fn write_names(start: usize, functions: &Functions) {
    let lines: String = functions
        .all
        .iter()
        .zip(&functions.names)
        .map(|((at, code), name)| format!("{:x} {:x} {name}\n", start + at, code.len()))
        .collect();
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let _ = file.and_then(|mut file| file.write_all(lines.as_bytes()));
}

/// Code that is being written, and then runs.
#[derive(Debug, Default)]
struct Code {
    written: Mutex<Functions>,
    /// Where it runs, once all of it is written.
    pages: OnceLock<Pages>,
}

/// The code of all nests of a program.
#[derive(Debug)]
pub(in crate::engine::cpu) struct CodeArena {
    isa: Instructions,
    code: Arc<Code>,
    known: Mutex<KnownCode>,
    budget: Budget,
}

/// The code of nests so far, `None` for those that have none, and their positions by hash: nests are large, and hashed once.
#[derive(Debug, Default)]
struct KnownCode {
    positions: PositionTable,
    nests: Vec<(AlikeNest, Option<NestCode>)>,
}

/// A nest's code: a function of pointers into its buffers, the number of steps of the outermost loop, and the first of them.
#[derive(Clone, Debug)]
pub(in crate::engine::cpu) struct MachineCode {
    code: Arc<Code>,
    start: usize,
}

impl CodeArena {
    /// For code of these instructions; `None` where there is no such code.
    pub(in crate::engine::cpu) fn new(isa: Instructions) -> Option<CodeArena> {
        let arena = || CodeArena { isa, code: Arc::default(), known: Mutex::default(), budget: Budget::default() };
        (isa != Instructions::Portable).then(arena)
    }

    /// The instructions.
    #[cfg(test)]
    pub(super) fn isa(&self) -> Instructions {
        self.isa
    }

    /// The bytes of a register.
    pub(super) fn register_bytes(&self) -> usize {
        if self.isa == Instructions::Avx512 { 64 } else { 32 }
    }

    /// How much code may still be written.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Adds a function with a name; `None` where there is too much code.
    pub(super) fn add(&self, mut function: WrittenCode, name: impl FnOnce() -> String) -> Option<MachineCode> {
        // A panic while the lock was held has left the bytes intact.
        let mut written = self.code.written.lock().unwrap_or_else(PoisonError::into_inner);
        let start = written.bytes.next_multiple_of(64);
        if start + function.bytes.len() > MOST {
            return None;
        }
        for (at, called) in function.calls {
            let distance = called as i64 - (start + at + 4) as i64;
            let distance = i32::try_from(distance).expect("all code is shorter than 2 GiB");
            function.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        written.bytes = start + function.bytes.len();
        written.all.push((start, function.bytes));
        written.names.extend(is_named().then(name));
        Some(MachineCode { code: self.code.clone(), start })
    }

    /// The code of a nest, which is written if no nest before was alike.
    pub(super) fn code_of(
        &self,
        nest: AlikeNest,
        write: impl FnOnce(&AlikeNest) -> Option<NestCode>,
    ) -> Option<NestCode> {
        let hash = term_hash(&nest);
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock();
        if let Some(at) = known.positions.find(hash, |at| known.nests[at as usize].0 == nest) {
            return known.nests[at as usize].1.clone();
        }
        drop(known);
        let code = write(&nest);
        let mut known = lock();
        let position = known.nests.len() as u32;
        known.positions.insert(hash, position);
        known.nests.push((nest, code.clone()));
        code
    }

    /// Where a function begins, if it is one of this program's.
    pub(super) fn start_of(&self, function: &MachineCode) -> Option<usize> {
        Arc::ptr_eq(&self.code, &function.code).then_some(function.start)
    }

    /// Makes the code ready to run; whether the system gives memory for that.
    pub(in crate::engine::cpu) fn seal(&self) -> bool {
        drop(std::mem::take(&mut *self.known.lock().unwrap_or_else(PoisonError::into_inner)));
        let written = std::mem::take(&mut *self.code.written.lock().unwrap_or_else(PoisonError::into_inner));
        if written.all.is_empty() {
            return true;
        }
        match Pages::of(written.bytes, &written.all) {
            Some(pages) => {
                if is_named() {
                    write_names(pages.start() as usize, &written);
                }
                self.code.pages.set(pages).is_ok()
            }
            None => false,
        }
    }
}

impl MachineCode {
    /// Where it is.
    fn address(&self) -> *const u8 {
        self.code.pages.get().expect("code is sealed before it runs").start().wrapping_add(self.start)
    }

    /// Runs so many steps from one on.
    ///
    /// # Safety
    ///
    /// The code is a nest's. The pointers are those that the nest has at that step, and what it reads and writes from there is inside
    /// of buffers that no other thread writes to meanwhile. The machine has the arena's instructions.
    pub(in crate::engine::cpu) unsafe fn run(&self, pointers: *const *mut u8, first: usize, steps: usize) {
        // SAFETY: the pages hold such a function there.
        let run: unsafe extern "sysv64" fn(*const *mut u8, usize, usize) =
            unsafe { std::mem::transmute(self.address()) };
        // SAFETY: as the caller's.
        unsafe { run(pointers, steps, first) };
    }

    /// Runs scalar instructions on these registers, with the nests among them.
    ///
    /// # Safety
    ///
    /// The code is that of scalar instructions, which may be run with these registers, this scratch and these nests.
    pub(in crate::engine::cpu) unsafe fn run_scalars(
        &self,
        registers: *mut u64,
        scratch: &mut Scratch,
        nests: &[EmbeddedNest],
    ) {
        // SAFETY: the pages hold such a function there.
        let run: unsafe extern "sysv64" fn(*mut u64, *mut Scratch, *const EmbeddedNest) =
            unsafe { std::mem::transmute(self.address()) };
        // SAFETY: as the caller's.
        unsafe { run(registers, scratch, nests.as_ptr()) };
    }
}
