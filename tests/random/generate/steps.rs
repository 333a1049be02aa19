//! Steps: each writes one construct, with its operands.

use super::super::arrays::full;
use super::{DEEPEST, LARGEST, TAME, Writer};
use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Extreme, Label, Order, Reduction};
use deltaray::operation::{BINARY_ROWS, Binary, Domain, UNARY_ROWS, Unary};
use deltaray::shape::{Axes, DType, Shape, Type, size};
use deltaray::term::{NodeId, Op};
use smallvec::SmallVec;

type Step = fn(&mut Writer<'_>);

/// Constructs and how often a step writes each, outside and inside of nested bodies.
const STEPS: &[(usize, usize, Step)] = &[
    (12, 16, |writer| writer.unary()),
    (16, 22, |writer| writer.binary()),
    (6, 8, |writer| writer.integers()),
    (2, 2, |writer| writer.booleans()),
    (6, 6, |writer| writer.select()),
    (4, 4, |writer| writer.cast()),
    (10, 4, |writer| writer.view()),
    (5, 1, |writer| writer.accumulate()),
    (4, 1, |writer| writer.reshape()),
    (4, 2, |writer| writer.concatenate()),
    (10, 24, |writer| writer.gather()),
    (8, 2, |writer| writer.scatter()),
    (7, 6, |writer| writer.scatter_set()),
    (9, 5, |writer| writer.reduce()),
    (4, 2, |writer| writer.arg_reduce()),
    (2, 1, |writer| writer.arg_sort()),
    (9, 4, |writer| writer.contract()),
    (8, 3, |writer| writer.matrices()),
    (2, 2, |writer| writer.leaf()),
    (1, 1, |writer| writer.mark()),
    (28, 21, |writer| writer.build()),
    (8, 4, |writer| writer.scan()),
    (6, 3, |writer| writer.sweeps()),
    (6, 5, |writer| writer.branch()),
    (5, 3, |writer| writer.custom()),
    (26, 1, |writer| writer.library()),
];

impl Writer<'_> {
    /// Writes one construct.
    pub(super) fn step(&mut self) {
        let inside = self.depth > 0;
        let weights: Vec<(usize, Step)> =
            STEPS.iter().map(|&(out, within, step)| (if inside { within } else { out }, step)).collect();
        let step = self.random.weighted(&weights);
        step(self);
    }

    fn unary(&mut self) {
        let rows: Vec<Unary> = UNARY_ROWS.iter().copied().filter(|row| row.domain().accepts(DType::F64)).collect();
        // Finite differences see through stopped gradients: such programs are compared less.
        let rows: Vec<Unary> = match self.random.chance(0.1) {
            true => rows,
            false => rows.into_iter().filter(|&row| row != Unary::StopGradient).collect(),
        };
        let op = if self.random.chance(0.12) {
            Unary::Powi(self.random.whole(-2, 4) as i32)
        } else {
            self.random.pick(&rows)
        };
        let operand = self.tame_float(TAME);
        // A few operands are left wild: programs whose values are not finite are set aside by the comparison.
        let wild = self.random.chance(0.03);
        let operand = match op {
            _ if wild => operand,
            Unary::Exp | Unary::Expm1 | Unary::Exp2 | Unary::Sinh | Unary::Cosh => self.tame(operand, 2.0),
            Unary::Recip | Unary::Ln | Unary::Log2 | Unary::Log10 | Unary::Sqrt | Unary::Cbrt => self.positive(operand),
            Unary::Powi(_) | Unary::Lgamma | Unary::Digamma => self.positive(operand),
            Unary::Asin | Unary::Acos | Unary::Atanh => {
                let operand = self.tame(operand, 1.0);
                let part = self.add(Op::Constant(full(&self.ty(operand), 0.75)), &[], 0.75);
                self.add(Op::Binary(Binary::Mul), &[operand, part], 0.75)
            }
            Unary::Acosh => {
                let operand = self.positive(operand);
                let one = self.add(Op::Constant(full(&self.ty(operand), 1.0)), &[], 1.0);
                self.add(Op::Binary(Binary::Add), &[operand, one], self.bound(operand) + 1.0)
            }
            Unary::Ln1p => {
                let operand = self.positive(operand);
                self.tame(operand, TAME)
            }
            Unary::Tan => self.tame(operand, 1.0),
            _ => operand,
        };
        let x = self.bound(operand);
        let bound = match op {
            Unary::Exp | Unary::Expm1 | Unary::Exp2 | Unary::Sinh | Unary::Cosh => x.exp(),
            Unary::Recip => 2.5,
            Unary::Asin | Unary::Acos | Unary::Atan | Unary::Atanh | Unary::Erf | Unary::Erfc => 3.2,
            Unary::Lgamma | Unary::Digamma => x * x + 3.0,
            Unary::Powi(n) => x.powi(n.abs()).max(7.0),
            Unary::Tan => 1.6,
            Unary::Sin | Unary::Cos | Unary::Tanh | Unary::Sigmoid | Unary::Sign => 1.0,
            _ => x + 1.0,
        };
        self.add(Op::Unary(op), &[operand], bound);
    }

    fn binary(&mut self) {
        let rows: Vec<Binary> = BINARY_ROWS.iter().copied().filter(|row| row.domain().accepts(DType::F64)).collect();
        let op = if self.random.chance(0.6) {
            self.random.pick(&[Binary::Add, Binary::Mul, Binary::Sub, Binary::Mul])
        } else {
            self.random.pick(&rows)
        };
        let left = self.tame_float(TAME);
        let right = if self.random.chance(0.1) { left } else { self.fit(&self.ty(left)) };
        let right = self.tame(right, TAME);
        let (left, right) = match op {
            Binary::Div => (left, self.positive(right)),
            Binary::Pow => {
                let base = self.positive(left);
                (self.tame(base, 3.0), self.tame(right, 2.0))
            }
            Binary::Atan2 | Binary::Hypot | Binary::Xlogy => (left, self.positive(right)),
            _ => (left, right),
        };
        // `tame` may undo `positive`.
        let left = if op == Binary::Pow && self.bound(left) <= 1.0 { self.positive(left) } else { left };
        let (a, b) = (self.bound(left), self.bound(right));
        let bound = match op {
            Binary::Mul | Binary::KeepZero => a * b,
            Binary::Div => 2.5 * a,
            Binary::Xlogy => a * (b + 1.0),
            Binary::Pow => a.max(2.0).powf(b),
            _ => a + b,
        };
        self.add(Op::Binary(op), &[left, right], bound);
    }

    fn integers(&mut self) {
        let existing = if self.random.chance(0.7) { self.choose(|ty| ty.dtype.is_integer()) } else { None };
        let left = match existing {
            Some(id) => id,
            None => {
                let dtype = if self.random.chance(0.75) { DType::I64 } else { DType::I32 };
                let shape = self.shape(2, 1);
                self.fit(&Type::new(dtype, &shape))
            }
        };
        if self.random.chance(0.25) {
            let rows: Vec<Unary> = UNARY_ROWS.iter().copied().filter(|row| row.domain().accepts(DType::I64)).collect();
            let op = self.random.pick(&rows);
            let bound = self.bound(left);
            self.add(Op::Unary(op), &[left], bound);
            return;
        }
        let rows: Vec<Binary> = BINARY_ROWS.iter().copied().filter(|row| row.domain().accepts(DType::I64)).collect();
        let op = self.random.pick(&rows);
        let ty = self.ty(left);
        let right = if self.random.chance(0.3) { self.constant(&ty) } else { self.fit(&ty) };
        // Integers may become as large as they like: wrapping is part of the language.
        let (a, b) = (self.bound(left), self.bound(right));
        let bound = match op {
            Binary::Mul => a * b,
            Binary::ShiftLeft | Binary::BitOr | Binary::BitXor => 1e18,
            _ => a + b,
        };
        self.add(Op::Binary(op), &[left, right], bound);
    }

    fn booleans(&mut self) {
        let shape = self.shape(2, 1);
        let left = self.mask(&shape);
        if self.random.chance(0.3) {
            self.add(Op::Unary(Unary::Not), &[left], 1.0);
        } else {
            let right = self.mask(&shape);
            let op = self.random.pick(&[Binary::And, Binary::Or, Binary::Xor]);
            debug_assert_eq!(op.domain(), Domain::Bool);
            self.add(Op::Binary(op), &[left, right], 1.0);
        }
    }

    fn select(&mut self) {
        let yes = if self.random.chance(0.85) { self.some_float() } else { self.choose(|_| true).expect("a node") };
        let ty = self.ty(yes);
        let mask = self.mask(&ty.shape);
        let no = if self.random.chance(0.3) { self.constant(&ty) } else { self.fit(&ty) };
        let bound = self.bound(yes).max(self.bound(no));
        let args = if self.random.chance(0.5) { [mask, yes, no] } else { [mask, no, yes] };
        self.add(Op::Select, &args, bound);
    }

    fn cast(&mut self) {
        let Some(id) = self.choose(|_| true) else { return };
        let other = self.random.pick(&self.style.floats);
        let dtype = self.random.pick(&[other, other, DType::I64, DType::I64, DType::I32, DType::Bool]);
        self.cast_to(id, dtype);
    }

    fn view(&mut self) {
        let Some(id) = self.choose(|_| true) else { return };
        let shape = self.ty(id).shape;
        let rank = shape.len();
        let map = match self.random.below(9) {
            0 if rank >= 2 => {
                let mut axes: Axes = (0..rank).collect();
                self.random.shuffle(&mut axes);
                AffineMap::transpose(&shape, &axes)
            }
            1 | 2 if rank <= 2 => {
                // A new axis somewhere, along which the array repeats.
                let extent = self.random.pick(&self.style.extents);
                let at = self.random.below(rank + 1);
                let mut result = shape.clone();
                result.insert(at, extent);
                let axes: Vec<usize> = (0..rank).map(|axis| axis + usize::from(axis >= at)).collect();
                AffineMap::broadcast(&shape, &result, &axes)
            }
            3..=6 if rank >= 1 => {
                let axis = self.random.below(rank);
                let n = shape[axis] as i64;
                let (start, step, count) = match self.random.below(6) {
                    0 => (n - 1, -1, n),
                    1 => (1, 1, (n - 1).max(0)),
                    2 => (0, 1, (n - 1).max(0)),
                    3 => (0, 2, (n + 1) / 2),
                    4 => (-1, 1, n + 2),
                    _ => (self.random.whole(-2, 2), self.random.whole(-2, 2), n),
                };
                AffineMap::along(&shape, axis, start, step, count as usize)
            }
            7 if rank >= 1 => {
                let axis = self.random.below(rank);
                let at = self.random.whole(-1, shape[axis] as i64);
                AffineMap::pick(&shape, axis, at)
            }
            _ => {
                let result = self.shape(3, 1);
                self.map(&shape, &result)
            }
        };
        if size(map.result()) <= LARGEST {
            let bound = self.bound(id);
            self.add(Op::View(map), &[id], bound);
        }
    }

    fn accumulate(&mut self) {
        let id = if self.random.chance(0.85) { self.some_float() } else { self.choose(|_| true).expect("a node") };
        let ty = self.ty(id);
        let source = self.shape(3, 1);
        let map = self.map(&source, &ty.shape);
        let bound = self.bound(id) * ty.size() as f64;
        self.add(Op::Accumulate(map), &[id], bound);
    }

    fn reshape(&mut self) {
        let Some(id) = self.choose(|_| true) else { return };
        let ty = self.ty(id);
        let mut shape: Shape = if self.random.chance(0.5) { Shape::from_slice(&[ty.size()]) } else { ty.shape.clone() };
        for axis in (0..shape.len()).rev() {
            // Now and then an axis is split.
            let n = shape[axis];
            let divisors: Vec<usize> = (2..n).filter(|d| n.is_multiple_of(*d)).collect();
            if !divisors.is_empty() && shape.len() < 4 && self.random.chance(0.7) {
                let divisor = self.random.pick(&divisors);
                shape[axis] = n / divisor;
                shape.insert(axis + 1, divisor);
            }
        }
        if shape.len() >= 2 && self.random.chance(0.3) {
            shape.reverse();
        }
        if shape.len() < 3 && self.random.chance(0.3) {
            let at = self.random.below(shape.len() + 1);
            shape.insert(at, 1);
        }
        let bound = self.bound(id);
        self.add(Op::Reshape(shape), &[id], bound);
    }

    fn concatenate(&mut self) {
        let Some(first) = self.choose(|ty| ty.rank() >= 1) else { return };
        let ty = self.ty(first);
        let axis = self.random.below(ty.rank());
        let mut parts: SmallVec<[NodeId; 3]> = SmallVec::from_elem(first, 1);
        let mut total = ty.size();
        for _ in 0..self.random.whole(0, 2) {
            let mut other = ty.clone();
            if self.random.chance(0.4) {
                other.shape[axis] = self.random.pick(&self.style.extents);
            }
            total += other.size();
            if total > LARGEST {
                return;
            }
            let part = self.fit(&other);
            parts.push(part);
        }
        self.random.shuffle(&mut parts);
        let bound = parts.iter().map(|&part| self.bound(part)).fold(0.0, f64::max);
        self.add(Op::Concatenate(axis), &parts, bound);
    }

    pub(super) fn gather(&mut self) {
        let floats = self.random.chance(0.8);
        let Some(id) = self.choose(|ty| ty.rank() >= 1 && (!floats || ty.dtype.is_float())) else { return };
        let ty = self.ty(id);
        let count = if self.random.chance(0.6) { ty.rank() } else { self.random.whole(1, ty.rank() as i64) as usize };
        let rest = size(&ty.shape[count..]);
        let most = if self.depth > 0 && self.random.chance(0.8) { 0 } else { 2 };
        let shape = self.shape(most, rest.max(1));
        let mut args: SmallVec<[NodeId; 4]> = SmallVec::from_elem(id, 1);
        for axis in 0..count {
            let index = self.positions(&shape, ty.shape[axis]);
            args.push(index);
        }
        let bound = self.bound(id);
        self.add(Op::Gather, &args, bound);
    }

    fn scatter(&mut self) {
        let id = if self.random.chance(0.85) { self.some_float() } else { self.choose(|_| true).expect("a node") };
        let ty = self.ty(id);
        let along = self.random.below(ty.rank() + 1);
        let rest = size(&ty.shape[along..]);
        let count = self.random.weighted(&[(5, 1), (2, 2)]);
        let mut extents: Shape = super::shape(self.random, self.style, count);
        while size(&extents) * rest > LARGEST {
            extents.pop();
        }
        if extents.is_empty() {
            return;
        }
        let mut args: SmallVec<[NodeId; 4]> = SmallVec::from_elem(id, 1);
        for &extent in &extents {
            let index = self.positions(&ty.shape[..along], extent);
            args.push(index);
        }
        let bound = self.bound(id) * size(&ty.shape[..along]) as f64;
        self.add(Op::Scatter(extents), &args, bound);
    }

    fn scatter_set(&mut self) {
        let floats = self.random.chance(0.85);
        let target = self.choose(|ty| ty.rank() >= 1 && (!floats || ty.dtype.is_float()));
        if let Some(target) = target {
            self.written(target);
        }
    }

    /// An array with something written into it.
    pub(super) fn written(&mut self, target: NodeId) -> NodeId {
        let ty = self.ty(target);
        let count = if self.random.chance(0.5) { ty.rank() } else { self.random.whole(1, ty.rank() as i64) as usize };
        let rest = &ty.shape[count..];
        let most = if self.depth > 0 && self.random.chance(0.7) { 0 } else { 2 };
        let mut shape = self.shape(most, size(rest).max(1));
        let positions: Vec<NodeId> = (0..count).map(|axis| self.positions(&shape, ty.shape[axis])).collect();
        shape.extend_from_slice(rest);
        let updates = self.fit(&Type { dtype: ty.dtype, shape });
        let args: Vec<NodeId> = [target, updates].into_iter().chain(positions).collect();
        let bound = self.bound(target).max(self.bound(updates));
        self.add(Op::ScatterSet, &args, bound)
    }

    fn reduce(&mut self) {
        let op = self.random.weighted(&[(6, Reduction::Sum), (2, Reduction::Max), (2, Reduction::Min)]);
        // The largest element of an empty float array is infinite: programs keep to finite values.
        let legal = |ty: &Type| op == Reduction::Sum || !ty.dtype.is_float() || ty.size() > 0;
        let floats = self.random.chance(0.8);
        let Some(id) = self.choose(|ty| ty.rank() >= 1 && legal(ty) && (!floats || ty.dtype.is_float())) else {
            return;
        };
        let ty = self.ty(id);
        let mut axes: Axes = (0..ty.rank()).filter(|_| self.random.chance(0.6)).collect();
        if axes.is_empty() && self.random.chance(0.9) {
            axes.push(self.random.below(ty.rank()));
        }
        let count: usize = axes.iter().map(|&axis| ty.shape[axis]).product();
        let bound = match op {
            Reduction::Sum => self.bound(id) * count as f64,
            _ if count == 0 => f64::INFINITY,
            _ => self.bound(id),
        };
        self.add(Op::Reduce(op, axes), &[id], bound);
    }

    fn arg_reduce(&mut self) {
        let floats = self.random.chance(0.8);
        let Some(id) = self.choose(|ty| ty.rank() >= 1 && ty.dtype.is_float() == floats) else { return };
        let ty = self.ty(id);
        let axis = self.random.below(ty.rank());
        let op = self.random.pick(&[Extreme::Max, Extreme::Min]);
        self.add(Op::ArgReduce(op, axis), &[id], ty.shape[axis] as f64);
    }

    fn arg_sort(&mut self) {
        let floats = self.random.chance(0.8);
        let Some(id) = self.choose(|ty| ty.rank() >= 1 && ty.dtype.is_float() == floats) else { return };
        let ty = self.ty(id);
        let axis = self.random.below(ty.rank());
        let order = self.random.pick(&[Order::Ascending, Order::Descending]);
        self.add(Op::ArgSort(order, axis), &[id], ty.shape[axis] as f64);
    }

    fn contract(&mut self) {
        let dtype = if self.random.chance(0.9) { self.style.floats[0] } else { DType::I64 };
        let Some(left) = self.choose(|ty| ty.dtype == dtype) else { return };
        let Some(right) = self.choose(|ty| ty.dtype == dtype) else { return };
        let (a, b) = (self.ty(left).shape, self.ty(right).shape);
        let left_labels: SmallVec<[Label; 4]> = (0..a.len() as Label).collect();
        let mut right_labels: SmallVec<[Label; 4]> = SmallVec::new();
        for (axis, extent) in b.iter().enumerate() {
            let shared = left_labels
                .iter()
                .copied()
                .find(|&label| a[label as usize] == *extent && !right_labels.contains(&label))
                .filter(|_| self.random.chance(0.75));
            right_labels.push(shared.unwrap_or((a.len() + axis) as Label));
        }
        let mut result: SmallVec<[Label; 4]> = SmallVec::new();
        for &label in left_labels.iter().chain(right_labels.iter().filter(|label| !left_labels.contains(label))) {
            let shared = left_labels.contains(&label) && right_labels.contains(&label);
            if !shared || self.random.chance(0.3) {
                result.push(label);
            }
        }
        self.random.shuffle(&mut result);
        let spec = Contraction::new(&left_labels, &right_labels, &result);
        let shape = spec.shape(&a, &b);
        if size(&shape) > LARGEST || shape.len() > 4 {
            return;
        }
        let summed: usize = left_labels.iter().filter(|l| !result.contains(l)).map(|&l| a[l as usize]).product();
        let bound = self.bound(left) * self.bound(right) * summed as f64;
        self.add(Op::Contract(spec), &[left, right], bound);
    }

    fn leaf(&mut self) {
        if self.random.chance(0.4) {
            let n = self.random.pick(&self.style.extents);
            self.add(Op::Iota(n), &[], n as f64);
        } else {
            let dtype = self.random.pick(&[self.style.floats[0], self.style.floats[0], DType::I64]);
            let shape = self.shape(2, 1);
            self.constant(&Type::new(dtype, &shape));
        }
    }

    fn mark(&mut self) {
        let id = self.some_float();
        let bound = self.bound(id);
        self.add(Op::Mark, &[id], bound);
    }

    /// Whether a body may be opened that runs so often for each run of this one.
    pub(super) fn may_nest(&self, times: usize) -> bool {
        self.depth < DEEPEST && self.runs * times.max(1) <= super::MOST_RUNS
    }

    /// A node of this type for a nested body's result; floats are tame.
    pub(super) fn result(&mut self, ty: &Type, limit: f64) -> NodeId {
        let id = self.fit(ty);
        if ty.dtype.is_float() {
            self.tame(id, limit)
        } else if ty.dtype.is_integer() {
            self.tame_integer(id, limit)
        } else {
            id
        }
    }
}
