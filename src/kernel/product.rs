//! Contractions as matrix products on buffers.

use crate::algebra::Contraction;
use crate::kernel::access::{Access, Affine, Guards};
use crate::kernel::emit::Obstacle;
use crate::kernel::lower::Lowering;
use crate::kernel::nest::{Mode, Value};
use crate::kernel::procedure::{BufferId, Product, Source, Step, Strided};
use crate::kernel::roots::{roles, strided_source};
use crate::shape::{Shape, Type, size, strides};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

type Labels = SmallVec<[u8; 4]>;

/// A buffer whose element for positions of labels is at an affine place.
struct Operand {
    buffer: BufferId,
    labels: Labels,
    at: Affine,
}

impl Operand {
    /// The elements that one step along a label goes on by.
    fn stride(&self, label: u8) -> usize {
        let axis = self.labels.iter().position(|&l| l == label);
        axis.map_or(0, |axis| self.at.coefficients[axis] as usize)
    }

    /// Whether these labels, outermost first, run together with one stride.
    fn runs_together(&self, labels: &[u8], extent: &impl Fn(u8) -> usize) -> bool {
        let long: Labels = labels.iter().copied().filter(|&label| extent(label) != 1).collect();
        long.windows(2).all(|pair| self.stride(pair[0]) == self.stride(pair[1]) * extent(pair[1]))
    }
}

/// A copy of an operand pays off where each of its elements is used at least so often.
const USES: usize = 8;

impl Lowering<'_> {
    /// An operand as it lies in memory.
    fn operand(&self, id: NodeId, arg: NodeId, labels: &[u8]) -> Result<Operand, Obstacle> {
        let body = self.body;
        let source = strided_source(body, arg);
        let shape = &body.node(arg).ty().shape;
        let mut access = Access::identity(shape.len());
        let mut at = arg;
        while at != source {
            let Op::View(map) = &body.node(at).op else { unreachable!("a chain of views") };
            access = access.through_view(map, shape).ok_or(Obstacle::Read(id))?.0;
            at = body.node(at).args[0];
        }
        let at = access.linear(&body.node(source).ty().shape, shape).ok_or(Obstacle::Read(id))?;
        Ok(Operand { buffer: self.buffers[&source], labels: labels.into(), at })
    }

    /// A copy of an operand with its axes in this order.
    fn packed(&mut self, arg: NodeId, from: &[u8], to: Labels) -> Result<Operand, Obstacle> {
        let ty = self.body.node(arg).ty().clone();
        let axis = |label: u8, of: &[u8]| of.iter().position(|&l| l == label).expect("the same labels");
        let shape: Shape = to.iter().map(|&label| ty.shape[axis(label, from)]).collect();
        let buffer = self.buffer(&Type::new(ty.dtype, &shape), Source::Local);
        let rank = to.len();
        let rows = from.iter().map(|&label| Affine::axis(axis(label, &to), rank)).collect();
        let access = Access { rows, guards: Guards::new() };
        let packed = row_major(buffer, to, &shape);
        let place = packed.at.clone();
        self.nest(&shape, buffer, Mode::Write, |emitter| {
            Ok((emitter.emit(arg, access.clone(), NodeId::MAX)?, place.clone(), Guards::new(), None))
        })?;
        Ok(packed)
    }

    /// A contraction as products of matrices: of the labels in a role, those that run together in both of their arrays are
    /// one; others are batches. An operand in which they don't is copied first, where that is little beside the product.
    pub(super) fn product(&mut self, id: NodeId) -> Result<(), Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        let Op::Contract(spec) = &node.op else { unreachable!("the class of products") };
        let extent =
            |label: u8| spec.extent(label, &body.node(node.args[0]).ty().shape, &body.node(node.args[1]).ty().shape);
        let mut left = self.operand(id, node.args[0], &spec.left)?;
        let mut right = self.operand(id, node.args[1], &spec.right)?;
        let [batches, rows, summed, columns] = roles(spec);
        let of = |labels: &Labels| labels.iter().map(|&label| extent(label)).product::<usize>();
        let ty = node.ty().clone();
        let buffer = self.local(id);
        let mut result = row_major(buffer, spec.result.clone(), &ty.shape);
        // The order of labels that both operands have them in by themselves; else that of the result.
        let natural = [in_order(&rows, &left), in_order(&summed, &left), in_order(&columns, &right)];
        let fits = left.runs_together(&natural[0], &extent)
            && left.runs_together(&natural[1], &extent)
            && right.runs_together(&natural[1], &extent)
            && right.runs_together(&natural[2], &extent);
        let as_it_is = result.runs_together(&natural[0], &extent) && result.runs_together(&natural[2], &extent);
        let small = of(&rows) * of(&columns) <= of(&summed) * of(&rows).max(of(&columns));
        if fits && !as_it_is && of(&summed) >= USES && small {
            // The result is brought into its order afterwards.
            let order: Labels = [&batches[..], &natural[0], &natural[2]].concat().into();
            let shape: Shape = order.iter().map(|&label| extent(label)).collect();
            let unordered = self.buffer(&Type::new(ty.dtype, &shape), Source::Local);
            result = row_major(unordered, order, &shape);
            let step = product_of(spec, [&left, &right, &result], &extent);
            self.fixed(Step::Product(step), &[unordered]);
            return self.reordered(id, &result, buffer);
        }
        let summed = in_order(&summed, &left);
        if of(&columns) >= USES && !(left.runs_together(&rows, &extent) && left.runs_together(&summed, &extent)) {
            let order = [&batches[..], &rows, &summed].concat().into();
            left = self.packed(node.args[0], &spec.left, order)?;
        }
        if of(&rows) >= USES && !(right.runs_together(&columns, &extent) && right.runs_together(&summed, &extent)) {
            let order = [&batches[..], &summed, &columns].concat().into();
            right = self.packed(node.args[1], &spec.right, order)?;
        }
        debug_assert_eq!(size(&ty.shape), of(&batches) * of(&rows) * of(&columns));
        let step = product_of(spec, [&left, &right, &result], &extent);
        self.fixed(Step::Product(step), &[buffer]);
        Ok(())
    }

    /// Copies a product whose axes are in another order than its node's.
    fn reordered(&mut self, id: NodeId, from: &Operand, to: BufferId) -> Result<(), Obstacle> {
        let node = self.body.node(id);
        let Op::Contract(spec) = &node.op else { unreachable!("the class of products") };
        let shape = node.ty().shape.clone();
        let of = |label: &u8| from.stride(*label) as i64;
        let read = Affine { offset: 0, coefficients: spec.result.iter().map(of).collect() };
        let load = Value::Load { buffer: from.buffer, at: read, guards: Guards::new() };
        let dtype = node.ty().dtype;
        let place = row_major(to, spec.result.clone(), &shape).at;
        self.nest(&shape, to, Mode::Write, |emitter| {
            Ok((emitter.nest.add(load.clone(), dtype), place.clone(), Guards::new(), None))
        })
    }
}

