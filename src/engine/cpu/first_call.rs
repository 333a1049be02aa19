//! Programs that are compiled when they are first called.

use super::{Cpu, Program};
use crate::error::Result;
use crate::simplify::fold_constants;
use crate::term::Body;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// A program's kernels, once it has been called.
#[derive(Debug, Default)]
pub(crate) struct CompiledAtFirstCall(OnceLock<Program>);

impl CompiledAtFirstCall {
    /// The kernels of a program, which is the same each time, for [`Cpu::default`].
    ///
    /// Most programs that nobody compiles are called once: the first run leaves no memory behind, and all later ones do.
    ///
    /// # Errors
    ///
    /// As [`Program::new`]; the next call tries again.
    #[track_caller]
    pub(crate) fn program(&self, body: &Body) -> Result<&Program> {
        if let Some(program) = self.0.get() {
            return Ok(program);
        }
        let program = compiled(body, &Cpu::default())?;
        Ok(self.0.get_or_init(|| Program { is_memory_kept: AtomicBool::new(false), ..program }))
    }

    /// The kernels of the program that a function makes, which is the same each time. All runs leave their memory for others.
    ///
    /// # Errors
    ///
    /// Those of the function, and as [`Program::new`]; the next call tries again.
    #[track_caller]
    pub(crate) fn get(&self, options: &Cpu, body: impl FnOnce() -> Result<Body>) -> Result<&Program> {
        if let Some(program) = self.0.get() {
            return Ok(program);
        }
        // No lock is held meanwhile: threads that are first at the same time compile it each.
        let program = compiled(&body()?, options)?;
        Ok(self.0.get_or_init(|| program))
    }
}

#[track_caller]
fn compiled(body: &Body, options: &Cpu) -> Result<Program> {
    Program::new(&fold_constants(body), options)
}
