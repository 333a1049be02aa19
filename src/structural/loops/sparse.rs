//! Operations on sparse matrices written out: loops over the entries of factors, as `array/sparse.rs` has them.

use crate::affine::AffineMap;
use crate::array::{Array, DIRECTIONS, Data};
use crate::operation::{Binary, Comparison, Contraction, Elimination, Reduction, SparseKind, SparseOperation, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value, size};
use crate::term::{Body, Checkpoints, Graph, NodeId, Op, Scan, Steps, Sweep, Sweeps};
use std::sync::Arc;

/// The program that computes an operation on operands of these types, of one matrix after the other.
pub(crate) fn sparse_written_out(op: &SparseOperation, operands: &[Type]) -> Body {
    let axes = operands[0].rank() - 1;
    let batch = Shape::from_slice(&operands[0].shape[..axes]);
    let own: Vec<Type> =
        operands.iter().map(|ty| Type { dtype: ty.dtype, shape: Shape::from_slice(&ty.shape[axes..]) }).collect();
    let one = of_one(op, &own);
    if axes == 0 {
        return one;
    }
    let count = size(&batch);
    let mut graph = Graph::new(operands, 0);
    let flat: Vec<NodeId> = (0..)
        .zip(&own)
        .map(|(id, ty)| {
            let shape: Shape = std::iter::once(count).chain(ty.shape.iter().copied()).collect();
            graph.add(Op::Reshape(shape), &[id])
        })
        .collect();
    let result = one.result_types().next().expect("one result").clone();
    let shape: Shape = batch.iter().chain(&result.shape).copied().collect();
    let results = if count == 0 {
        graph.add(Op::Constant(Array::zeros(&Type { dtype: result.dtype, shape: shape.clone() })), &[])
    } else {
        let scan = Scan { body: Arc::new(one), carries: 0, inputs: own.len(), length: count, reverse: false };
        let scan = graph.add(Op::Scan(Arc::new(scan)), &flat);
        graph.add(Op::Output(0), &[scan])
    };
    let result = graph.add(Op::Reshape(shape), &[results]);
    graph.finish(&[result])
}

/// The program for one matrix.
fn of_one(op: &SparseOperation, operands: &[Type]) -> Body {
    let elimination = &*op.elimination;
    let dtype = operands[0].dtype;
    let parts = match op.kind {
        SparseKind::InverseEntries(directions @ ..=DIRECTIONS) => 1 << directions,
        _ => 1,
    };
    let mut writer = Writer { graph: Graph::new(operands, 0), dtype, parts };
    let result = match op.kind {
        SparseKind::Factor => {
            let factor = writer.factor(elimination, &[0]);
            writer.reshaped(factor, &[elimination.factor_entries()])
        }
        SparseKind::Solve => writer.solve(elimination, 1, 2),
        SparseKind::LogDeterminant => {
            let starts = writer.indices(elimination.starts[..elimination.extent()].iter().copied());
            let diagonal = writer.graph.add(Op::Gather, &[1, starts]);
            let logarithms = writer.graph.add(Op::Unary(Unary::Ln), &[diagonal]);
            writer.graph.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[logarithms])
        }
        SparseKind::InverseEntries(0) => {
            let factor = writer.reshaped(1, &[elimination.factor_entries(), 1]);
            writer.inverse_entries(elimination, factor)
        }
        SparseKind::InverseEntries(directions @ ..=DIRECTIONS) => {
            let values: Vec<NodeId> = std::iter::once(0).chain((2..).take(directions)).collect();
            let factor = writer.factor(elimination, &values);
            writer.inverse_entries(elimination, factor)
        }
        SparseKind::InverseEntries(_) => writer.full(&[elimination.entries()], f64::NAN),
    };
    writer.graph.finish(&[result])
}

/// The arrays that say where L has entries, as `Elimination` names them.
#[derive(Clone, Copy)]
struct Tables {
    starts: NodeId,
    rows: NodeId,
    row_starts: NodeId,
    row_columns: NodeId,
    places: NodeId,
}

