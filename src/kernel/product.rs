//! Contractions as matrix products on buffers.

use crate::kernel::access::{Access, Affine, Guards};
use crate::kernel::buffer::{BufferId, BufferSource};
use crate::kernel::emit::Obstacle;
use crate::kernel::lower::Lowering;
use crate::kernel::nest::StoreMode;
use crate::kernel::procedure::{BATCH, ByRole, COLUMN, MatrixProduct, ROW, Step, Strided};
use crate::kernel::roots::{roles, strided_source};
use crate::operation::{Labels, Reduction};
use crate::shape::{Shape, Type, sort_by_rank, steps, strides};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// A buffer whose element for positions of labels is at an affine place.
struct ProductOperand {
    buffer: BufferId,
    labels: Labels,
    at: Affine,
}

impl ProductOperand {
    /// The elements by which one step along a label advances.
    fn stride(&self, label: u8) -> i64 {
        let axis = self.labels.iter().position(|&l| l == label);
        axis.map_or(0, |axis| self.at.coefficients[axis])
    }

    /// How many elements are read or written.
    fn size(&self, extent: &impl Fn(u8) -> usize) -> usize {
        steps(self.labels.iter().map(|&label| extent(label)))
    }

    /// Whether these labels, outermost first, run together with one stride.
    fn runs_together(&self, labels: &[u8], extent: &impl Fn(u8) -> usize) -> bool {
        let long: Labels = labels.iter().copied().filter(|&label| extent(label) != 1).collect();
        long.windows(2).all(|pair| self.stride(pair[0]) == self.stride(pair[1]) * extent(pair[1]) as i64)
    }
}

impl Lowering<'_> {
    /// An operand as it lies in memory.
    fn operand(&self, id: NodeId, arg: NodeId, labels: &[u8]) -> Result<ProductOperand, Obstacle> {
        let body = self.body;
        let source = strided_source(body, arg, |id| self.buffers.contains(id));
        let shape = &body.node(arg).ty().shape;
        let mut access = Access::identity(shape.len());
        let mut at = arg;
        while at != source {
            let Op::View(map) = &body.node(at).op else { unreachable!("a chain of views") };
            access = access.through_view(map, shape).ok_or(Obstacle::Read(id))?.0;
            at = body.node(at).args[0];
        }
        let at = access.linear(&body.node(source).ty().shape, shape).ok_or(Obstacle::Read(id))?;
        Ok(ProductOperand { buffer: self.buffers[source], labels: labels.into(), at })
    }

    /// A copy of an operand with its axes in this order.
    fn packed(&mut self, arg: NodeId, from: &[u8], to: Labels) -> Result<ProductOperand, Obstacle> {
        let ty = self.body.node(arg).ty().clone();
        let axis = |label: u8, of: &[u8]| of.iter().position(|&l| l == label).expect("the same labels");
        let shape: Shape = to.iter().map(|&label| ty.shape[axis(label, from)]).collect();
        let buffer = self.buffer(&Type::new(ty.dtype, &shape), BufferSource::Local);
        let rank = to.len();
        let rows = from.iter().map(|&label| Affine::axis(axis(label, &to), rank)).collect();
        let access = Access { rows, guards: Guards::new() };
        let packed = row_major(buffer, to, &shape);
        let place = packed.at.clone();
        self.nest(&shape, buffer, StoreMode::Write, &|emitter| {
            Ok((emitter.emit(arg, access.clone(), NodeId::MAX)?, place.clone(), Guards::new(), None))
        })?;
        Ok(packed)
    }

    /// A contraction as products of matrices, whose rows and columns are made up of the labels in each role. Labels take their
    /// order from the larger of the arrays that have them. An operand whose rows or columns this order splits is copied first,
    /// unless its elements are read several times, as in windows; a result is copied afterwards. Where a buffer with elements is
    /// given, the products are added to these.
    pub(super) fn product(&mut self, id: NodeId, onto: Option<BufferId>) -> Result<(), Obstacle> {
        let (body, node) = (self.body, self.body.node(id));
        let Op::Contract(spec) = &node.op else { unreachable!("the class of products") };
        let shape = |arg: usize| &body.node(node.args[arg]).ty().shape;
        let extent = |label: u8| spec.extent(label, shape(0), shape(1));
        let mut left = self.operand(id, node.args[0], &spec.left)?;
        let mut right = self.operand(id, node.args[1], &spec.right)?;
        let buffer = onto.unwrap_or_else(|| self.local(id));
        let result = row_major(buffer, spec.result.clone(), &node.ty().shape);
        let [mut batches, mut rows, mut summed, mut columns] = roles(spec);
        put_in_order(&mut batches, [&result; 2], &extent);
        put_in_order(&mut rows, [&left, &result], &extent);
        put_in_order(&mut summed, [&left, &right], &extent);
        put_in_order(&mut columns, [&right, &result], &extent);
        // Whether the last of some labels goes along neighbours.
        let has_neighbours = |operand: &ProductOperand, labels: &Labels| {
            labels.iter().rfind(|&&label| extent(label) != 1).is_none_or(|&label| operand.stride(label) == 1)
        };
        let is_apart = |operand: &ProductOperand, lines: &Labels| {
            !has_neighbours(operand, lines)
                && !operand.runs_together(lines, &extent)
                && operand.size(&extent) <= self.procedure.buffers[operand.buffer as usize].ty.size()
        };
        let (left_is_apart, right_is_apart) = (is_apart(&left, &rows), is_apart(&right, &columns));
        if left_is_apart {
            left = self.packed(node.args[0], &spec.left, [&batches[..], &rows, &summed].concat().into())?;
        }
        if right_is_apart {
            right = self.packed(node.args[1], &spec.right, [&batches[..], &summed, &columns].concat().into())?;
        }
        let mut written = result;
        if !has_neighbours(&written, &rows) && !has_neighbours(&written, &columns) {
            let order: Labels = [&batches[..], &rows, &columns].concat().into();
            let shape: Shape = order.iter().map(|&label| extent(label)).collect();
            let in_order = self.buffer(&Type::new(node.ty().dtype, &shape), BufferSource::Local);
            written = row_major(in_order, order, &shape);
        }
        let origin = |id: BufferId| self.procedure.origin(id);
        let is_read = [&left, &right].into_iter().any(|operand| origin(operand.buffer) == origin(buffer));
        if onto.is_some() && is_read && written.buffer == buffer {
            // Elements that are read later would be others.
            let copy = self.buffer(node.ty(), BufferSource::Local);
            written = row_major(copy, spec.result.clone(), &node.ty().shape);
        }
        let mut step = product_of([batches, rows, summed, columns], [&left, &right, &written], &extent);
        step.continues = onto.is_some() && written.buffer == buffer;
        debug_assert_eq!(node.ty().size(), step.count(BATCH) * step.count(ROW) * step.count(COLUMN));
        self.fixed(Step::Product(Box::new(step)), &[written.buffer]);
        let mode = if onto.is_some() { StoreMode::Reduce(Reduction::Sum) } else { StoreMode::Write };
        if written.buffer == buffer { Ok(()) } else { self.reordered(id, &written, (buffer, mode)) }
    }

    /// Copies or adds a product whose axes may be in another order than its node's.
    fn reordered(
        &mut self,
        id: NodeId,
        from: &ProductOperand,
        (to, mode): (BufferId, StoreMode),
    ) -> Result<(), Obstacle> {
        let node = self.body.node(id);
        let Op::Contract(spec) = &node.op else { unreachable!("the class of products") };
        let shape = node.ty().shape.clone();
        let read = Affine { offset: 0, coefficients: spec.result.iter().map(|&label| from.stride(label)).collect() };
        let dtype = node.ty().dtype;
        let place = row_major(to, spec.result.clone(), &shape).at;
        self.nest(&shape, to, mode, &|emitter| {
            let value = emitter.load(id, from.buffer, read.clone(), Guards::new(), dtype)?;
            Ok((value, place.clone(), Guards::new(), None))
        })
    }
}

