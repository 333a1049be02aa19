//! Loops and conditionals. Their bodies are regions, which refer to outside values by name.

use super::writer::{Handle, ModuleWriter};
use crate::error::Result;
use crate::operation::{Comparison, StableHlo};
use crate::shape::Type;
use crate::term::{Body, Branch, Scan};

pub(super) fn cloned(values: &[&Handle]) -> Vec<Handle> {
    values.iter().map(|&value| value.clone()).collect()
}

/// A type with an outer axis of this extent.
pub(super) fn stacked(ty: &Type, count: usize) -> Type {
    let mut ty = ty.clone();
    ty.shape.insert(0, count);
    ty
}

/// Goes through the steps from a number to before another with a state. The step is given its number.
pub(super) fn steps(
    writer: &mut ModuleWriter,
    (from, end): (&Handle, &Handle),
    state: Vec<Handle>,
    step: impl FnOnce(&mut ModuleWriter, &Handle, &[Handle]) -> Result<Vec<Handle>>,
) -> Result<Vec<Handle>> {
    let mut all = vec![from.clone()];
    all.extend(state);
    let mut results = writer.repeat(
        &all,
        |writer, all| Ok(writer.compare(Comparison::Less, &all[0], end)),
        |writer, all| {
            let one = writer.position(1);
            let mut next = vec![writer.elementwise("add", &[&all[0], &one])];
            next.extend(step(writer, &all[0], &all[1..])?);
            Ok(next)
        },
    )?;
    Ok(results.split_off(1))
}

/// A number counted from the other end.
pub(super) fn mirrored(writer: &mut ModuleWriter, number: &Handle, count: &Handle) -> Handle {
    let one = writer.position(1);
    let last = writer.elementwise("subtract", &[count, &one]);
    writer.elementwise("subtract", &[&last, number])
}

/// One pass over a known number of steps.
pub(super) struct StepsPass<'a> {
    /// How many.
    pub(super) count: usize,
    /// Whether the first is the last slice.
    pub(super) reverse: bool,
    /// The arrays that are read slice by slice.
    pub(super) slices: &'a [Handle],
    /// The types of the slices that are written.
    pub(super) written: &'a [Type],
}

impl StepsPass<'_> {
    /// The last carries, and all slices that were written. The body takes the carries and a slice of each array.
    pub(super) fn run(
        &self,
        writer: &mut ModuleWriter,
        carries: Vec<Handle>,
        body: impl FnOnce(&mut ModuleWriter, Vec<Handle>) -> Result<Vec<Handle>>,
    ) -> Result<Vec<Handle>> {
        let carried = carries.len();
        let mut state = carries;
        for ty in self.written {
            state.push(writer.zeros(&stacked(ty, self.count)));
        }
        // Of no steps there are no slices to be read.
        if self.count == 0 {
            return Ok(state);
        }
        let count = writer.position(self.count);
        let zero = writer.position(0);
        steps(writer, (&zero, &count), state, |writer, number, state| {
            let position = if self.reverse { mirrored(writer, number, &count) } else { number.clone() };
            let mut arguments = state[..carried].to_vec();
            for slices in self.slices {
                arguments.push(writer.read_outer(slices, &position));
            }
            let mut results = body(writer, arguments)?;
            for (written, result) in state[carried..].iter().zip(&mut results[carried..]) {
                *result = writer.write_outer(written, result, &position);
            }
            Ok(results)
        })
    }
}

/// The writer of a body.
pub(super) type WriteBody = fn(&mut ModuleWriter, &Body, &[Handle]) -> Result<Vec<Handle>>;

/// A loop of a known number of steps.
pub(super) fn scan(
    writer: &mut ModuleWriter,
    body: WriteBody,
    scan: &Scan,
    operands: &[&Handle],
) -> Result<Vec<Handle>> {
    let (carries, rest) = operands.split_at(scan.carries);
    let (inputs, captures) = rest.split_at(scan.inputs);
    let written: Vec<Type> = scan.body.result_types().skip(scan.carries).cloned().collect();
    let pass = StepsPass { count: scan.length, reverse: scan.reverse, slices: &cloned(inputs), written: &written };
    pass.run(writer, cloned(carries), |writer, mut arguments| {
        arguments.extend(cloned(captures));
        body(writer, &scan.body, &arguments)
    })
}

/// One of two bodies.
pub(super) fn branch(
    writer: &mut ModuleWriter,
    body: WriteBody,
    branch: &Branch,
    operands: &[&Handle],
) -> Result<Vec<Handle>> {
    let results: Vec<Type> = branch.then.result_types().cloned().collect();
    let captures = cloned(&operands[1..]);
    writer.choose(
        operands[0],
        &results,
        |writer| body(writer, &branch.then, &captures),
        |writer| body(writer, &branch.otherwise, &captures),
    )
}
