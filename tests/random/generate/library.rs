//! Steps that write functions which the library composes of the primitive operations: running totals, reductions with an
//! operator, by segment, sorts, writes in all modes, convolutions, pooling, linear algebra, loops to bounds that move, functions that
//! are given by an equation.
//!
//! The function is staged with the library's own methods, and its term copied.

use super::{Writer, implicit, matrices, moving, windows};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type};
use deltaray::staged::{self, Staged, StagedArray};
use deltaray::tensor::{associative_scan_axis, associative_scan_reverse, linear_recurrence, reduce_axis};
use deltaray::term::NodeId;

/// The parts of the library that programs here use, by the names under which they are counted.
pub const LIBRARY: &[&str] = &[
    "running total",
    "product or logsumexp",
    "sort or the largest",
    "reduction with an operator",
    "scan with an operator",
    "reduction by segment",
    "write at positions",
    "read with a mask or a fill value",
    "fold",
    "map over an axis",
    "convolution",
    "pooling",
    "linear algebra",
    IMPLICIT,
    MOVING,
];

/// A loop that writes over an array that it reads up to a bound, or from one on.
pub(super) const MOVING: &str = "writes to a moving bound";

/// A function that is given by an equation.
const IMPLICIT: &str = "fixed point or root";
/// In bodies that run more often none is written: it takes dozens of steps.
const IMPLICIT_RUNS: usize = 6;

type Any<E> = TensorD<Staged, E>;
type Keys = Vector<Staged, i64>;

/// The random choices in a construct.
struct Choice {
    which: usize,
    axis: usize,
    offset: bool,
    count: usize,
}

/// The tensor of an array that has this element type.
fn tensor<E: Element, R: Rank>(array: &StagedArray) -> Tensor<Staged, E, R> {
    Tensor::from_array(array.clone()).expect("an array of this type")
}

fn segments(keys: &Keys, choice: &Choice, n: usize) -> Segments<Staged> {
    match choice.offset {
        true => Segments::by_offset(&keys.sort(0), n),
        false => Segments::by_key(keys, choice.count),
    }
}

/// An associative operator, of moderate numbers to moderate ones.
fn operator<E: Float>(which: usize) -> impl Fn(Any<E>, Any<E>) -> Any<E> {
    move |a, b| match which % 6 {
        0 => a * b,
        1 => a.max(&b),
        2 => a.logaddexp(&b),
        3 => b.min(&a),
        4 => a + b,
        _ => {
            let quarter = a.filled(0.25);
            &a + &b + a * b * quarter
        }
    }
}

