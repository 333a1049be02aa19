//! Steps by their effect on each row: the positions along one of their axes.

use crate::kernel::access::{Affine, Guards};
use crate::kernel::buffer::BufferId;
use crate::kernel::call::Call;
use crate::kernel::nest::{Nest, NestValue, Store, StoreMode};
use crate::kernel::procedure::{MatrixProduct, SUMMED, Step, Strided};
use crate::operation::Reduction;
use crate::shape::{Shape, Type, size};
use crate::term::{Graph, NodeId};
use std::sync::Arc;

/// Operations on larger matrices take longer than their elements take through memory.
const LARGEST_MATRIX: usize = 32 * 32;

/// How places in a buffer advance from row to row, in elements.
#[derive(Clone, Debug)]
pub(super) struct RowStride {
    pub(super) buffer: BufferId,
    pub(super) stride: usize,
}

/// Which axis of a step the rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Of a nest.
    Axis(usize),
    /// Of a product.
    OfProduct(ProductAxis),
    /// The axes before the matrices of an operation, as one.
    OfMatrices,
}

/// A step that goes along rows.
#[derive(Debug)]
pub(super) struct RowStep<'a> {
    pub(super) step: &'a Step,
    role: Role,
    pub(super) reads: Vec<RowStride>,
    /// With the reduction, for stores that combine.
    pub(super) writes: Vec<(RowStride, Option<Reduction>)>,
}

/// The extents of a step's axes.
pub(super) fn extents(step: &Step) -> Vec<usize> {
    match step {
        Step::Nest(nest) => nest.extents.to_vec(),
        Step::Product(product) => product.all_extents(),
        Step::Call(call) => small_matrices(call).into_iter().collect(),
        Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::First(_) | Step::Blocks(_) => Vec::new(),
    }
}

impl<'a> RowStep<'a> {
    /// The step along each axis whose extent is a multiple of the number of rows.
    pub(super) fn all(step: &'a Step, extent: usize) -> impl Iterator<Item = RowStep<'a>> + 'a {
        let extents = extents(step);
        (0..extents.len()).filter(move |&at| extents[at] > 0 && extents[at].is_multiple_of(extent)).filter_map(
            move |at| match step {
                Step::Nest(nest) => of_nest(step, nest, at, extent),
                Step::Product(product) => {
                    let mut position = at;
                    let role = product.extents.iter().position(|extents| {
                        let inside = position < extents.len();
                        position -= if inside { 0 } else { extents.len() };
                        inside
                    })?;
                    of_product(step, product, (role, position), extent)
                }
                Step::Call(call) => Some(of_matrices(step, call, extent)),
                _ => None,
            },
        )
    }

    /// The step for so many rows, on other buffers: asked for by buffer and stride.
    pub(super) fn instance(&self, extent: usize, rows: usize, buffer: &impl Fn(BufferId, usize) -> BufferId) -> Step {
        match (self.step, self.role) {
            (Step::Nest(nest), Role::Axis(axis)) => Step::Nest(nest_of(nest, axis, extent, rows, buffer)),
            (Step::Product(product), Role::OfProduct(axis)) => {
                Step::Product(Box::new(product_of(product, axis, extent, rows, buffer)))
            }
            (Step::Call(call), Role::OfMatrices) => Step::Call(matrices_of(call, extent, rows, buffer)),
            _ => unreachable!("what goes along rows"),
        }
    }
}

/// The elements from row to row, where an axis makes so many steps in each.
fn stride_of(at: &Affine, axis: usize, steps: usize) -> Option<usize> {
    usize::try_from(at.coefficients[axis].checked_mul(steps as i64)?).ok()
}

fn of_nest<'a>(step: &'a Step, nest: &'a Nest, axis: usize, extent: usize) -> Option<RowStep<'a>> {
    let steps = nest.extents[axis] / extent;
    if nest.extents.contains(&0) {
        return None;
    }
    let rows = |buffer: BufferId, at: &Affine| Some(RowStride { buffer, stride: stride_of(at, axis, steps)? });
    // Guards and numbers that depend on the row would have to know which rows a block has.
    let stays = |guards: &Guards| guards.iter().all(|guard| guard.position.coefficients[axis] == 0);
    let mut reads = Vec::new();
    for (value, _) in &nest.values {
        match value {
            NestValue::Position(at) if at.coefficients[axis] != 0 => return None,
            NestValue::Guarded(_, guards) if !stays(guards) => return None,
            NestValue::Load { guards, .. } if !stays(guards) => return None,
            NestValue::Load { buffer, at, .. } | NestValue::Gather { buffer, at, .. } => reads.push(rows(*buffer, at)?),
            _ => {}
        }
    }
    let mut writes = Vec::new();
    for store in &nest.stores {
        if !stays(&store.guards) {
            return None;
        }
        let combined = match store.mode {
            StoreMode::Write => None,
            StoreMode::Reduce(op) => Some(op),
        };
        writes.push((rows(store.buffer, &store.at)?, combined));
    }
    Some(RowStep { step, role: Role::Axis(axis), reads, writes })
}

