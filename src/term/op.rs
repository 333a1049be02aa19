//! The operations of the term language.

use crate::affine::AffineMap;
use crate::array;
use crate::operation::{Binary, Comparison, Contraction, Extreme, Order, Reduction, Unary};
use crate::shape::{Axes, DType, Shape};
use crate::term::body::Widened;
use crate::term::sweeps::Sweeps;
use crate::term::{Body, Custom};
use smallvec::{SmallVec, smallvec};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// What a form of the language has beyond the bulk operations. There are two, [`Never`] and [`Build`]; others can't be added.
pub trait Extension: sealed::Sealed + Clone + PartialEq + Eq + Hash + Debug + Send + Sync + 'static {
    /// The extra operation as a `build`, if it is one.
    fn as_build(&self) -> &Build;

    /// The body of the extra operation, in its own form of the language.
    #[doc(hidden)]
    fn body(&self) -> &Arc<Body<Self>>;
}

mod sealed {
    /// Bodies are well formed whoever builds them, so nobody else says what an operation has in it.
    pub trait Sealed {}
    impl Sealed for super::Never {}
    impl Sealed for super::Build {}
}

/// The extension of the bulk language: none, a type without values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Never {}

impl Extension for Never {
    fn as_build(&self) -> &Build {
        match *self {}
    }

    fn body(&self) -> &Arc<Body> {
        match *self {}
    }
}

/// The extension of the source language (P 3.2): `build`, an array given element by element.
///
/// The body's parameters are one rank-0 `i64` for each extent, then the captures, which are the operation's operands. Its
/// one result has any shape; the built array's shape is `extents ++` that shape. Of several extents the body's result is
/// `build1 n1 (λi1. build1 n2 (λi2. ..))`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Build {
    /// The extents of the new outer axes.
    pub extents: Shape,
    /// One element.
    pub body: Arc<Body<Build>>,
}

impl Extension for Build {
    fn as_build(&self) -> &Build {
        self
    }

    fn body(&self) -> &Arc<Body<Build>> {
        &self.body
    }
}

/// A rolled loop.
///
/// The body's parameters are the carries, one slice of each input, and the captures; its results are the next carries, of
/// the same types, and one slice of each output. The operation's operands are the first carries, the inputs (with a new
/// outer axis of extent `length`), and the captures. Its outputs are the last carries and the stacked outputs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Scan<X = Never> {
    /// One step.
    pub body: Arc<Body<X>>,
    /// Number of carries.
    pub carries: usize,
    /// Number of inputs that are read step by step.
    pub inputs: usize,
    /// Number of steps.
    pub length: usize,
    /// Whether step 0 reads and writes the last slice, and so on downwards.
    pub reverse: bool,
}

/// A conditional that runs one side only: its operands are a rank-0 boolean and the captures, which both bodies take.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Branch<X = Never> {
    /// The side for `true`.
    pub then: Arc<Body<X>>,
    /// The side for `false`; its results have the same types.
    pub otherwise: Arc<Body<X>>,
}

/// An operation. Its meaning is that of the method of [`Algebra`](crate::algebra::Algebra) with the same name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op<X = Never> {
    /// The parameter of the body at this position; captures follow the proper parameters.
    Parameter(usize),
    /// A known array.
    Constant(array::Array),
    /// `[0, 1, .., n-1]`.
    Iota(usize),
    /// Elementwise, one operand.
    Unary(Unary),
    /// Elementwise, two operands.
    Binary(Binary),
    /// Elementwise comparison.
    Compare(Comparison),
    /// Elementwise choice: mask, yes, no.
    Select,
    /// Conversion of the element type.
    Cast(DType),
    /// An affine read.
    View(AffineMap),
    /// An affine add, the adjoint of a view.
    Accumulate(AffineMap),
    /// Another shape of the same size.
    Reshape(Shape),
    /// Operands one after the other along an axis.
    Concatenate(usize),
    /// Reads at computed positions: array, then index arrays.
    Gather,
    /// Adds at computed positions, with the extents of the indexed axes: updates, then index arrays.
    Scatter(Shape),
    /// Writes at computed positions: target, updates, then index arrays.
    ScatterSet,
    /// Reduces over ascending axes.
    Reduce(Reduction, Axes),
    /// Position of an extreme along an axis.
    ArgReduce(Extreme, usize),
    /// Positions along an axis in the order of their elements.
    ArgSort(Order, usize),
    /// A sum of products.
    Contract(Contraction),
    /// A rolled loop, of several outputs.
    Scan(Arc<Scan<X>>),
    /// A lazy conditional, of several outputs.
    Branch(Arc<Branch<X>>),
    /// A loop that is gone through several times, of several outputs.
    Sweeps(Arc<Sweeps<X>>),
    /// A function with derivative rules of its own, of several outputs.
    Custom(Arc<Custom<X>>),
    /// One output of the operand, which has several.
    Output(usize),
    /// The operand, under a new identity: the point of a derivative taken inside a staged program.
    Alias,
    /// The operand; marks its derivative as one of a chosen branch.
    Mark,
    /// What the form of the language has in addition: `build`, or nothing.
    Extra(X),
}

