//! Programs run on dependence, as far as there is memory.

use super::columns::Columns;
use super::instance::{Sets, Sparsity, SparsityArray, union};
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::concrete::{self, Array, Concrete, Failure, OutOfMemory};
use crate::shape::{Shape, Type, Value};
use crate::term::interpret::{self, Operands, Slot};
use crate::term::{Body, Never, Node, Op, Scan, print};
use std::rc::Rc;
use std::sync::Arc;

/// Runs a bulk program: what its results depend on.
///
/// # Errors
///
/// The first operation for which there is no memory.
pub(super) fn run(body: &Body, arguments: Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure> {
    interpret::run::<Sparsity, Never, Failure>(body, arguments, |node, args| match &node.op {
        Op::Scan(loop_) => {
            let mut args = args.into_iter();
            let carries = args.by_ref().take(loop_.carries).collect();
            let inputs: Vec<SparsityArray> = args.by_ref().take(loop_.inputs).collect();
            Ok(interpret::several(scan(loop_, carries, &inputs, args.collect())?))
        }
        Op::Branch(sides) => {
            let mut args = args.into_iter();
            let condition = args.next().expect("a branch has a condition");
            Ok(interpret::several(branch(&condition, &sides.then, &sides.otherwise, args.collect())?))
        }
        op => {
            let result = apply(node, args).map_err(|problem| Failure { operation: print::name(op), problem })?;
            debug_assert_eq!(result.ty(), node.ty());
            Ok(Slot::One(result))
        }
    })
}

/// One operation without a sub-program.
fn apply(node: &Node, args: Operands<Sparsity>) -> Result<SparsityArray, OutOfMemory> {
    let known: Option<Operands<Concrete>> = args.iter().map(|operand| operand.elements().cloned()).collect();
    if let Some(known) = known {
        return concrete::apply(&node.op, known).map(SparsityArray::known);
    }
    if args.iter().any(|operand| operand.sets().is_some()) {
        drop(room(node.ty())?);
    }
    Ok(interpret::apply::<Sparsity, Never>(&node.op, args))
}

/// An empty buffer with room for a set for each element of an array.
///
/// # Errors
///
/// When there is no memory for it.
pub(super) fn room(ty: &Type) -> Result<Vec<Columns>, OutOfMemory> {
    let mut sets = Vec::new();
    match sets.try_reserve_exact(ty.size()) {
        Ok(()) => Ok(sets),
        Err(_) => Err(OutOfMemory { ty: ty.clone() }),
    }
}

/// Runs one of two sides where the condition is known, else both.
pub(super) fn branch(
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
    let either = |(yes, no): (SparsityArray, SparsityArray)| {
        SparsityArray::dependent(yes.ty().clone(), union(yes.sets().clone(), no.sets().clone()))
    };
    Ok(yes.into_iter().zip(no).map(either).collect())
}

/// The slice of an array at a position of its outermost axis.
fn outer_slice(array: &SparsityArray, position: usize) -> SparsityArray {
    let ty = Type::new(array.ty().dtype, &array.ty().shape[1..]);
    if let Some(elements) = array.elements() {
        let map = AffineMap::pick(elements.shape(), 0, position as i64);
        return SparsityArray::known(Concrete::view(elements.clone(), &map));
    }
    let width = ty.size();
    let slice = |sets: &Rc<Vec<Columns>>| Rc::new(sets[position * width..(position + 1) * width].to_vec());
    let sets: Sets = array.sets().as_ref().map(slice);
    SparsityArray::dependent(ty, sets)
}

/// The slices that a loop writes of one output.
struct Output {
    /// The stacked output.
    ty: Type,
    /// What the slices depend on, once one depends on anything.
    sets: Option<Vec<Columns>>,
    /// The slices by position, as long as all are known.
    known: Option<Vec<Option<Array>>>,
}

impl Output {
    fn new(slice: &Type, length: usize) -> Output {
        let mut shape = slice.shape.clone();
        shape.insert(0, length);
        Output { ty: Type { dtype: slice.dtype, shape }, sets: None, known: Some(vec![None; length]) }
    }

    fn write(&mut self, position: usize, slice: &SparsityArray) -> Result<(), OutOfMemory> {
        match (slice.elements(), &mut self.known) {
            (Some(elements), Some(known)) => known[position] = Some(elements.clone()),
            _ => self.known = None,
        }
        if let Some(sets) = slice.sets() {
            if self.sets.is_none() {
                let mut all = room(&self.ty)?;
                all.resize(self.ty.size(), Columns::None);
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
        concrete::apply(&Op::Concatenate(0), slices).map(SparsityArray::known)
    }
}

/// Runs a loop, step by step.
pub(super) fn scan(
    scan: &Scan,
    mut carries: Vec<SparsityArray>,
    inputs: &[SparsityArray],
    captures: Vec<SparsityArray>,
) -> Result<Vec<SparsityArray>, Failure> {
    let failure = |problem| Failure { operation: "scan".into(), problem };
    let mut outputs: Vec<Output> =
        scan.body.result_types().skip(scan.carries).map(|slice| Output::new(slice, scan.length)).collect();
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