fn nest_of(
    nest: &Nest,
    axis: usize,
    extent: usize,
    rows: usize,
    buffer: &impl Fn(BufferId, usize) -> BufferId,
) -> Nest {
    let steps = nest.extents[axis] / extent;
    let place = |at: &Affine| {
        let mut at = at.clone();
        if steps > 1 {
            let coefficient = at.coefficients[axis];
            at.coefficients.insert(axis + 1, coefficient);
            at.coefficients[axis] = coefficient * steps as i64;
        }
        at
    };
    let guards = |guards: &Guards| -> Guards {
        guards
            .iter()
            .map(|guard| crate::kernel::access::Guard { position: place(&guard.position), ..guard.clone() })
            .collect()
    };
    let moved = |id: BufferId, at: &Affine| buffer(id, stride_of(at, axis, steps).expect("a row's stride"));
    let mut extents = nest.extents.clone();
    extents[axis] = rows;
    if steps > 1 {
        extents.insert(axis + 1, steps);
    }
    let value = |value: &NestValue| match value {
        NestValue::Position(at) => NestValue::Position(place(at)),
        NestValue::Load { buffer, at, guards: held } => {
            NestValue::Load { buffer: moved(*buffer, at), at: place(at), guards: guards(held) }
        }
        NestValue::Gather { buffer, at, stride, index, extent } => NestValue::Gather {
            buffer: moved(*buffer, at),
            at: place(at),
            stride: *stride,
            index: *index,
            extent: *extent,
        },
        NestValue::Guarded(a, held) => NestValue::Guarded(*a, guards(held)),
        other => other.clone(),
    };
    let store = |store: &Store| Store {
        buffer: moved(store.buffer, &store.at),
        at: place(&store.at),
        guards: guards(&store.guards),
        ..store.clone()
    };
    Nest {
        extents,
        values: nest.values.iter().map(|(of, dtype)| (value(of), *dtype)).collect(),
        stores: nest.stores.iter().map(store).collect(),
    }
}

/// An axis of a product: its role, and its position among those of the role.
type ProductAxis = (usize, usize);

/// The elements by which the left operand, the right one and the result advance with each row, where an axis makes so many
/// steps in each.
fn strides(product: &MatrixProduct, (role, position): ProductAxis, steps: usize) -> Option<[usize; 3]> {
    let MatrixProduct { left, right, result, .. } = product;
    let mut strides = [0; 3];
    for (stride, operand) in strides.iter_mut().zip([left, right, result]) {
        *stride = usize::try_from(operand.strides[role][position]).ok()?.checked_mul(steps)?;
    }
    Some(strides)
}

fn of_product<'a>(step: &'a Step, product: &'a MatrixProduct, axis: ProductAxis, extent: usize) -> Option<RowStep<'a>> {
    let steps = product.extents[axis.0][axis.1] / extent;
    let operands: [&Strided; 3] = [&product.left, &product.right, &product.result];
    let own = strides(product, axis, steps)?;
    let rows = |which: usize| RowStride { buffer: operands[which].buffer, stride: own[which] };
    let combined = (axis.0 == SUMMED || product.continues).then_some(Reduction::Sum);
    let role = Role::OfProduct(axis);
    Some(RowStep { step, role, reads: vec![rows(0), rows(1)], writes: vec![(rows(2), combined)] })
}

fn product_of(
    product: &MatrixProduct,
    axis: ProductAxis,
    extent: usize,
    rows: usize,
    buffer: &impl Fn(BufferId, usize) -> BufferId,
) -> MatrixProduct {
    let steps = product.extents[axis.0][axis.1] / extent;
    let own = strides(product, axis, steps).expect("strides of rows");
    let mut product = product.clone();
    product.extents[axis.0][axis.1] = rows * steps;
    product.continues |= axis.0 == SUMMED;
    let operands = [&mut product.left, &mut product.right, &mut product.result];
    for (operand, stride) in operands.into_iter().zip(own) {
        operand.buffer = buffer(operand.buffer, stride);
    }
    product
}

/// The number of matrices, of an operation on small ones.
fn small_matrices(call: &Call) -> Option<usize> {
    call.matrix()?;
    let (mut count, mut largest) = (0, 0);
    for ty in call.types() {
        let (batch, matrix) = ty.shape.split_at(ty.rank() - 2);
        (count, largest) = (size(batch), largest.max(size(matrix)));
    }
    (largest <= LARGEST_MATRIX).then_some(count)
}

/// The elements of each buffer from row to row: those of so many matrices.
fn of_matrices<'a>(step: &'a Step, call: &'a Call, extent: usize) -> RowStep<'a> {
    let rows = |(&buffer, ty): (&BufferId, &Type)| RowStride { buffer, stride: ty.size() / extent };
    let mut all = call.arguments.iter().chain(&call.results).zip(call.types()).map(rows);
    let reads = all.by_ref().take(call.arguments.len()).collect();
    RowStep { step, role: Role::OfMatrices, reads, writes: all.map(|rows| (rows, None)).collect() }
}

fn matrices_of(call: &Call, extent: usize, rows: usize, buffer: &impl Fn(BufferId, usize) -> BufferId) -> Call {
    let types: Vec<Type> = call
        .types()
        .map(|ty| {
            let (batch, matrix) = ty.shape.split_at(ty.rank() - 2);
            let shape: Shape = [size(batch) / extent * rows].into_iter().chain(matrix.iter().copied()).collect();
            Type { dtype: ty.dtype, shape }
        })
        .take(call.arguments.len())
        .collect();
    let mut graph = Graph::new(&types, 0);
    let operands: Vec<NodeId> = (0..types.len() as NodeId).collect();
    let result = graph.add(call.body.node(call.body.results[0]).op.clone(), &operands);
    let mut ids = call.arguments.iter().chain(&call.results).zip(call.types());
    let mut moved = |count: usize| -> Vec<BufferId> {
        ids.by_ref().take(count).map(|(&id, ty)| buffer(id, ty.size() / extent)).collect()
    };
    let (arguments, results) = (moved(call.arguments.len()), moved(call.results.len()));
    Call { body: Arc::new(graph.finish(&[result])), arguments, results }
}