impl<X> Op<X> {
    /// Whether the operation has several outputs, which [`Op::Output`] picks from.
    pub fn is_multiple(&self) -> bool {
        matches!(self, Op::Scan(_) | Op::Branch(_) | Op::Sweeps(_) | Op::Custom(_))
    }
}

impl<X> Op<X> {
    /// The operation in another form of the language; `None` where it has bodies.
    pub(crate) fn in_form<Y>(&self) -> Option<Op<Y>> {
        Some(match self {
            Op::Parameter(position) => Op::Parameter(*position),
            Op::Constant(array) => Op::Constant(array.clone()),
            Op::Iota(n) => Op::Iota(*n),
            Op::Unary(op) => Op::Unary(*op),
            Op::Binary(op) => Op::Binary(*op),
            Op::Compare(op) => Op::Compare(*op),
            Op::Select => Op::Select,
            Op::Cast(dtype) => Op::Cast(*dtype),
            Op::View(map) => Op::View(map.clone()),
            Op::Accumulate(map) => Op::Accumulate(map.clone()),
            Op::Reshape(shape) => Op::Reshape(shape.clone()),
            Op::Concatenate(axis) => Op::Concatenate(*axis),
            Op::Gather => Op::Gather,
            Op::Scatter(extents) => Op::Scatter(extents.clone()),
            Op::ScatterSet => Op::ScatterSet,
            Op::Reduce(op, axes) => Op::Reduce(*op, axes.clone()),
            Op::ArgReduce(op, axis) => Op::ArgReduce(*op, *axis),
            Op::ArgSort(order, axis) => Op::ArgSort(*order, *axis),
            Op::Contract(spec) => Op::Contract(spec.clone()),
            Op::Output(position) => Op::Output(*position),
            Op::Alias => Op::Alias,
            Op::Mark => Op::Mark,
            Op::Scan(_) | Op::Branch(_) | Op::Sweeps(_) | Op::Custom(_) | Op::Extra(_) => return None,
        })
    }
}

impl<X: Extension> Op<X> {
    /// The bodies of a loop, a conditional or a custom function. That of a `build` is not among them.
    pub(crate) fn bodies(&self) -> SmallVec<[&Arc<Body<X>>; 2]> {
        match self {
            Op::Scan(scan) => smallvec![&scan.body],
            Op::Branch(branch) => smallvec![&branch.then, &branch.otherwise],
            Op::Sweeps(sweeps) => sweeps.bodies().collect(),
            Op::Custom(custom) => custom.bodies().collect(),
            _ => SmallVec::new(),
        }
    }

    /// The same operation with other bodies, asked for in the order of [`Op::bodies`].
    pub(crate) fn map_bodies(&self, mut change: impl FnMut(&Arc<Body<X>>) -> Arc<Body<X>>) -> Op<X> {
        match self {
            Op::Scan(scan) => Op::Scan(Arc::new(Scan { body: change(&scan.body), ..Scan::clone(scan) })),
            Op::Branch(branch) => {
                let (then, otherwise) = (change(&branch.then), change(&branch.otherwise));
                Op::Branch(Arc::new(Branch { then, otherwise }))
            }
            Op::Sweeps(sweeps) => Op::Sweeps(Arc::new(sweeps.map_bodies(change))),
            Op::Custom(custom) => Op::Custom(Arc::new(custom.map(change))),
            op => op.clone(),
        }
    }

    /// The bodies of the operation, that of a `build` too.
    pub(crate) fn all_bodies(&self) -> SmallVec<[&Arc<Body<X>>; 2]> {
        match self {
            Op::Extra(extra) => smallvec![extra.body()],
            op => op.bodies(),
        }
    }
}

impl Op {
    /// The bulk operation as one of the source language.
    pub(crate) fn widen(&self, known: &mut Widened) -> Op<Build> {
        match self {
            Op::Scan(scan) => Op::Scan(Arc::new(Scan {
                body: known.of(&scan.body),
                carries: scan.carries,
                inputs: scan.inputs,
                length: scan.length,
                reverse: scan.reverse,
            })),
            Op::Branch(branch) => {
                Op::Branch(Arc::new(Branch { then: known.of(&branch.then), otherwise: known.of(&branch.otherwise) }))
            }
            Op::Custom(custom) => Op::Custom(Arc::new(custom.map(|body| known.of(body)))),
            Op::Sweeps(sweeps) => Op::Sweeps(Arc::new(sweeps.map_bodies(|body| known.of(body)))),
            op => op.in_form().expect("an operation without bodies"),
        }
    }
}
