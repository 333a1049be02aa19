//! Loops and conditionals run on dependence: step by step; where it is not known whether there is another step, until
//! nothing more is found.

use super::array::{Sets, SparsityArray, room};
use super::columns::ColumnSet;
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::array::{Array, OutOfMemory};
use crate::concrete::Concrete;
use crate::evaluate;
use crate::evaluate::Failure;
use crate::shape::{Shape, Type, Value};
use crate::term::{Body, Op, Scan, Steps, Sweep, Sweeps};
use std::rc::Rc;
use std::sync::Arc;

/// The runner of the bodies of a loop or conditional.
pub(super) type SparsityRunner = fn(&Body, Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure>;

/// Runs one of two sides where the condition is known, else both.
pub(super) fn branch(
    run: SparsityRunner,
    condition: &SparsityArray,
    then: &Arc<Body>,
    otherwise: &Arc<Body>,
    captures: Vec<SparsityArray>,
) -> Result<Vec<SparsityArray>, Failure> {
    if let Some(condition) = condition.elements() {
        let chosen = if condition.element(0) == Value::Bool(true) { then } else { otherwise };
        return run(chosen, captures);
    }
    let (yes, no) = (run(then, captures.clone())?, run(otherwise, captures)?);
    Ok(yes.iter().zip(&no).map(|(yes, no)| yes.join(no)).collect())
}

/// The slice of an array at a position of its outermost axis.
fn outer_slice(array: &SparsityArray, position: usize) -> SparsityArray {
    let ty = Type::new(array.ty().dtype, &array.ty().shape[1..]);
    if let Some(elements) = array.elements() {
        let map = AffineMap::pick(elements.shape(), 0, position as i64);
        return SparsityArray::known(Concrete::view(elements.clone(), &map));
    }
    let width = ty.size();
    let slice = |sets: &Rc<Vec<ColumnSet>>| Rc::new(sets[position * width..(position + 1) * width].to_vec());
    let sets: Sets = array.sets().as_ref().map(slice);
    SparsityArray::dependent(ty, sets)
}

/// The slices that a loop writes of one output.
struct LoopOutput {
    /// The stacked output.
    ty: Type,
    /// The dependence of the slices, from the first that depends on anything.
    sets: Option<Vec<ColumnSet>>,
    /// The slices by position, as long as all are known.
    known: Option<Vec<Option<Array>>>,
}

impl LoopOutput {
    fn new(slice: &Type, length: usize) -> LoopOutput {
        let mut shape = slice.shape.clone();
        shape.insert(0, length);
        LoopOutput { ty: Type { dtype: slice.dtype, shape }, sets: None, known: Some(vec![None; length]) }
    }

    fn write(&mut self, position: usize, slice: &SparsityArray) -> Result<(), OutOfMemory> {
        match (slice.elements(), &mut self.known) {
            (Some(elements), Some(known)) => known[position] = Some(elements.clone()),
            _ => self.known = None,
        }
        if let Some(sets) = slice.sets() {
            if self.sets.is_none() {
                let mut all = room(&self.ty)?;
                all.resize(self.ty.size(), ColumnSet::None);
                self.sets = Some(all);
            }
            let all = self.sets.as_mut().expect("there are sets now");
            let width = sets.len();
            all[position * width..(position + 1) * width].clone_from_slice(sets);
        }
        Ok(())
    }

    fn finish(self) -> Result<SparsityArray, OutOfMemory> {
        let Some(slices) = self.known else {
            return Ok(SparsityArray::dependent(self.ty, self.sets.map(Rc::new)));
        };
        let mut unit = Shape::from_slice(&self.ty.shape);
        unit[0] = 1;
        let slices: Operands<Concrete> = slices.into_iter().flatten().map(|s| Concrete::reshape(s, &unit)).collect();
        if slices.is_empty() {
            return Ok(SparsityArray::known(Array::full(&self.ty.shape, Value::from_i64(self.ty.dtype, 0))));
        }
        evaluate::apply(&Op::Concatenate(0), slices).map(SparsityArray::known)
    }
}

/// Runs a loop, step by step.
pub(super) fn scan(
    run: SparsityRunner,
    scan: &Scan,
    mut carries: Vec<SparsityArray>,
    inputs: &[SparsityArray],
    captures: Vec<SparsityArray>,
) -> Result<Vec<SparsityArray>, Failure> {
    let failure = |problem| Failure { operation: "scan".into(), problem };
    let mut outputs: Vec<LoopOutput> =
        scan.body.result_types().skip(scan.carries).map(|slice| LoopOutput::new(slice, scan.length)).collect();
    for step in 0..scan.length {
        let position = if scan.reverse { scan.length - 1 - step } else { step };
        let mut arguments = std::mem::take(&mut carries);
        arguments.extend(inputs.iter().map(|input| outer_slice(input, position)));
        arguments.extend(captures.iter().cloned());
        let mut results = run(&scan.body, arguments)?.into_iter();
        carries = results.by_ref().take(scan.carries).collect();
        for (output, slice) in outputs.iter_mut().zip(results) {
            output.write(position, &slice).map_err(failure)?;
        }
    }
    for output in outputs {
        carries.push(output.finish().map_err(failure)?);
    }
    Ok(carries)
}

/// A loop with several sweeps.
struct SparsitySweeps<'a> {
    run: SparsityRunner,
    sweeps: &'a Sweeps,
    operands: &'a [SparsityArray],
}

