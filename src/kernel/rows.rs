//! Steps as what they do to each row: positions along one of their axes.

use crate::algebra::Reduction;
use crate::kernel::access::{Affine, Guards};
use crate::kernel::nest::{Mode, Nest, Store, Value};
use crate::kernel::procedure::{BufferId, Product, Step, Strided};

/// How places in a buffer go on from row to row: by so many elements.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) buffer: BufferId,
    pub(super) stride: usize,
}

/// Which axis of a step the rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Of a nest.
    Axis(usize),
    /// Of a product: its rows, what is summed, its columns.
    Size(usize),
    /// Of a product.
    Batch(usize),
}

/// A step that goes along rows.
#[derive(Debug)]
pub(super) struct RowStep<'a> {
    pub(super) step: &'a Step,
    role: Role,
    pub(super) reads: Vec<Rows>,
    /// With the reduction, for what combines.
    pub(super) writes: Vec<(Rows, Option<Reduction>)>,
}

/// The extents of a step's axes.
pub(super) fn extents(step: &Step) -> Vec<usize> {
    match step {
        Step::Nest(nest) => nest.extents.to_vec(),
        Step::Product(product) => product.sizes.iter().chain(&product.batches).copied().collect(),
        Step::Loop(_) | Step::Branch(_) | Step::Sweeps(_) | Step::Call(_) | Step::Blocks(_) => Vec::new(),
    }
}

impl<'a> RowStep<'a> {
    /// The step along each axis whose extent is a multiple of that of the rows.
    pub(super) fn all(step: &'a Step, extent: usize) -> impl Iterator<Item = RowStep<'a>> + 'a {
        let extents = extents(step);
        (0..extents.len()).filter(move |&at| extents[at] > 0 && extents[at].is_multiple_of(extent)).filter_map(
            move |at| match step {
                Step::Nest(nest) => of_nest(step, nest, at, extent),
                Step::Product(product) => {
                    let role = if at < 3 { Role::Size(at) } else { Role::Batch(at - 3) };
                    Some(of_product(step, product, role, extent))
                }
                _ => None,
            },
        )
    }

    /// The step for so many rows, on other buffers: asked for by buffer and stride.
    pub(super) fn instance(&self, extent: usize, rows: usize, buffer: &impl Fn(BufferId, usize) -> BufferId) -> Step {
        match (self.step, self.role) {
            (Step::Nest(nest), Role::Axis(axis)) => Step::Nest(nest_of(nest, axis, extent, rows, buffer)),
            (Step::Product(product), role) => Step::Product(product_of(product, role, extent, rows, buffer)),
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
    let rows = |buffer: BufferId, at: &Affine| Some(Rows { buffer, stride: stride_of(at, axis, steps)? });
    // Guards and numbers that depend on the row would have to know which rows a block has.
    let stays = |guards: &Guards| guards.iter().all(|guard| guard.position.coefficients[axis] == 0);
    let mut reads = Vec::new();
    for (value, _) in &nest.values {
        match value {
            Value::Position(at) if at.coefficients[axis] != 0 => return None,
            Value::Guarded(_, guards) if !stays(guards) => return None,
            Value::Load { guards, .. } if !stays(guards) => return None,
            Value::Load { buffer, at, .. } | Value::Gather { buffer, at, .. } => reads.push(rows(*buffer, at)?),
            _ => {}
        }
    }
    let mut writes = Vec::new();
    for store in &nest.stores {
        if !stays(&store.guards) {
            return None;
        }
        let combined = match store.mode {
            Mode::Write => None,
            Mode::Reduce(op) => Some(op),
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
    let value = |value: &Value| match value {
        Value::Position(at) => Value::Position(place(at)),
        Value::Load { buffer, at, guards: held } => {
            Value::Load { buffer: moved(*buffer, at), at: place(at), guards: guards(held) }
        }
        Value::Gather { buffer, at, stride, index, extent } => {
            Value::Gather { buffer: moved(*buffer, at), at: place(at), stride: *stride, index: *index, extent: *extent }
        }
        Value::Guarded(a, held) => Value::Guarded(*a, guards(held)),
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

/// The strides of the left operand, the right one and the result along an axis of a product.
fn strides(product: &Product, role: Role) -> [usize; 3] {
    let Product { left, right, result, .. } = product;
    match role {
        Role::Size(0) => [left.rows, 0, result.rows],
        Role::Size(1) => [left.columns, right.rows, 0],
        Role::Size(_) => [0, right.columns, result.columns],
        Role::Batch(at) => [left.batches[at], right.batches[at], result.batches[at]],
        Role::Axis(_) => unreachable!("an axis of a nest"),
    }
}

fn extent_of(product: &Product, role: Role) -> usize {
    match role {
        Role::Size(at) => product.sizes[at],
        Role::Batch(at) => product.batches[at],
        Role::Axis(_) => unreachable!("an axis of a nest"),
    }
}

fn of_product<'a>(step: &'a Step, product: &'a Product, role: Role, extent: usize) -> RowStep<'a> {
    let steps = extent_of(product, role) / extent;
    let operands: [&Strided; 3] = [&product.left, &product.right, &product.result];
    let own = strides(product, role);
    let rows = |which: usize| Rows { buffer: operands[which].buffer, stride: own[which] * steps };
    let combined = (own[2] == 0).then_some(Reduction::Sum);
    RowStep { step, role, reads: vec![rows(0), rows(1)], writes: vec![(rows(2), combined)] }
}

fn product_of(
    product: &Product,
    role: Role,
    extent: usize,
    rows: usize,
    buffer: &impl Fn(BufferId, usize) -> BufferId,
) -> Product {
    let steps = extent_of(product, role) / extent;
    let own = strides(product, role).map(|stride| stride * steps);
    let mut product = product.clone();
    match role {
        Role::Size(at) => product.sizes[at] = rows * steps,
        Role::Batch(at) => product.batches[at] = rows * steps,
        Role::Axis(_) => unreachable!("an axis of a nest"),
    }
    product.continues = own[2] == 0;
    let operands = [&mut product.left, &mut product.right, &mut product.result];
    for (operand, stride) in operands.into_iter().zip(own) {
        operand.buffer = buffer(operand.buffer, stride);
    }
    product
}