/// A buffer of this shape, whose axes have these labels.
fn row_major(buffer: BufferId, labels: Labels, shape: &[usize]) -> ProductOperand {
    let coefficients = strides(shape).iter().map(|&stride| stride as i64).collect();
    ProductOperand { buffer, labels, at: Affine { offset: 0, coefficients } }
}

/// Labels by how far the larger of two operands, or else the first, advances along them, outermost first.
fn put_in_order(labels: &mut Labels, [first, second]: [&ProductOperand; 2], extent: &impl Fn(u8) -> usize) {
    let larger = if second.size(extent) > first.size(extent) { second } else { first };
    sort_by_rank(labels, |&label| !larger.stride(label).unsigned_abs());
}

/// The product of matrices whose axes have these labels by role. Labels that run together in all operands become one axis.
fn product_of(labels: [Labels; 4], operands: [&ProductOperand; 3], extent: &impl Fn(u8) -> usize) -> MatrixProduct {
    let mut extents = ByRole::default();
    let mut strides: [ByRole<isize>; 3] = Default::default();
    for (role, labels) in labels.into_iter().enumerate() {
        // An operand that lacks the role's labels has stride 0 for all of them, which joins with itself.
        let own = |label: u8| operands.map(|operand| operand.stride(label));
        // The innermost label of each axis, and how many positions the axis has.
        let mut axes: SmallVec<[(u8, usize); 4]> = SmallVec::new();
        for &label in labels.iter().rev().filter(|&&label| extent(label) != 1) {
            let joins = |&(inner, length): &(u8, usize)| {
                own(inner).into_iter().zip(own(label)).all(|(inner, outer)| inner * length as i64 == outer)
            };
            match axes.last_mut() {
                Some(axis) if joins(axis) => axis.1 *= extent(label),
                _ => axes.push((label, extent(label))),
            }
        }
        for &(label, length) in axes.iter().rev() {
            extents[role].push(length);
            for (strides, stride) in strides.iter_mut().zip(own(label)) {
                strides[role].push(stride as isize);
            }
        }
    }
    let mut strides = strides.into_iter();
    let [left, right, result] = operands.map(|operand| Strided {
        buffer: operand.buffer,
        offset: operand.at.offset as usize,
        strides: strides.next().expect("strides of each operand"),
    });
    MatrixProduct { extents, left, right, result, continues: false, prologues: [None, None], epilogue: None }
}
