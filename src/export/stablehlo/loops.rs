//! Loops and conditionals. Their bodies are regions, which use what is outside by its name.
//!
//! A loop that is gone through several times has a tape where the number of its steps is known: an array of what is kept, a
//! slice for each step. Where it is not, no array could hold what is kept: so before every step of a later sweep, the
//! earlier ones are run again from their beginning up to that step.

use super::body::body;
use super::writer::{Handle, Writer};
use crate::error::Result;
use crate::operation::Comparison;
use crate::shape::Type;
use crate::term::{Branch, Scan, Steps, Sweeps};

fn cloned(values: &[&Handle]) -> Vec<Handle> {
    values.iter().map(|&value| value.clone()).collect()
}

/// A type with an outer axis of this extent.
fn stacked(ty: &Type, count: usize) -> Type {
    let mut ty = ty.clone();
    ty.shape.insert(0, count);
    ty
}

/// Goes through as many steps as a rank-0 `i64` says with a state. The step is given its number.
fn steps(
    writer: &mut Writer,
    count: &Handle,
    state: Vec<Handle>,
    step: impl FnOnce(&mut Writer, &Handle, &[Handle]) -> Result<Vec<Handle>>,
) -> Result<Vec<Handle>> {
    let mut all = vec![writer.position(0)];
    all.extend(state);
    let mut results = writer.repeat(
        &all,
        |writer, all| Ok(writer.compare(Comparison::Less, &all[0], count)),
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
fn mirrored(writer: &mut Writer, number: &Handle, count: &Handle) -> Handle {
    let one = writer.position(1);
    let last = writer.elementwise("subtract", &[count, &one]);
    writer.elementwise("subtract", &[&last, number])
}

/// One pass over a known number of steps.
struct Pass<'a> {
    /// How many.
    count: usize,
    /// Whether the first is the last slice.
    reverse: bool,
    /// What is read slice by slice.
    slices: &'a [Handle],
    /// The types of what is written slice by slice.
    written: &'a [Type],
}

impl Pass<'_> {
    /// The last carries, and all slices that were written. The body takes the carries and a slice of each array.
    fn run(
        &self,
        writer: &mut Writer,
        carries: Vec<Handle>,
        body: impl FnOnce(&mut Writer, Vec<Handle>) -> Result<Vec<Handle>>,
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
        steps(writer, &count, state, |writer, number, state| {
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

/// A loop of a known number of steps.
pub(super) fn scan(writer: &mut Writer, scan: &Scan, operands: &[&Handle]) -> Result<Vec<Handle>> {
    let (carries, rest) = operands.split_at(scan.carries);
    let (inputs, captures) = rest.split_at(scan.inputs);
    let written: Vec<Type> = scan.body.result_types().skip(scan.carries).cloned().collect();
    let pass = Pass { count: scan.length, reverse: scan.reverse, slices: &cloned(inputs), written: &written };
    pass.run(writer, cloned(carries), |writer, mut arguments| {
        arguments.extend(cloned(captures));
        body(writer, &scan.body, &arguments)
    })
}

/// One of two bodies.
pub(super) fn branch(writer: &mut Writer, branch: &Branch, operands: &[&Handle]) -> Result<Vec<Handle>> {
    let results: Vec<Type> = branch.then.result_types().cloned().collect();
    let captures = cloned(&operands[1..]);
    writer.choose(
        operands[0],
        &results,
        |writer| body(writer, &branch.then, &captures),
        |writer| body(writer, &branch.otherwise, &captures),
    )
}

/// A loop that is gone through several times.
pub(super) fn sweeps(writer: &mut Writer, sweeps: &Sweeps, operands: &[&Handle]) -> Result<Vec<Handle>> {
    let mut rest = operands;
    let mut take = |count: usize| {
        let (taken, others) = rest.split_at(count);
        rest = others;
        cloned(taken)
    };
    let (mut starts, mut inputs) = (Vec::new(), Vec::new());
    for sweep in &sweeps.sweeps {
        starts.push(take(sweep.carries));
        inputs.push(take(sweep.inputs));
    }
    let captures = cloned(rest);
    match sweeps.steps {
        Steps::Count(count) => Counted { sweeps, count, captures }.run(writer, starts, &inputs),
        Steps::While(_) => Open { sweeps, starts, captures }.run(writer),
    }
}

/// A loop of a known number of steps.
struct Counted<'a> {
    sweeps: &'a Sweeps,
    count: usize,
    captures: Vec<Handle>,
}

impl Counted<'_> {
    fn run(&self, writer: &mut Writer, starts: Vec<Vec<Handle>>, inputs: &[Vec<Handle>]) -> Result<Vec<Handle>> {
        let mut tapes: Vec<Vec<Option<Handle>>> = Vec::new();
        let mut results = Vec::new();
        for (at, (sweep, start)) in self.sweeps.sweeps.iter().zip(starts).enumerate() {
            let reads: Vec<Handle> = sweep.reads.iter().filter_map(|&(from, kept)| tapes[from][kept].clone()).collect();
            let kept: Vec<bool> = (0..sweep.keeps).map(|kept| self.sweeps.is_read(at, kept)).collect();
            // What nobody reads of what the body keeps is not written.
            let is_written = |position: &usize| kept.get(*position - sweep.carries).copied().unwrap_or(true);
            let positions: Vec<usize> = (sweep.carries..sweep.body.results.len()).filter(is_written).collect();
            let ty = |&position: &usize| sweep.body.node(sweep.body.results[position]).ty().clone();
            let written: Vec<Type> = positions.iter().map(ty).collect();
            // Tapes are as long as the loop and read by the number of a step: so they may be written as its slices are.
            let reverse = self.sweeps.reverse != (at % 2 == 1);
            let slices = [&inputs[at][..], &reads].concat();
            let pass = Pass { count: self.count, reverse, slices: &slices, written: &written };
            let mut outputs = pass.run(writer, start, |writer, mut arguments| {
                arguments.extend(self.captures.iter().cloned());
                let values = body(writer, &sweep.body, &arguments)?;
                Ok((0..sweep.carries).chain(positions.iter().copied()).map(|at| values[at].clone()).collect())
            })?;
            let mut written = outputs.split_off(sweep.carries).into_iter();
            tapes.push(kept.iter().map(|&kept| if kept { written.next() } else { None }).collect());
            results.extend(outputs);
            results.extend(written);
        }
        Ok(results)
    }
}

/// A loop whose number of steps is known when it has been run.
struct Open<'a> {
    sweeps: &'a Sweeps,
    starts: Vec<Vec<Handle>>,
    captures: Vec<Handle>,
}

impl Open<'_> {
    fn run(&self, writer: &mut Writer) -> Result<Vec<Handle>> {
        let Steps::While(condition) = &self.sweeps.steps else { unreachable!("the loop has a condition") };
        let with_captures = |state: &[Handle]| [state, &self.captures].concat();
        let Some(first) = self.sweeps.sweeps.first() else { return Ok(Vec::new()) };
        let mut state = vec![writer.position(0)];
        state.extend(self.starts[0].iter().cloned());
        let mut results = writer.repeat(
            &state,
            |writer, state| Ok(body(writer, condition, &with_captures(&state[1..]))?.remove(0)),
            |writer, state| {
                let one = writer.position(1);
                let mut next = vec![writer.elementwise("add", &[&state[0], &one])];
                let mut values = body(writer, &first.body, &with_captures(&state[1..]))?;
                values.truncate(first.carries);
                next.extend(values);
                Ok(next)
            },
        )?;
        let count = results.remove(0);
        for sweep in 1..self.sweeps.sweeps.len() {
            results.extend(self.states(writer, sweep, &count, &count)?);
        }
        Ok(results)
    }

    /// What a sweep carries after so many of its steps.
    fn states(&self, writer: &mut Writer, sweep: usize, made: &Handle, count: &Handle) -> Result<Vec<Handle>> {
        let description = &self.sweeps.sweeps[sweep];
        steps(writer, made, self.starts[sweep].clone(), |writer, number, state| {
            let step = if sweep.is_multiple_of(2) { number.clone() } else { mirrored(writer, number, count) };
            let tapes = self.kept(writer, sweep, &step, count)?;
            let mut values = self.step(writer, sweep, state, &tapes)?;
            values.truncate(description.carries);
            Ok(values)
        })
    }

    /// What the sweeps before one keep of a step, as far as the sweep needs it.
    fn kept(&self, writer: &mut Writer, sweep: usize, step: &Handle, count: &Handle) -> Result<Vec<Vec<Handle>>> {
        let mut needed = vec![false; sweep + 1];
        needed[sweep] = true;
        for at in (0..=sweep).rev() {
            if needed[at] {
                self.sweeps.sweeps[at].reads.iter().for_each(|&(from, _)| needed[from] = true);
            }
        }
        let mut tapes: Vec<Vec<Handle>> = Vec::new();
        for (earlier, &needed) in needed[..sweep].iter().enumerate() {
            if !needed {
                tapes.push(Vec::new());
                continue;
            }
            let made = if earlier.is_multiple_of(2) { step.clone() } else { mirrored(writer, step, count) };
            let state = self.states(writer, earlier, &made, count)?;
            let values = self.step(writer, earlier, &state, &tapes)?;
            tapes.push(values[self.sweeps.sweeps[earlier].carries..].to_vec());
        }
        Ok(tapes)
    }

    /// The results of a step of a sweep.
    fn step(&self, writer: &mut Writer, sweep: usize, state: &[Handle], tapes: &[Vec<Handle>]) -> Result<Vec<Handle>> {
        let description = &self.sweeps.sweeps[sweep];
        let mut arguments = state.to_vec();
        arguments.extend(description.reads.iter().map(|&(from, kept)| tapes[from][kept].clone()));
        arguments.extend(self.captures.iter().cloned());
        body(writer, &description.body, &arguments)
    }
}
