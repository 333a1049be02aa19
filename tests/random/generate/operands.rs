//! Operands: nodes chosen among those that exist, and made to fit.

use super::super::arrays;
use super::{LARGEST, TAME, TAME_INTEGER, Writer};
use deltaray::affine::AffineMap;
use deltaray::operation::{Binary, Comparison, Unary};
use deltaray::shape::{DType, Shape, Type, Value, size};
use deltaray::term::{Build, NodeId, Op};
use smallvec::SmallVec;

impl Writer<'_> {
    pub(super) fn add(&mut self, op: Op<Build>, args: &[NodeId], bound: f64) -> NodeId {
        for &arg in args {
            self.uses[arg as usize] += 1;
        }
        let id = self.graph.add(op, args);
        if id as usize == self.bounds.len() {
            self.bounds.push(bound);
            self.uses.push(0);
        }
        id
    }

    pub(super) fn ty(&self, id: NodeId) -> Type {
        self.graph.ty(id).clone()
    }

    pub(super) fn dtype(&self, id: NodeId) -> DType {
        self.graph.ty(id).dtype
    }

    pub(super) fn bound(&self, id: NodeId) -> f64 {
        self.bounds[id as usize]
    }

    pub(super) fn is_array(&self, id: NodeId) -> bool {
        !self.graph.node(id).op.is_multiple()
    }

    pub(super) fn is_parameter(&self, id: NodeId) -> bool {
        matches!(self.graph.node(id).op, Op::Parameter(_))
    }

    /// A node whose type is accepted, by preference a recent one or one that nobody uses.
    pub(super) fn choose(&mut self, accept: impl Fn(&Type) -> bool) -> Option<NodeId> {
        let len = self.graph.len();
        let mut candidates: SmallVec<[(usize, NodeId); 32]> = SmallVec::new();
        for id in 0..len as NodeId {
            if self.is_array(id) && accept(self.graph.ty(id)) {
                let unused = if self.uses[id as usize] == 0 { 4 } else { 0 };
                let recent = if id as usize + 5 >= len { 2 } else { 0 };
                candidates.push((1 + unused + recent, id));
            }
        }
        if candidates.is_empty() { None } else { Some(self.random.weighted(&candidates)) }
    }

    /// A float node; there is always a way to one.
    pub(super) fn some_float(&mut self) -> NodeId {
        match self.choose(|ty| ty.dtype.is_float()) {
            Some(id) => id,
            None => {
                let dtype = self.style.floats[0];
                match self.choose(|_| true) {
                    Some(id) => self.cast_to(id, dtype),
                    None => self.constant(&Type::scalar(dtype)),
                }
            }
        }
    }

    /// A float node whose magnitude is at most `limit`.
    pub(super) fn tame_float(&mut self, limit: f64) -> NodeId {
        let id = self.some_float();
        self.tame(id, limit)
    }

    /// The float node, or a function of it whose magnitude is at most `limit`, which is at least 1.
    pub(super) fn tame(&mut self, id: NodeId, limit: f64) -> NodeId {
        debug_assert!(self.dtype(id).is_float() && limit >= 1.0);
        if self.bound(id) <= limit {
            return id;
        }
        if self.random.chance(0.25) && self.bound(id) < 1e3 {
            let factor = arrays::full(&self.ty(id), limit / self.bound(id));
            let factor = self.add(Op::Constant(factor), &[], 1.0);
            return self.add(Op::Binary(Binary::Mul), &[id, factor], limit);
        }
        let op = self.random.pick(&[Unary::Tanh, Unary::Sin, Unary::Sigmoid, Unary::Cos]);
        // Steep waves of large numbers would amplify rounding errors; flat tails lose nothing.
        let op = if self.bound(id) > 100.0 { Unary::Tanh } else { op };
        self.add(Op::Unary(op), &[id], 1.0)
    }

    /// A positive float node made of a float node, away from 0.
    pub(super) fn positive(&mut self, id: NodeId) -> NodeId {
        let id = self.tame(id, 3.0);
        let (base, bound) = match self.random.below(4) {
            0 => (self.add(Op::Unary(Unary::Sigmoid), &[id], 1.0), 1.0),
            1 => {
                let bound = self.bound(id).powi(2);
                (self.add(Op::Binary(Binary::Mul), &[id, id], bound), bound)
            }
            2 => (self.add(Op::Unary(Unary::Abs), &[id], self.bound(id)), self.bound(id)),
            _ => {
                let inner = self.tame(id, 1.0);
                return self.add(Op::Unary(Unary::Exp), &[inner], 2.72);
            }
        };
        let offset = arrays::full(&self.ty(id), 0.5);
        let offset = self.add(Op::Constant(offset), &[], 0.5);
        self.add(Op::Binary(Binary::Add), &[base, offset], bound + 0.5)
    }

    /// A constant of a type: uniform, or a small table.
    pub(super) fn constant(&mut self, ty: &Type) -> NodeId {
        let count = size(&ty.shape);
        let draw = |random: &mut super::Random| match ty.dtype {
            DType::F32 | DType::F64 => {
                // Both numbers that rules look for, and any others.
                let x = random.between(-1.5, 1.5);
                Value::from_f64(ty.dtype, random.pick(&[x, x, 0.0, 1.0, -1.0, 0.5, 2.0]))
            }
            DType::I32 | DType::I64 => Value::from_i64(ty.dtype, random.whole(-2, 4)),
            DType::Bool => Value::Bool(random.chance(0.5)),
        };
        let array = if count > 1 && count <= 30 && self.random.chance(0.4) {
            let elements: Vec<Value> = (0..count).map(|_| draw(self.random)).collect();
            arrays::array(ty, &elements)
        } else {
            deltaray::concrete::Array::full(&ty.shape, draw(self.random))
        };
        self.add(Op::Constant(array), &[], if ty.dtype == DType::Bool { 1.0 } else { 4.0 })
    }

    /// A constant of a type with one value.
    pub(super) fn filled(&mut self, ty: &Type, x: i64) -> NodeId {
        let array = deltaray::concrete::Array::full(&ty.shape, Value::from_i64(ty.dtype, x));
        self.add(Op::Constant(array), &[], x.unsigned_abs() as f64)
    }

    /// The node in another element type; floats become integers by rounding a multiple.
    pub(super) fn cast_to(&mut self, id: NodeId, dtype: DType) -> NodeId {
        let from = self.dtype(id);
        if from == dtype {
            return id;
        }
        let mut id = id;
        if from.is_float() && dtype.is_integer() {
            id = self.tame(id, TAME);
            if self.random.chance(0.7) {
                let factor = self.random.pick(&[1.0, 2.0, 3.0]);
                let array = arrays::full(&self.ty(id), factor);
                let array = self.add(Op::Constant(array), &[], factor);
                let bound = self.bound(id) * factor;
                id = self.add(Op::Binary(Binary::Mul), &[id, array], bound);
                id = self.add(Op::Unary(Unary::Round), &[id], bound + 0.5);
            }
        } else if from.is_integer() && dtype.is_float() {
            id = self.tame_integer(id, TAME_INTEGER);
        }
        let bound = if dtype == DType::Bool || from == DType::Bool { 1.0 } else { self.bound(id) };
        self.add(Op::Cast(dtype), &[id], bound)
    }

    /// The integer node, or a remainder of it whose magnitude is at most about `limit`.
    pub(super) fn tame_integer(&mut self, id: NodeId, limit: f64) -> NodeId {
        if self.bound(id) <= limit {
            return id;
        }
        let divisor = self.random.whole(2, (limit as i64).clamp(2, 9));
        let divisor = self.filled(&self.ty(id), divisor);
        let op = self.random.pick(&[Binary::Rem, Binary::Modulo]);
        self.add(Op::Binary(op), &[id, divisor], 9.0)
    }

    /// A node of exactly this type.
    pub(super) fn fit(&mut self, ty: &Type) -> NodeId {
        if self.random.chance(0.75) {
            let fitting = self.choose(|other| other == ty);
            if let Some(id) = fitting {
                return id;
            }
        }
        let any = if self.random.chance(0.85) {
            self.choose(|other| other.dtype == ty.dtype).or_else(|| self.choose(|_| true))
        } else {
            None
        };
        match any {
            Some(id) => self.made_to_fit(id, ty),
            None => self.constant(ty),
        }
    }

    /// The node read and cast into this type.
    pub(super) fn made_to_fit(&mut self, id: NodeId, ty: &Type) -> NodeId {
        let read = self.view_to(id, &ty.shape);
        self.cast_to(read, ty.dtype)
    }

    /// The node read by some view into an array of this shape.
    pub(super) fn view_to(&mut self, id: NodeId, shape: &[usize]) -> NodeId {
        let source = self.ty(id).shape;
        if source[..] == *shape {
            return id;
        }
        let map = self.map(&source, shape);
        let bound = self.bound(id);
        self.add(Op::View(map), &[id], bound)
    }

    /// A map that reads one shape into another, now and then outside.
    pub(super) fn map(&mut self, source: &[usize], result: &[usize]) -> AffineMap {
        let mut free: Vec<usize> = (0..result.len()).collect();
        let mut rows: Vec<SmallVec<[i64; 4]>> = Vec::new();
        let mut offsets: Vec<i64> = Vec::new();
        for &extent in source {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
            let mut offset = 0;
            let fitting = free.iter().position(|&axis| result[axis] == extent);
            let axis = match fitting {
                Some(at) if self.random.chance(0.8) => Some(free.remove(at)),
                // An axis that is read twice makes a diagonal.
                _ if !result.is_empty() && self.random.chance(0.6) => Some(self.random.below(result.len())),
                _ => None,
            };
            match axis {
                Some(axis) => {
                    let n = result[axis] as i64;
                    (row[axis], offset) = match self.random.below(8) {
                        0..=3 => (1, if n == extent as i64 { 0 } else { self.random.whole(-1, 1) }),
                        4 | 5 => (-1, extent as i64 - 1),
                        6 => (2, self.random.whole(-1, 1)),
                        _ => (1, self.random.whole(-2, 2)),
                    };
                    if result.len() > 1 && self.random.chance(0.08) {
                        let other = self.random.below(result.len());
                        row[other] += self.random.pick(&[1, -1]);
                    }
                }
                None => {
                    let outside = self.random.chance(0.1);
                    if outside {
                        offset = extent as i64;
                    } else if extent > 0 {
                        offset = self.random.below(extent) as i64;
                    }
                }
            }
            rows.push(row);
            offsets.push(offset);
        }
        // Now and then far outside, as far as maps go.
        if !source.is_empty() && !result.is_empty() && self.random.chance(0.04) {
            let (row, column) = (self.random.below(source.len()), self.random.below(result.len()));
            rows[row][column] = self.random.pick(&[1 << 62, 1 << 59, 1 << 58, -1 << 57, 1 - (1 << 58)]);
        }
        AffineMap::checked(source, result, &rows, &offsets).unwrap_or_else(|| {
            rows.iter_mut().for_each(|row| row.fill(0));
            AffineMap::new(source, result, &rows, &offsets)
        })
    }

    /// A random shape of the program's extents, small enough when it runs along other axes of size `beside`.
    pub(super) fn shape(&mut self, most_axes: usize, beside: usize) -> Shape {
        let rank = self.random.below(most_axes + 1);
        let mut shape = super::shape(self.random, self.style, rank);
        while size(&shape) * beside > LARGEST {
            shape.pop();
        }
        shape
    }

    /// An array of positions, of a given shape, along an axis of extent `extent`.
    pub(super) fn positions(&mut self, shape: &[usize], extent: usize) -> NodeId {
        let ty = Type::new(DType::I64, shape);
        let affine = if self.depth > 0 { 6 } else { 4 };
        match self.random.weighted(&[(affine, 0), (3, 1), (2, 2)]) {
            0 => match self.affine(shape) {
                Some((id, n)) => self.index_arithmetic(id, n, extent),
                None => {
                    let at = self.random.whole(-1, extent as i64);
                    self.filled(&ty, at)
                }
            },
            1 => {
                let float = self.some_float();
                let float = self.tame(float, TAME);
                self.made_to_fit(float, &ty)
            }
            _ => self.fit(&ty),
        }
    }

    /// An array of this shape that counts along one axis, or an enclosing index; with how far it counts.
    fn affine(&mut self, shape: &[usize]) -> Option<(NodeId, usize)> {
        if !self.indices.is_empty() && (shape.is_empty() || self.random.chance(0.3)) {
            let (id, n) = self.random.pick(&self.indices);
            return Some((self.broadcast(id, shape), n));
        }
        if shape.is_empty() {
            return None;
        }
        let axis = self.random.below(shape.len());
        let iota = self.add(Op::Iota(shape[axis]), &[], shape[axis] as f64);
        let map = AffineMap::broadcast(&[shape[axis]], shape, &[axis]);
        let bound = shape[axis] as f64;
        let id = if map.is_identity() { iota } else { self.add(Op::View(map), &[iota], bound) };
        Some((id, shape[axis]))
    }

    /// A rank-0 node repeated in a shape.
    pub(super) fn broadcast(&mut self, id: NodeId, shape: &[usize]) -> NodeId {
        if shape.is_empty() {
            return id;
        }
        let bound = self.bound(id);
        self.add(Op::View(AffineMap::broadcast(&[], shape, &[])), &[id], bound)
    }

    /// Index arithmetic as people write it: i + 1, n - 1 - i, 2 i, i / 2, i % k, i + j.
    fn index_arithmetic(&mut self, id: NodeId, n: usize, extent: usize) -> NodeId {
        let ty = self.ty(id);
        let (op, other, swapped) = match self.random.below(10) {
            // Positions that wrap, or are far outside.
            0 if self.random.chance(0.1) => {
                let other = self.random.pick(&[1 << 62, 1 << 60, i64::MAX, i64::MIN, -1 << 62, i64::MAX / 3]);
                let op = self.random.pick(&[Binary::Add, Binary::Mul, Binary::Mul]);
                let far = self.filled(&ty, other);
                return self.add(Op::Binary(op), &[id, far], 1e19);
            }
            0..=3 => return id,
            4 => (Binary::Add, self.random.whole(-1, 2), false),
            5 => (Binary::Sub, self.random.pick(&[n, extent]) as i64 - 1, true),
            6 => (Binary::Mul, self.random.pick(&[2, 2, -1, 3]), false),
            7 => (self.random.pick(&[Binary::Quot, Binary::FloorDiv]), self.random.whole(0, 3), false),
            8 => (self.random.pick(&[Binary::Rem, Binary::Modulo]), self.random.whole(0, 3), false),
            _ => {
                let Some((other, m)) = self.affine(&ty.shape) else { return id };
                let op = self.random.pick(&[Binary::Add, Binary::Sub, Binary::Min, Binary::Max]);
                return self.add(Op::Binary(op), &[id, other], (n + m) as f64);
            }
        };
        let bound = n as f64 * 3.0 + extent as f64;
        let other = self.filled(&ty, other);
        let args = if swapped { [other, id] } else { [id, other] };
        self.add(Op::Binary(op), &args, bound)
    }

    /// A mask of this shape.
    pub(super) fn mask(&mut self, shape: &[usize]) -> NodeId {
        let ty = Type::new(DType::Bool, shape);
        if self.random.chance(0.25) {
            return self.fit(&ty);
        }
        if self.random.chance(0.4) {
            // On positions: the triangle, the border, the even ones.
            if let Some((id, n)) = self.affine(shape) {
                let left = self.index_arithmetic(id, n, n);
                let right = match self.affine(shape) {
                    Some((other, _)) if self.random.chance(0.5) => other,
                    _ => {
                        let at = self.random.whole(0, n as i64);
                        self.filled(&self.ty(id), at)
                    }
                };
                return self.comparison(left, right);
            }
        }
        let dtype = if self.random.chance(0.8) { self.style.floats[0] } else { DType::I64 };
        let operand = Type::new(dtype, shape);
        let left = self.fit(&operand);
        let right = if self.random.chance(0.5) { self.fit(&operand) } else { self.constant(&operand) };
        self.comparison(left, right)
    }

    fn comparison(&mut self, left: NodeId, right: NodeId) -> NodeId {
        let op = self.random.pick(&[
            Comparison::Less,
            Comparison::LessEqual,
            Comparison::Greater,
            Comparison::GreaterEqual,
            Comparison::Equal,
            Comparison::NotEqual,
        ]);
        self.add(Op::Compare(op), &[left, right], 1.0)
    }
}