/// A buffer of this shape, whose axes have these labels.
fn row_major(buffer: BufferId, labels: Labels, shape: &[usize]) -> Operand {
    let coefficients = strides(shape).iter().map(|&stride| stride as i64).collect();
    Operand { buffer, labels, at: Affine { offset: 0, coefficients } }
}

/// Labels by their strides in an operand, outermost first.
fn in_order(labels: &Labels, operand: &Operand) -> Labels {
    let mut labels = labels.clone();
    labels.sort_by_key(|&label| std::cmp::Reverse(operand.stride(label)));
    labels
}

fn product_of(spec: &Contraction, [left, right, result]: [&Operand; 3], extent: &impl Fn(u8) -> usize) -> Product {
    let [mut batches, rows, summed, columns] = roles(spec);
    let mut merge = |labels: &[u8], arrays: [&Operand; 2]| {
        let mut order: Labels = labels.iter().copied().filter(|&label| extent(label) != 1).collect();
        order.sort_by_key(|&label| arrays.map(|operand| operand.stride(label)));
        let Some(&first) = order.first() else { return (1, [1, 1]) };
        let (mut length, inner) = (extent(first), arrays.map(|operand| operand.stride(first)));
        for &label in &order[1..] {
            if (0..2).all(|k| arrays[k].stride(label) == inner[k] * length) {
                length *= extent(label);
            } else {
                batches.push(label);
            }
        }
        (length, inner)
    };
    let (m, [left_rows, result_rows]) = merge(&rows, [left, result]);
    let (k, [left_columns, right_rows]) = merge(&summed, [left, right]);
    let (n, [right_columns, result_columns]) = merge(&columns, [right, result]);
    let strided = |operand: &Operand, rows: usize, columns: usize| Strided {
        buffer: operand.buffer,
        offset: operand.at.offset as usize,
        batches: batches.iter().map(|&label| operand.stride(label)).collect(),
        rows,
        columns,
    };
    Product {
        sizes: [m, k, n],
        left: strided(left, left_rows, left_columns),
        right: strided(right, right_rows, right_columns),
        result: strided(result, result_rows, result_columns),
        batches: batches.iter().map(|&label| extent(label)).collect(),
        continues: false,
    }
}