impl SparsitySweeps<'_> {
    fn captures(&self) -> &[SparsityArray] {
        &self.operands[self.sweeps.captures()..]
    }

    fn starts(&self, sweep: usize) -> Vec<SparsityArray> {
        self.operands[self.sweeps.operands(sweep).0].to_vec()
    }

    /// Whether there is another step; `None` where that is not known.
    fn goes_on(&self, made: usize, state: &[SparsityArray]) -> Result<Option<bool>, Failure> {
        match &self.sweeps.steps {
            Steps::Count(count) => Ok(Some(made < *count)),
            Steps::While(condition) => {
                let holds = (self.run)(condition, state.iter().chain(self.captures()).cloned().collect())?;
                Ok(holds[0].elements().map(|holds| holds.element(0) == Value::Bool(true)))
            }
        }
    }

    /// The last carries and the outputs of each sweep, all of whose steps are made in turn; `None` where their number is not
    /// known.
    fn step_by_step(&self) -> Result<Option<Vec<SparsityArray>>, Failure> {
        let failure = |problem| Failure { operation: "sweeps".into(), problem };
        let mut results = Vec::new();
        // The kept values, by sweep and step.
        let mut kept: Vec<Vec<Vec<SparsityArray>>> = Vec::new();
        let mut count = 0;
        for (at, sweep) in self.sweeps.sweeps.iter().enumerate() {
            let inputs = &self.operands[self.sweeps.operands(at).1];
            let mut state = self.starts(at);
            let mut outputs: Vec<LoopOutput> = match self.sweeps.steps {
                Steps::Count(count) => slices(sweep).map(|slice| LoopOutput::new(slice, count)).collect(),
                Steps::While(_) => Vec::new(),
            };
            // A backward sweep reaches the last steps first.
            let mut tape: Vec<Vec<SparsityArray>> = Vec::new();
            loop {
                let goes_on = if at == 0 { self.goes_on(tape.len(), &state)? } else { Some(tape.len() < count) };
                match goes_on {
                    None => return Ok(None),
                    Some(false) => break,
                    Some(true) => {}
                }
                let made = tape.len();
                let step = if at.is_multiple_of(2) { made } else { count - 1 - made };
                let position = match self.sweeps.steps {
                    Steps::Count(count) if self.sweeps.reverse => count - 1 - step,
                    _ => step,
                };
                let mut arguments = state;
                arguments.extend(inputs.iter().map(|input| outer_slice(input, position)));
                arguments.extend(sweep.reads.iter().map(|&(from, place)| {
                    let steps = &kept[from];
                    let step = if from.is_multiple_of(2) { step } else { steps.len() - 1 - step };
                    steps[step][place].clone()
                }));
                arguments.extend_from_slice(self.captures());
                let mut results = (self.run)(&sweep.body, arguments)?.into_iter();
                state = results.by_ref().take(sweep.carries).collect();
                tape.push(results.by_ref().take(sweep.keeps).collect());
                for (output, slice) in outputs.iter_mut().zip(results) {
                    output.write(position, &slice).map_err(failure)?;
                }
            }
            count = tape.len();
            kept.push(tape);
            results.extend(state);
            for output in outputs {
                results.push(output.finish().map_err(failure)?);
            }
        }
        Ok(Some(results))
    }

    /// The last carries of each sweep after any number of steps: the union over any step's carries and kept values, until it no
    /// longer grows.
    fn any_number(&self) -> Result<Vec<SparsityArray>, Failure> {
        let mut results = Vec::new();
        let mut kept: Vec<Vec<SparsityArray>> = Vec::new();
        for (at, sweep) in self.sweeps.sweeps.iter().enumerate() {
            // A step stands for any: its positions are not those of the first.
            let mut state: Vec<SparsityArray> = self.starts(at).iter().map(SparsityArray::another).collect();
            let keeps = loop {
                let mut arguments = state.clone();
                arguments.extend(sweep.reads.iter().map(|&(from, place)| kept[from][place].clone()));
                arguments.extend_from_slice(self.captures());
                let mut after = (self.run)(&sweep.body, arguments)?;
                let keeps = after.split_off(sweep.carries);
                let joined: Vec<SparsityArray> = state.iter().zip(&after).map(|(a, b)| a.join(b)).collect();
                if joined.iter().zip(&state).all(|(a, b)| a.is_as_dependent_as(b)) {
                    break keeps;
                }
                state = joined;
            };
            kept.push(keeps);
            results.extend(state);
        }
        Ok(results)
    }
}

/// The types of the slices that a sweep writes.
fn slices(sweep: &Sweep) -> impl Iterator<Item = &Type> {
    sweep.body.result_types().skip(sweep.carries + sweep.keeps)
}

/// Runs a loop with several sweeps.
pub(super) fn sweeps(
    run: SparsityRunner,
    sweeps: &Sweeps,
    operands: &[SparsityArray],
) -> Result<Vec<SparsityArray>, Failure> {
    let engine = SparsitySweeps { run, sweeps, operands };
    match engine.step_by_step()? {
        Some(results) => Ok(results),
        None => engine.any_number(),
    }
}