/// A construct of a float array, another one of its shape, and as many keys as it has slices.
fn construct<E: Float>(name: &str, choice: &Choice, x: &Any<E>, y: &Any<E>, keys: &Keys) -> Any<E> {
    let (which, axis, n) = (choice.which, choice.axis, x.len());
    let slice = |at: usize| y.at(at).into_dyn();
    let fill: Scalar<Staged, E> = scalar(E::from_number(0.5));
    match name {
        "running total" => match which % 6 {
            0 => x.cumsum(axis),
            1 => x.cumprod(axis),
            2 => x.cummax(axis),
            3 => x.cumlogsumexp(axis),
            4 => x.cummin_reverse(axis),
            _ => linear_recurrence(&slice(0), x, y),
        },
        "product or logsumexp" => match which % 4 {
            0 => x.product_axis(axis),
            1 => x.logsumexp_axis(axis),
            2 => x.variance_axis(axis),
            _ => x.product().into_dyn(),
        },
        "sort or the largest" => match which % 3 {
            0 => x.sort(axis),
            1 => x.sort_descending(axis) * y,
            _ => x.top_k(choice.count.min(x.shape()[axis]), axis).0,
        },
        "reduction with an operator" => match which / 4 % 2 {
            0 => reduce_axis(axis, x.max_axis(axis), x, operator(which)),
            _ => {
                let pair = (x.clone(), y.clone());
                let (a, b) = reduce((slice(0), slice(0)), &pair, |(a, b), (c, d)| (&a * &c, b * c + d));
                a + b
            }
        },
        "scan with an operator" => match which / 4 % 3 {
            0 => associative_scan_axis(axis, x, operator(which)),
            1 => associative_scan_reverse(x, operator(which)),
            _ => associative_scan(&(x.clone(), y.clone()), |(a, b), (c, d)| (&a * &c, b * c + d)).1,
        },
        "reduction by segment" => {
            let segments = segments(keys, choice, n);
            match which % 6 {
                0 => x.segment_sum(&segments),
                1 => x.segment_product(&segments),
                // Empty segments have no largest element: programs keep to finite values.
                2 => y.scatter_max(segments.keys(), x),
                3 => x.segment_softmax(&segments),
                4 => reduce_segments(slice(0), &segments, x, operator(which / 6 + choice.count)),
                _ => x.segment_logsumexp(&segments).gather(segments.keys()).into_dyn() * y,
            }
        }
        "write at positions" => match which % 5 {
            0 => x.scatter_set(keys, y),
            1 => x.scatter_add(keys, y),
            2 => x.scatter_multiply(keys, y),
            3 => x.scatter_max(keys, y),
            _ => x.scatter_min(keys, y),
        },
        "read with a mask or a fill value" => match which % 2 {
            0 => x.gather_or(masked(&keys.not_equal(1), keys), fill).into_dyn(),
            _ => x.scatter_set(masked(&keys.gt(0), keys), y),
        },
        "fold" => match which % 2 {
            0 => fold(slice(0), x, |c, x| (c * x).sin()),
            _ => iterate(y.clone(), choice.count, |c| (c * x).tanh()),
        },
        "map over an axis" => vmap_axes(|row| (&row * row.sum()).into_dyn(), x, [axis], [axis]),
        "convolution" => windows::convolution(which, x, y),
        "pooling" => windows::pooling(which, x) * fill,
        "linear algebra" => matrices::composed(which, x, y),
        IMPLICIT => implicit::solution(which, x, y),
        MOVING => moving::written_to_bounds(which, x, y, keys),
        _ => unreachable!("a construct of the library"),
    }
}

impl Writer<'_> {
    /// Writes one construct of the library.
    pub(super) fn library(&mut self) {
        let name = self.random.pick(LIBRARY);
        self.of_library(name);
    }

    /// Writes this construct of the library.
    pub(super) fn of_library(&mut self, name: &'static str) {
        let dtype = self.style.floats[0];
        // In single precision an iteration ends where it converges, which rounding decides.
        if name == IMPLICIT && (dtype == DType::F32 || self.runs > IMPLICIT_RUNS) {
            return;
        }
        let least = if name == MOVING { moving::LEAST } else { 1 };
        let fits = |ty: &Type| ty.dtype == dtype && ty.rank() >= 1 && (least..=60).contains(&ty.size());
        let Some(x) = self.choose(fits) else { return };
        let ty = self.ty(x);
        // Products of several stay moderate.
        let x = self.tame(x, 1.5);
        let y = self.fit(&ty);
        let y = self.tame(y, 1.5);
        let keys = self.positions(&ty.shape[..1], ty.shape[0]);
        let choice = Choice {
            which: self.random.below(48),
            axis: self.random.below(ty.rank()),
            offset: self.random.chance(0.4),
            count: self.random.whole(1, 4) as usize,
        };
        let types: Vec<Type> = [x, y, keys].iter().map(|&id| self.ty(id)).collect();
        let body = staged::stage(&types, |arrays| {
            let keys = tensor(&arrays[2]);
            let result = match dtype {
                DType::F32 => {
                    construct::<f32>(name, &choice, &tensor(&arrays[0]), &tensor(&arrays[1]), &keys).into_array()
                }
                _ => construct::<f64>(name, &choice, &tensor(&arrays[0]), &tensor(&arrays[1]), &keys).into_array(),
            };
            vec![result]
        });
        let body = body.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut ids: Vec<NodeId> = vec![x, y, keys];
        let bound = 1.5f64.powi(ty.shape.iter().copied().max().unwrap_or(1) as i32) * ty.size() as f64;
        for node in &body.nodes()[body.arity()..] {
            let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            let bound = if node.types[0].dtype.is_float() { bound } else { 60.0 };
            ids.push(self.add(node.op.clone(), &args, bound));
        }
        if body.node_count() > body.arity() {
            self.wrote.insert(name);
        }
    }
}
