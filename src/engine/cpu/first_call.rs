//! Programs that are compiled when they are first called.

use super::{Cpu, Program};
use crate::error::Result;
use crate::term::Body;
use std::borrow::Borrow;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// A program's kernels, once it has been called.
#[derive(Debug, Default)]
pub(crate) struct CompiledAtFirstCall(OnceLock<Program>);

// A run that panics leaves nothing visible to others: each run has memory of its own.
impl std::panic::UnwindSafe for CompiledAtFirstCall {}
impl std::panic::RefUnwindSafe for CompiledAtFirstCall {}

impl CompiledAtFirstCall {
    /// The kernels of a program, which must be the same each time, for [`Cpu::default`].
    ///
    /// Most programs that nobody compiles are called once: the first run frees its memory, and all later ones keep it.
    ///
    /// # Errors
    ///
    /// As [`Program::new`]; the next call tries again.
    #[track_caller]
    pub(crate) fn program(&self, body: &Body) -> Result<&Program> {
        self.made(&Cpu::default(), false, || Ok(body))
    }

    /// The kernels of the program that a function makes, which is the same each time. All runs leave their memory for others.
    ///
    /// # Errors
    ///
    /// The errors of the function, and those of [`Program::new`]; the next call tries again.
    #[track_caller]
    pub(crate) fn get(&self, options: &Cpu, body: impl FnOnce() -> Result<Body>) -> Result<&Program> {
        self.made(options, true, body)
    }

    /// No lock is held while the program is made: threads that are first at the same time make one each.
    #[track_caller]
    fn made<B: Borrow<Body>>(
        &self,
        options: &Cpu,
        is_memory_kept: bool,
        body: impl FnOnce() -> Result<B>,
    ) -> Result<&Program> {
        if let Some(program) = self.0.get() {
            return Ok(program);
        }
        let program = Program::new(body()?.borrow(), options)?;
        Ok(self.0.get_or_init(|| Program { is_memory_kept: AtomicBool::new(is_memory_kept), ..program }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::operation::Unary;
    use crate::shape::{DType, Type};
    use crate::term::{Graph, Op};
    use std::sync::PoisonError;

    fn sines() -> Body {
        let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[100])], 0);
        let result = graph.add(Op::Unary(Unary::Sin), &[0]);
        graph.finish(&[result])
    }

    /// How many runs' memory a program keeps.
    fn kept(program: &Program) -> usize {
        program.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    #[test]
    fn the_first_run_leaves_no_memory_and_later_ones_do() {
        let (compiled, body) = (CompiledAtFirstCall::default(), sines());
        for expected in [0, 1, 1] {
            let program = compiled.program(&body).expect("there is memory");
            program.run(&[Array::zeros(&Type::new(DType::F64, &[100]))]).expect("there is memory");
            assert_eq!(kept(program), expected);
        }
        let compiled = CompiledAtFirstCall::default();
        let program = compiled.get(&Cpu::default(), || Ok(sines())).expect("there is memory");
        program.run(&[Array::zeros(&Type::new(DType::F64, &[100]))]).expect("there is memory");
        assert_eq!(kept(program), 1);
    }

    #[test]
    fn threads_that_are_first_together_run_the_same_program() {
        let (compiled, body) = (CompiledAtFirstCall::default(), sines());
        let places = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let program = compiled.program(&body).expect("there is memory");
                    places.lock().unwrap().push(std::ptr::from_ref(program).addr());
                });
            }
        });
        let places = places.into_inner().unwrap();
        assert!(places.len() == 8 && places.iter().all(|place| *place == places[0]));
    }

    #[test]
    fn failures_are_not_remembered() {
        let compiled = CompiledAtFirstCall::default();
        let failure = || crate::Error::Structure("not yet".into());
        assert!(compiled.get(&Cpu::default(), || Err(failure())).is_err());
        assert!(compiled.get(&Cpu::default(), || Ok(sines())).is_ok());
        assert!(compiled.get(&Cpu::default(), || Err(failure())).is_ok());
    }
}