impl Tables {
    fn list(self) -> [NodeId; 5] {
        [self.starts, self.rows, self.row_starts, self.row_columns, self.places]
    }

    fn of(captures: &[NodeId]) -> Tables {
        let [starts, rows, row_starts, row_columns, places, ..] = *captures else { unreachable!("tables come first") };
        Tables { starts, rows, row_starts, row_columns, places }
    }
}

/// Writes operations on numbers of several parts, which are rows of arrays.
struct Writer {
    graph: Graph,
    dtype: DType,
    parts: usize,
}

impl Writer {
    fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        self.graph.add(Op::Binary(op), &[a, b])
    }

    fn reshaped(&mut self, a: NodeId, shape: &[usize]) -> NodeId {
        self.graph.add(Op::Reshape(Shape::from_slice(shape)), &[a])
    }

    fn full(&mut self, shape: &[usize], x: f64) -> NodeId {
        self.graph.add(Op::Constant(Array::full(shape, Value::from_f64(self.dtype, x))), &[])
    }

    fn integer(&mut self, x: i64) -> NodeId {
        self.graph.add(Op::Constant(Array::full(&[], Value::I64(x))), &[])
    }

    fn indices(&mut self, positions: impl Iterator<Item = usize>) -> NodeId {
        let positions: Vec<i64> = positions.map(|position| position as i64).collect();
        self.graph.add(Op::Constant(Array::I64(Data::from_vec(&[positions.len()], positions))), &[])
    }

    fn tables(&mut self, elimination: &Elimination) -> Tables {
        let of = |positions: &[u32]| positions.iter().map(|&position| position as usize).collect::<Vec<usize>>();
        Tables {
            starts: self.indices(elimination.starts.iter().copied()),
            rows: self.indices(of(&elimination.rows).into_iter()),
            row_starts: self.indices(elimination.row_starts.iter().copied()),
            row_columns: self.indices(of(&elimination.row_columns).into_iter()),
            places: self.indices(of(&elimination.places).into_iter()),
        }
    }

    /// The element, or the row, at a position.
    fn at(&mut self, array: NodeId, position: NodeId) -> NodeId {
        self.graph.add(Op::Gather, &[array, position])
    }

    /// The array with another element, or row, at a position.
    fn with(&mut self, array: NodeId, position: NodeId, value: NodeId) -> NodeId {
        self.graph.add(Op::ScatterSet, &[array, value, position])
    }

    fn next(&mut self, position: NodeId) -> NodeId {
        let one = self.integer(1);
        self.binary(Binary::Add, position, one)
    }

    /// Where the entries of a column, or row, begin and end.
    fn range(&mut self, starts: NodeId, number: NodeId) -> [NodeId; 2] {
        let next = self.next(number);
        [self.at(starts, number), self.at(starts, next)]
    }

    fn negative(&mut self, a: NodeId) -> NodeId {
        self.graph.add(Op::Unary(Unary::Neg), &[a])
    }

    fn product(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if self.parts == 1 {
            return self.binary(Binary::Mul, a, b);
        }
        let parts = self.parts;
        let shape = [parts, parts, parts];
        let one = |at: usize| {
            let (set, left, right) = (at / parts / parts, at / parts % parts, at % parts);
            if left | right == set && left & right == 0 { 1.0 } else { 0.0 }
        };
        let ones = (0..size(&shape)).map(one);
        let table = match self.dtype {
            DType::F32 => Array::F32(Data::from_vec(&shape, ones.map(|x| x as f32).collect())),
            _ => Array::F64(Data::from_vec(&shape, ones.collect())),
        };
        let table = self.graph.add(Op::Constant(table), &[]);
        let sum = |left: &[u8], result: &[u8]| {
            let last = left[left.len() - 1];
            Op::Contract(Contraction {
                left: left.iter().copied().collect(),
                right: [last].into_iter().collect(),
                result: result.iter().copied().collect(),
            })
        };
        let half = self.graph.add(sum(&[0, 1, 2], &[0, 1]), &[table, b]);
        self.graph.add(sum(&[0, 1], &[0]), &[half, a])
    }

    fn plus(&mut self, sum: NodeId, a: NodeId, b: NodeId) -> NodeId {
        let product = self.product(a, b);
        self.binary(Binary::Add, sum, product)
    }

    /// 1 over a number: with its value x and the rest r, (1 − r/x + (r/x)² − ..) / x, which ends, since the rest is nilpotent.
    fn reciprocal(&mut self, a: NodeId) -> NodeId {
        if self.parts == 1 {
            let one = self.full(&[1], 1.0);
            return self.binary(Binary::Div, one, a);
        }
        let (zero, shape) = (self.integer(0), [self.parts]);
        let value = self.at(a, zero);
        let value = self.graph.add(Op::View(AffineMap::broadcast(&[], &shape, &[])), &[value]);
        let ones = self.full(&shape, 1.0);
        let first = self.binary(Binary::Div, ones, value);
        let (nothing, nought, unit) = (self.full(&shape, 0.0), self.full(&[], 0.0), self.full(&[], 1.0));
        let unit = self.with(nothing, zero, unit);
        let rest = self.with(a, zero, nought);
        let ratio = self.binary(Binary::Mul, rest, first);
        let ratio = self.negative(ratio);
        let mut sum = unit;
        for _ in 0..self.parts.ilog2() {
            sum = self.plus(unit, ratio, sum);
        }
        self.binary(Binary::Mul, sum, first)
    }

    /// The body of a loop, which is given its carries, a position that is the carry or input after them, and captures.
    fn body(
        &self,
        carries: &[NodeId],
        captures: &[NodeId],
        step: &dyn Fn(&mut Writer, &[NodeId], NodeId, &[NodeId]) -> Vec<NodeId>,
    ) -> Arc<Body> {
        let position = Type::new(DType::I64, &[]);
        let ty = |&id: &NodeId| self.graph.ty(id).clone();
        let types: Vec<Type> = carries.iter().map(ty).chain([position]).chain(captures.iter().map(ty)).collect();
        let mut inner = Writer { graph: Graph::new(&types, captures.len()), ..*self };
        let parameters: Vec<NodeId> = (0..types.len() as NodeId).collect();
        let (own, rest) = parameters.split_at(carries.len());
        let results = step(&mut inner, own, rest[0], &rest[1..]);
        Arc::new(inner.graph.finish(&results))
    }

    fn outputs(&mut self, node: NodeId, count: usize) -> Vec<NodeId> {
        (0..count).map(|position| self.graph.add(Op::Output(position), &[node])).collect()
    }

    /// A loop over the columns of L, of which there are so many: its last carries. Captures are the tables, and these.
    fn columns(
        &mut self,
        (length, reverse): (usize, bool),
        carries: &[NodeId],
        captures: &[NodeId],
        step: &dyn Fn(&mut Writer, &[NodeId], NodeId, &[NodeId]) -> Vec<NodeId>,
    ) -> Vec<NodeId> {
        if length == 0 {
            return carries.to_vec();
        }
        let body = self.body(carries, captures, step);
        let scan = Scan { body, carries: carries.len(), inputs: 1, length, reverse };
        let steps = self.graph.add(Op::Iota(length), &[]);
        let node = self.graph.add(Op::Scan(Arc::new(scan)), &[carries, &[steps], captures].concat());
        self.outputs(node, carries.len())
    }

    /// A loop from a position up to another one: its last carries.
    fn between(
        &mut self,
        [start, end]: [NodeId; 2],
        carries: &[NodeId],
        captures: &[NodeId],
        step: &dyn Fn(&mut Writer, &[NodeId], NodeId, &[NodeId]) -> Vec<NodeId>,
    ) -> Vec<NodeId> {
        let all = [captures, &[end]].concat();
        let goes_on = self.body(carries, &all, &|writer, _, position, captures| {
            let end = captures[captures.len() - 1];
            vec![writer.graph.add(Op::Compare(Comparison::Less), &[position, end])]
        });
        let body = self.body(carries, &all, &|writer, own, position, captures| {
            let mut next = step(writer, own, position, captures);
            next.push(writer.next(position));
            next
        });
        let sweep = Sweep { body, carries: carries.len() + 1, inputs: 0, reads: Vec::new(), keeps: 0 };
        let sweeps =
            Sweeps { steps: Steps::While(goes_on), sweeps: vec![sweep], reverse: false, checkpoints: Checkpoints::All };
        let node = self.graph.add(Op::Sweeps(Arc::new(sweeps)), &[carries, &[start], &all].concat());
        self.outputs(node, carries.len())
    }

    /// The factor, a row of parts for each entry, of the values of the matrix and directions.
    fn factor(&mut self, elimination: &Elimination, values: &[NodeId]) -> NodeId {
        let (n, entries, parts) = (elimination.extent(), elimination.entries(), self.parts);
        let columns: Vec<NodeId> = (0..parts)
            .map(|part: usize| match part {
                0 => self.reshaped(values[0], &[entries, 1]),
                part if part.is_power_of_two() => {
                    self.reshaped(values[1 + part.trailing_zeros() as usize], &[entries, 1])
                }
                _ => self.full(&[entries, 1], 0.0),
            })
            .collect();
        let values = if parts == 1 { columns[0] } else { self.graph.add(Op::Concatenate(1), &columns) };
        // Both triangles count by half.
        let is_diagonal = elimination.transposed.iter().enumerate().map(|(entry, &other)| entry == other as usize);
        let is_diagonal = Array::Bool(Data::from_vec(&[entries], is_diagonal.collect()));
        let is_diagonal = self.graph.add(Op::Constant(is_diagonal), &[]);
        let is_diagonal =
            self.graph.add(Op::View(AffineMap::broadcast(&[entries], &[entries, parts], &[0])), &[is_diagonal]);
        let half = self.full(&[entries, parts], 0.5);
        let halves = self.binary(Binary::Mul, values, half);
        let values = self.graph.add(Op::Select, &[is_diagonal, values, halves]);
        let places = self.indices(elimination.entries.iter().map(|&place| place as usize));
        let extents = Shape::from_slice(&[elimination.factor_entries()]);
        let factor = self.graph.add(Op::Scatter(extents), &[values, places]);
        let work = self.full(&[n, parts], 0.0);
        let tables = self.tables(elimination).list();
        let results = self.columns((n, false), &[factor, work], &tables, &|writer, carries, column, captures| {
            writer.factor_column(carries, column, captures)
        });
        self.checked(elimination, results[0])
    }

    fn factor_column(&mut self, carries: &[NodeId], column: NodeId, captures: &[NodeId]) -> Vec<NodeId> {
        let tables = Tables::of(captures);
        let (factor, work) = (carries[0], carries[1]);
        let own = self.range(tables.starts, column);
        let captures = [captures, &[factor]].concat();
        let work = self.between(own, &[work], &captures, &|writer, carries, at, captures| {
            let row = writer.at(Tables::of(captures).rows, at);
            let value = writer.at(captures[5], at);
            vec![writer.with(carries[0], row, value)]
        });
        let left = self.range(tables.row_starts, column);
        let work = self.between(left, &work, &captures, &|writer, carries, at, captures| {
            let (tables, factor) = (Tables::of(captures), captures[5]);
            let (other, from) = (writer.at(tables.row_columns, at), writer.at(tables.places, at));
            let [start, end] = writer.range(tables.starts, other);
            let (value, pivot) = (writer.at(factor, from), writer.at(factor, start));
            let scale = writer.product(value, pivot);
            let scale = writer.negative(scale);
            let captures = [&captures[..6], &[scale]].concat();
            writer.between([from, end], carries, &captures, &|writer, carries, at, captures| {
                let row = writer.at(Tables::of(captures).rows, at);
                let (sum, value) = (writer.at(carries[0], row), writer.at(captures[5], at));
                let sum = writer.plus(sum, value, captures[6]);
                vec![writer.with(carries[0], row, sum)]
            })
        });
        let pivot = self.at(work[0], column);
        let inverse = self.reciprocal(pivot);
        let factor = self.with(factor, own[0], pivot);
        let below = [self.next(own[0]), own[1]];
        let captures = [&tables.list()[..], &[work[0], inverse]].concat();
        let factor = self.between(below, &[factor], &captures, &|writer, carries, at, captures| {
            let row = writer.at(Tables::of(captures).rows, at);
            let value = writer.at(captures[5], row);
            let value = writer.product(value, captures[6]);
            vec![writer.with(carries[0], at, value)]
        });
        vec![factor[0], work[0]]
    }

    /// The factor, or NaN where not all values on its diagonal are positive and finite.
    fn checked(&mut self, elimination: &Elimination, factor: NodeId) -> NodeId {
        let (n, shape) = (elimination.extent(), [elimination.factor_entries(), self.parts]);
        let starts = self.indices(elimination.starts[..n].iter().copied());
        let nought = self.full(&[n], 0.0);
        let first = self.graph.add(Op::Cast(DType::I64), &[nought]);
        let pivots = self.graph.add(Op::Gather, &[factor, starts, first]);
        let infinity = self.full(&[n], f64::INFINITY);
        let is_positive = self.graph.add(Op::Compare(Comparison::Greater), &[pivots, nought]);
        let is_finite = self.graph.add(Op::Compare(Comparison::Less), &[pivots, infinity]);
        let is_good = self.binary(Binary::And, is_positive, is_finite);
        let is_good = self.graph.add(Op::Cast(DType::I64), &[is_good]);
        let count = self.graph.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[is_good]);
        let all = self.integer(n as i64);
        let are_good = self.graph.add(Op::Compare(Comparison::Equal), &[count, all]);
        let are_good = self.graph.add(Op::View(AffineMap::broadcast(&[], &shape, &[])), &[are_good]);
        let nan = self.full(&shape, f64::NAN);
        self.graph.add(Op::Select, &[are_good, factor, nan])
    }

    /// The entries of the inverse, or the derivative along all directions, of a factor in rows of parts.
    fn inverse_entries(&mut self, elimination: &Elimination, factor: NodeId) -> NodeId {
        let (n, entries, parts) = (elimination.extent(), elimination.factor_entries(), self.parts);
        let (inverse, work) = (self.full(&[entries, parts], 0.0), self.full(&[n, parts], 0.0));
        let captures = [&self.tables(elimination).list()[..], &[factor]].concat();
        let results = self.columns((n, true), &[inverse, work], &captures, &|writer, carries, column, captures| {
            writer.inverse_column(carries, column, captures)
        });
        let places = self.indices(elimination.entries.iter().map(|&place| place as usize));
        let last = vec![parts - 1; elimination.entries()];
        let last = self.indices(last.into_iter());
        self.graph.add(Op::Gather, &[results[0], places, last])
    }

    fn inverse_column(&mut self, carries: &[NodeId], column: NodeId, captures: &[NodeId]) -> Vec<NodeId> {
        let (tables, factor) = (Tables::of(captures), captures[5]);
        let own = self.range(tables.starts, column);
        let pivot = self.at(factor, own[0]);
        let diagonal = self.reciprocal(pivot);
        let below = [self.next(own[0]), own[1]];
        let carries = [carries, &[diagonal]].concat();
        let results = self.between(below, &carries, captures, &|writer, carries, at, captures| {
            let (inverse, work, diagonal) = (carries[0], carries[1], carries[2]);
            let (sum, value) = (writer.at(inverse, at), writer.at(captures[5], at));
            let diagonal = writer.plus(diagonal, value, sum);
            let element = writer.negative(sum);
            let row = writer.at(Tables::of(captures).rows, at);
            vec![writer.with(inverse, at, element), writer.with(work, row, element), diagonal]
        });
        let diagonal = results[2];
        let inverse = self.with(results[0], own[0], diagonal);
        let work = self.with(results[1], column, diagonal);
        let left = self.range(tables.row_starts, column);
        let captures = [captures, &[work, diagonal]].concat();
        let inverse = self.between(left, &[inverse], &captures, &|writer, carries, at, captures| {
            let (tables, factor) = (Tables::of(captures), captures[5]);
            let (other, from) = (writer.at(tables.row_columns, at), writer.at(tables.places, at));
            let [_, end] = writer.range(tables.starts, other);
            let (scale, sum) = (writer.at(factor, from), writer.at(carries[0], from));
            let sum = writer.plus(sum, scale, captures[7]);
            let below = [writer.next(from), end];
            let captures = [&captures[..7], &[scale]].concat();
            let results = writer.between(below, &[carries[0], sum], &captures, &|writer, carries, at, captures| {
                let row = writer.at(Tables::of(captures).rows, at);
                let element = writer.at(captures[6], row);
                let (own, value) = (writer.at(carries[0], at), writer.at(captures[5], at));
                let own = writer.plus(own, captures[7], element);
                vec![writer.with(carries[0], at, own), writer.plus(carries[1], value, element)]
            });
            vec![writer.with(results[0], from, results[1])]
        });
        vec![inverse[0], work]
    }

    /// The solution for right sides in columns.
    fn solve(&mut self, elimination: &Elimination, factor: NodeId, b: NodeId) -> NodeId {
        let n = elimination.extent();
        let order = self.indices(elimination.order.iter().map(|&row| row as usize));
        let x = self.graph.add(Op::Gather, &[b, order]);
        let captures = [&self.tables(elimination).list()[..], &[factor]].concat();
        let along = |writer: &mut Writer, factor: NodeId, at: NodeId, row: NodeId| {
            let value = writer.at(factor, at);
            let shape = writer.graph.ty(row).shape.clone();
            let value = writer.graph.add(Op::View(AffineMap::broadcast(&[], &shape, &[])), &[value]);
            writer.binary(Binary::Mul, value, row)
        };
        let x = self.columns((n, false), &[x], &captures, &|writer, carries, column, captures| {
            let [start, end] = writer.range(Tables::of(captures).starts, column);
            let below = [writer.next(start), end];
            let row = writer.at(carries[0], column);
            let captures = [captures, &[row]].concat();
            writer.between(below, carries, &captures, &|writer, carries, at, captures| {
                let row = writer.at(Tables::of(captures).rows, at);
                let (own, change) = (writer.at(carries[0], row), along(writer, captures[5], at, captures[6]));
                let own = writer.binary(Binary::Sub, own, change);
                vec![writer.with(carries[0], row, own)]
            })
        });
        let x = self.columns((n, true), &x, &captures, &|writer, carries, column, captures| {
            let [start, end] = writer.range(Tables::of(captures).starts, column);
            let below = [writer.next(start), end];
            let row = writer.at(carries[0], column);
            let pivot = writer.at(captures[5], start);
            let shape = writer.graph.ty(row).shape.clone();
            let pivot = writer.graph.add(Op::View(AffineMap::broadcast(&[], &shape, &[])), &[pivot]);
            let row = writer.binary(Binary::Div, row, pivot);
            let captures = [captures, carries].concat();
            let row = writer.between(below, &[row], &captures, &|writer, carries, at, captures| {
                let row = writer.at(Tables::of(captures).rows, at);
                let other = writer.at(captures[6], row);
                let change = along(writer, captures[5], at, other);
                vec![writer.binary(Binary::Sub, carries[0], change)]
            });
            vec![writer.with(carries[0], column, row[0])]
        });
        let mut places = vec![0; n];
        elimination.order.iter().enumerate().for_each(|(position, &row)| places[row as usize] = position);
        let places = self.indices(places.into_iter());
        self.graph.add(Op::Gather, &[x[0], places])
    }
}
