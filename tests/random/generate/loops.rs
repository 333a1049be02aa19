//! Steps that write nested bodies: builds, loops and conditionals.

use super::{LARGEST, TAME, Writer};
use deltaray::algebra::Reduction;
use deltaray::shape::{DType, Shape, Type, size};
use deltaray::term::{Body, Branch, Build, Graph, NodeId, Op, Scan};
use std::sync::Arc;

/// A parameter of a nested body: its type, a bound, and its extent if it is the index of a build.
pub(super) struct Leading {
    pub(super) ty: Type,
    pub(super) bound: f64,
    pub(super) index: Option<usize>,
}

impl Writer<'_> {
    /// Nodes that a nested body captures: enclosing indices, arrays, anything.
    pub(super) fn captures(&mut self, most: i64) -> Vec<NodeId> {
        let mut captures: Vec<NodeId> = Vec::new();
        for at in 0..self.indices.len() {
            if self.random.chance(0.75) {
                captures.push(self.indices[at].0);
            }
        }
        for position in 0..self.random.whole(1, most) {
            let array = position == 0 || self.random.chance(0.5);
            let chosen =
                self.choose(|ty| !array || (ty.rank() >= 1 && ty.dtype.is_float())).or_else(|| self.choose(|_| true));
            if let Some(id) = chosen
                && !captures.contains(&id)
            {
                captures.push(id);
            }
        }
        self.random.shuffle(&mut captures);
        captures
    }

    /// Writes a nested body.
    pub(super) fn nested(
        &mut self,
        leading: &[Leading],
        captures: &[NodeId],
        times: usize,
        steps: (i64, i64),
        finish: impl FnOnce(&mut Writer<'_>) -> Vec<NodeId>,
    ) -> (Arc<Body<Build>>, Vec<f64>) {
        let mut types: Vec<Type> = leading.iter().map(|parameter| parameter.ty.clone()).collect();
        let mut bounds: Vec<f64> = leading.iter().map(|parameter| parameter.bound).collect();
        let mut indices: Vec<(NodeId, usize)> = leading
            .iter()
            .enumerate()
            .filter_map(|(position, parameter)| parameter.index.map(|extent| (position as NodeId, extent)))
            .collect();
        for &capture in captures {
            if let Some(&(_, extent)) = self.indices.iter().find(|(id, _)| *id == capture) {
                indices.push((types.len() as NodeId, extent));
            }
            types.push(self.ty(capture));
            bounds.push(self.bound(capture));
        }
        let mut writer = Writer {
            random: &mut *self.random,
            style: self.style,
            graph: Graph::new(&types, captures.len()),
            uses: vec![0; types.len()],
            bounds,
            indices,
            runs: self.runs * times.max(1),
            depth: self.depth + 1,
            wrote: &mut *self.wrote,
        };
        for _ in 0..writer.random.whole(steps.0, steps.1) {
            writer.step();
        }
        let results = finish(&mut writer);
        let bounds = results.iter().map(|&id| writer.bound(id)).collect();
        (Arc::new(writer.graph.finish(&results)), bounds)
    }

    pub(super) fn build(&mut self) {
        let rank = self.random.weighted(&[(6, 1), (4, 2), (1, 3)]);
        let mut extents: Shape = super::shape(self.random, self.style, rank);
        while size(&extents) > LARGEST / 4 || (extents.len() > 1 && !self.may_nest(size(&extents))) {
            extents.pop();
        }
        let count = size(&extents);
        if extents.is_empty() || !self.may_nest(count) {
            return;
        }
        let leading: Vec<Leading> = extents
            .iter()
            .map(|&extent| Leading { ty: Type::scalar(DType::I64), bound: extent as f64, index: Some(extent) })
            .collect();
        let captures = self.captures(3);
        let floats = self.random.chance(0.85);
        let wide = self.random.chance(0.15);
        let (body, bounds) = self.nested(&leading, &captures, count, (1, 5), |writer| {
            writer.gather();
            let accept = |ty: &Type| {
                (!floats || ty.dtype.is_float())
                    && (wide || ty.rank() == 0)
                    && ty.size() * count.max(1) <= LARGEST
                    && ty.rank() <= 2
            };
            let chosen = writer.choose(accept);
            let id = match chosen {
                Some(id) if !writer.is_parameter(id) => id,
                _ => {
                    let dtype = writer.style.floats[0];
                    writer.fit(&Type::scalar(dtype))
                }
            };
            vec![id]
        });
        self.add(Op::Extra(Build { extents, body }), &captures, bounds[0]);
    }

    /// The first values of so many carries.
    pub(super) fn loop_carries(&mut self, carries: usize, leading: &mut Vec<Leading>, operands: &mut Vec<NodeId>) {
        for _ in 0..carries {
            let floats = self.random.chance(0.75);
            let chosen = self.choose(|ty| ty.size() <= 20 && ty.dtype.is_float() == floats);
            let id = match chosen {
                Some(id) => id,
                None => {
                    let shape = self.shape(1, 1);
                    let dtype = if floats { self.style.floats[0] } else { DType::I64 };
                    self.fit(&Type::new(dtype, &shape))
                }
            };
            let ty = self.ty(id);
            let id = if ty.dtype.is_float() { self.tame(id, 2.0) } else { id };
            // The values that the steps compute from it stay below this, too.
            leading.push(Leading { ty, bound: self.bound(id).max(9.0), index: None });
            operands.push(id);
        }
    }

    /// So many arrays that a loop reads slice by slice.
    pub(super) fn loop_inputs(
        &mut self,
        inputs: usize,
        length: usize,
        leading: &mut Vec<Leading>,
        operands: &mut Vec<NodeId>,
    ) {
        for _ in 0..inputs {
            let chosen = self.choose(|ty| ty.shape.first() == Some(&length));
            let id = match chosen {
                Some(id) => id,
                None => {
                    let mut shape = self.shape(1, length.max(1));
                    shape.insert(0, length);
                    let dtype = if self.random.chance(0.8) { self.style.floats[0] } else { DType::I64 };
                    self.fit(&Type::new(dtype, &shape))
                }
            };
            let mut ty = self.ty(id);
            ty.shape.remove(0);
            leading.push(Leading { ty, bound: self.bound(id), index: None });
            operands.push(id);
        }
    }

    pub(super) fn scan(&mut self) {
        let length = self.random.weighted(&[(1, 0), (2, 1), (2, 2), (4, 3), (2, 4)]);
        if !self.may_nest(length) {
            return;
        }
        let mut leading = Vec::new();
        let mut operands: Vec<NodeId> = Vec::new();
        let carries = self.random.weighted(&[(1, 0), (4, 1), (2, 2)]);
        self.loop_carries(carries, &mut leading, &mut operands);
        let inputs = self.random.weighted(&[(2, 0), (4, 1), (2, 2)]);
        self.loop_inputs(inputs, length, &mut leading, &mut operands);
        let captures = self.captures(2);
        operands.extend_from_slice(&captures);
        let outputs = self.random.weighted(&[(if carries > 0 { 2 } else { 0 }, 0), (4, 1), (1, 2)]);
        let (body, bounds) = self.nested(&leading, &captures, length, (1, 4), |writer| {
            let mut results: Vec<NodeId> =
                leading[..carries].iter().map(|parameter| writer.next_carry(&parameter.ty)).collect();
            for _ in 0..outputs {
                let chosen = writer.choose(|ty| ty.size() * length <= LARGEST && ty.rank() <= 2);
                let id = match chosen {
                    Some(id) => id,
                    None => {
                        let dtype = writer.style.floats[0];
                        writer.fit(&Type::scalar(dtype))
                    }
                };
                results.push(id);
            }
            results
        });
        let reverse = self.random.chance(0.4);
        let scan = self.add(Op::Scan(Arc::new(Scan { body, carries, inputs, length, reverse })), &operands, 0.0);
        let mut any = false;
        for (position, bound) in bounds.iter().enumerate() {
            if self.random.chance(0.8) || (!any && position + 1 == bounds.len()) {
                let bound = if position < carries { leading[position].bound } else { *bound };
                self.add(Op::Output(position), &[scan], bound);
                any = true;
            }
        }
    }

    /// A step's next value of a carry: something new, and no larger than a carry may be.
    pub(super) fn next_carry(&mut self, ty: &Type) -> NodeId {
        if ty.rank() > 0 && self.random.chance(0.4) {
            return self.changed(ty);
        }
        let id = self.result(ty, 9.0);
        if !self.is_parameter(id) || self.random.chance(0.1) {
            return id;
        }
        let other = self.fit(ty);
        let bound = self.bound(id) + self.bound(other);
        let op = match ty.dtype {
            DType::Bool => deltaray::operation::Binary::Or,
            _ => deltaray::operation::Binary::Add,
        };
        let sum = self.add(Op::Binary(op), &[id, other], bound);
        match ty.dtype {
            DType::Bool => sum,
            DType::I32 | DType::I64 => self.tame_integer(sum, 9.0),
            DType::F32 | DType::F64 => self.tame(sum, 9.0),
        }
    }

    /// A parameter with some elements written over, as loops do it that change an array: read in between, before or after.
    fn changed(&mut self, ty: &Type) -> NodeId {
        let parameters = (0..self.graph.len() as NodeId).filter(|&id| self.is_parameter(id) && self.ty(id) == *ty);
        let parameters: Vec<NodeId> = parameters.collect();
        let mut id = self.random.pick(&parameters);
        for _ in 0..self.random.whole(1, 3) {
            if self.random.chance(0.4) {
                self.step();
            }
            id = self.written(id);
        }
        match ty.dtype {
            _ if self.bound(id) <= 9.0 => id,
            DType::Bool => id,
            DType::I32 | DType::I64 => self.tame_integer(id, 9.0),
            DType::F32 | DType::F64 => self.tame(id, 9.0),
        }
    }

    pub(super) fn branch(&mut self) {
        if !self.may_nest(1) {
            return;
        }
        let condition = self.condition();
        let captures = self.captures(3);
        let mut types: Vec<Type> = Vec::new();
        for _ in 0..self.random.weighted(&[(4, 1), (1, 2)]) {
            let floats = self.random.chance(0.85);
            let chosen = self.choose(|ty| ty.size() <= 40 && (!floats || ty.dtype.is_float()));
            types.push(match chosen {
                Some(id) => self.ty(id),
                None => Type::scalar(self.style.floats[0]),
            });
        }
        let side = |writer: &mut Writer<'_>| {
            writer.nested(&[], &captures, 1, (0, 3), |writer| types.iter().map(|ty| writer.result(ty, TAME)).collect())
        };
        let (then, then_bounds) = side(self);
        let (otherwise, otherwise_bounds) = side(self);
        let mut operands = vec![condition];
        operands.extend_from_slice(&captures);
        let branch = self.add(Op::Branch(Arc::new(Branch { then, otherwise })), &operands, 0.0);
        for position in 0..types.len() {
            let bound = then_bounds[position].max(otherwise_bounds[position]);
            self.add(Op::Output(position), &[branch], bound);
        }
    }

    /// A rank-0 boolean.
    fn condition(&mut self) -> NodeId {
        if self.random.chance(0.15)
            && let Some(mask) = self.choose(|ty| ty.dtype == DType::Bool && ty.rank() >= 1)
        {
            let axes = (0..self.ty(mask).rank()).collect();
            let op = self.random.pick(&[Reduction::Sum, Reduction::Max, Reduction::Min]);
            return self.add(Op::Reduce(op, axes), &[mask], 1.0);
        }
        self.mask(&[])
    }
}
