//! Conditionals: two machines, one of which runs.

use super::code::Scratch;
use super::compiled::{BranchSpace, CompiledBranch, Machine};
use super::memory::copy_apart;
use super::target::Target;
use super::threads::Worker;
use crate::array::OutOfMemory;
use crate::engine::arrays::bytes;
use crate::evaluate::Failure;
use crate::kernel::Conditional;
use crate::shape::Type;

impl CompiledBranch {
    /// A conditional as instructions; `None` where its memory can't be counted.
    ///
    /// # Errors
    ///
    /// As [`Machine::repeated`].
    pub(super) fn new(
        target: Target<'_>,
        branch: &Conditional,
        types: &[Type],
        cut: bool,
    ) -> Result<Option<Box<CompiledBranch>>, OutOfMemory> {
        let sides = (Machine::repeated(target, &branch.then, cut)?, Machine::repeated(target, &branch.otherwise, cut)?);
        let (Some(then), Some(otherwise)) = sides else { return Ok(None) };
        let of = |position: usize| bytes(&types[branch.results[position] as usize]);
        let changed = branch.changed.iter().map(|&(argument, result)| (argument, result, of(result)));
        Ok(Some(Box::new(CompiledBranch {
            condition: branch.condition,
            sides: [then, otherwise],
            arguments: branch.arguments.clone(),
            results: branch.results.clone(),
            changed: changed.collect(),
        })))
    }

    /// Memory for a run.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(super) fn space(
        &self,
        scratch: &mut Scratch,
        profile: bool,
        threads: usize,
    ) -> Result<BranchSpace, OutOfMemory> {
        let [then, otherwise] = &self.sides;
        let then = then.workspace(scratch, profile, threads)?;
        let sides = [then, otherwise.workspace(scratch, profile, threads)?];
        Ok(BranchSpace { sides, pointers: vec![std::ptr::null_mut(); self.arguments.len() + self.results.len()] })
    }

    /// Runs one side.
    ///
    /// # Errors
    ///
    /// As [`Machine::run`].
    ///
    /// # Safety
    ///
    /// As [`Machine::run`], of the procedure that the conditional is a step of.
    pub(super) unsafe fn run(
        &self,
        space: &mut BranchSpace,
        worker: &mut Worker,
        bases: &[*mut u8],
    ) -> Result<(), Failure> {
        for (pointer, &id) in space.pointers.iter_mut().zip(self.arguments.iter().chain(&self.results)) {
            *pointer = bases[id as usize];
        }
        for &(argument, result, bytes) in &self.changed {
            let place = space.pointers[self.arguments.len() + result];
            // SAFETY: both are as large; a result overlaps nothing else, unless it is where the argument is.
            unsafe { copy_apart(space.pointers[argument], place, bytes) };
            space.pointers[argument] = place;
        }
        // SAFETY: the condition is one element, of booleans.
        let holds = unsafe { *bases[self.condition as usize].cast::<bool>() };
        let side = usize::from(!holds);
        let (arguments, results) = space.pointers.split_at(self.arguments.len());
        // SAFETY: as the caller's: both sides have the arguments and results of the conditional.
        unsafe { self.sides[side].run(&mut space.sides[side], worker, arguments, results) }
    }
}
