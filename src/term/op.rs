//! The term language: its operations, and the bodies, loops and functions that these are made of.

use crate::affine::AffineMap;
use crate::array;
use crate::operation::{
    Binary, Comparison, Contraction, Extreme, MatrixOperation, Order, Reduction, SparseOperation, Unary,
};
use crate::shape::{Axes, DType, Shape, Type};
use crate::term::hash::BodyFacts;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// The operations that a form of the language has beyond the bulk operations. There are two forms, [`Never`] and [`Build`];
/// others can't be added.
pub trait Extension: sealed::Sealed + Clone + PartialEq + Eq + Hash + Debug + Send + Sync + 'static {
    /// The extra operation as a `build`, if it is one.
    fn as_build(&self) -> &Build;

    /// The body of the extra operation, in its own form of the language.
    #[doc(hidden)]
    fn body(&self) -> &Arc<Body<Self>>;

    /// The program as a source program. Code that is not worth compiling for both forms reads this one.
    #[doc(hidden)]
    fn widened(body: &Body<Self>) -> Cow<'_, Body<Build>>;
}

mod sealed {
    /// Bodies are well formed whoever builds them, so no one else may define the content of an operation.
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

    fn widened(body: &Body) -> Cow<'_, Body<Build>> {
        Cow::Owned(body.widen())
    }
}

/// The extension of the source language (P 3.2): `build`, an array given element by element.
///
/// The body's parameters are one rank-0 `i64` for each extent, then the captures, which are the operation's operands. Its
/// one result has any shape; the built array's shape is `extents ++` that shape. With several extents it stands for
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

    fn widened(body: &Body<Build>) -> Cow<'_, Body<Build>> {
        Cow::Borrowed(body)
    }
}

/// Position of a node in its arena.
pub type NodeId = u32;

/// An operation on earlier nodes of the arena.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node<X = Never> {
    /// The operation.
    pub op: Op<X>,
    /// The operands, all of smaller position.
    pub args: SmallVec<[NodeId; 3]>,
    /// The types of the outputs: a single one, except for loops and conditionals.
    pub types: SmallVec<[Type; 1]>,
}

impl<X> Node<X> {
    /// The type of a node with one output.
    pub fn ty(&self) -> &Type {
        debug_assert_eq!(self.types.len(), 1);
        &self.types[0]
    }
}

/// A closed program: its nodes refer to nothing outside.
///
/// The arena begins with a [`Op::Parameter`] node for every parameter and capture, in order; operands come before their
/// users; results may repeat and may be parameters.
///
/// Bodies are nested [`MAX_NESTING`](crate::term::MAX_NESTING) deep at most, and with those nested in them, of each as often as it
/// stands there, hold [`MAX_NESTED_NODES`](crate::term::MAX_NESTED_NODES) nodes.
///
/// A body is well formed, and so are those nested in it: [`Body::new`] and [`Graph`](crate::term::Graph) check every node, and nothing changes a
/// body afterwards. Engines and exporters rely on that.
#[derive(Clone, Debug)]
pub struct Body<X = Never> {
    /// How many of the leading parameter nodes are proper parameters.
    pub(crate) parameters: usize,
    /// How many parameter nodes after those are captures.
    pub(crate) captures: usize,
    /// The arena, in topological order.
    pub(crate) nodes: Vec<Node<X>>,
    /// The nodes whose values are returned.
    pub(crate) results: Vec<NodeId>,
    /// The contents of the nodes, and of the bodies nested in them.
    pub(crate) content: Content,
    /// Facts about all this, computed on demand once a body is shared and no longer changes.
    pub(crate) known: BodyFacts,
}

/// The contents of the nodes of a body and of those nested in it, taken together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Content {
    /// The depth of nested bodies.
    pub(crate) nesting: usize,
    /// The number of nodes, with those of a nested body counted each time it occurs. Saturates.
    pub(crate) nodes: usize,
    /// The bytes of the constants that are not one repeated value.
    pub(crate) constant_bytes: usize,
    /// Whether some node concerns differentiation only.
    pub(crate) has_marks: bool,
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

/// The values that a loop keeps of its steps for its derivative; the others are recomputed. Values and derivatives are the same
/// for every choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Checkpoints {
    /// All values that the derivative of any step needs.
    All,
    /// The carries before every so many steps, at least one. From there the steps up to the next checkpoint are run again, and
    /// keep everything that their derivatives need.
    Every(usize),
    /// The carries before at most so many steps at a time, at least one; the first is the loop's beginning. They are placed
    /// where the fewest steps are run again (Griewank and Walther's binomial schedule): to go back over n ≤ C(s + r, s) steps
    /// with s snapshots, r n − C(s + r, r − 1) steps are run in addition to the n steps that keep everything, one at a time.
    Snapshots(usize),
    /// As [`Checkpoints::All`], while that takes at most so many bytes. Otherwise half of the bytes hold as many snapshots as
    /// fit, and the other half the complete values of as many steps at a time as fit; at least one of each.
    Bytes(usize),
}

/// How many steps a loop has.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Steps<X = Never> {
    /// So many.
    Count(usize),
    /// Steps run while this body results in `true`. Its parameters are the first sweep's carries; it has the captures of all
    /// bodies.
    While(Arc<Body<X>>),
}

/// One pass over the steps of a loop.
///
/// The body's parameters are the sweep's carries, one slice of each of its inputs, and the values that it reads of those that
/// earlier sweeps kept of the same step; all bodies have the same captures. Its results are the next carries, the values that
/// it keeps of the step, and one slice of each output.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sweep<X = Never> {
    /// One step.
    pub body: Arc<Body<X>>,
    /// Number of carries.
    pub carries: usize,
    /// Number of inputs that are read step by step; none in a loop with a condition.
    pub inputs: usize,
    /// An earlier sweep, and a position among the values that it keeps of a step. Each pair occurs once in the whole loop.
    pub reads: Vec<(usize, usize)>,
    /// Number of values that are kept of a step.
    pub keeps: usize,
}

/// A loop that is swept several times, forwards and backwards in turn.
///
/// Values that a sweep keeps of a step are read by later sweeps at the same step. This is how the derivative of such a loop is
/// such a loop again: the gradient of a loop of one sweep has a second one, which goes back over the steps with the cotangents.
/// The number of steps need not be known in advance: kept values never leave the loop, and the engine stores or recomputes
/// them, as [`Checkpoints`] say. A loop and its derivative, which goes over the steps anew, share only the last carries that
/// steps change by writes: the derivative takes these writes back, so a step keeps the elements that it writes over. (The
/// engine for processors runs the steps once for both.)
///
/// The operands are, for each sweep, its first carries and its inputs (with a new outer axis of the number of steps), and
/// then the captures of all bodies. The outputs are, for each sweep, its last carries and its stacked outputs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sweeps<X = Never> {
    /// The number of steps.
    pub steps: Steps<X>,
    /// The first goes over the steps in their order, the second in the opposite one, and so on.
    pub sweeps: Vec<Sweep<X>>,
    /// Whether step 0 reads and writes the last slice, and so on downwards.
    pub reverse: bool,
    /// The values kept of the steps.
    pub checkpoints: Checkpoints,
}

/// A function and its derivative rules, one at least: closed bodies without captures.
///
/// The operation's operands are the function's parameters, its outputs the function's results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Custom<X = Never> {
    /// The function.
    pub value: Arc<Body<X>>,
    /// From the parameters, the results and a cotangent of each result to a cotangent of each parameter. Entries for integers
    /// and booleans are ignored.
    pub vjp: Option<Arc<Body<X>>>,
    /// From the parameters, the results and a tangent of each parameter to a tangent of each result. Entries for integers and
    /// booleans are ignored.
    pub jvp: Option<Arc<Body<X>>>,
}

/// An operation. It means the same as the method of [`Algebra`](crate::algebra::Algebra) with the same name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
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
    /// Operands concatenated along an axis.
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
    /// Linear algebra on the matrices that the last two axes are.
    Matrix(MatrixOperation),
    /// Linear algebra on sparse matrices, whose entries are the last axis.
    Sparse(SparseOperation),
    /// A rolled loop, of several outputs.
    Scan(Arc<Scan<X>>),
    /// A lazy conditional, of several outputs.
    Branch(Arc<Branch<X>>),
    /// A loop with several sweeps, of several outputs.
    Sweeps(Arc<Sweeps<X>>),
    /// A function with derivative rules of its own, of several outputs.
    Custom(Arc<Custom<X>>),
    /// One output of the operand, which has several.
    Output(usize),
    /// The operand, under a new identity: the point of a derivative taken inside a staged program.
    Alias,
    /// The operand; marks its derivative as one of a chosen branch.
    Mark,
    /// The additional operation of the language's form: `build`, or nothing.
    Extra(X),
}

impl<X> Op<X> {
    /// Whether the operation has several outputs, which [`Op::Output`] picks from.
    pub fn is_multiple(&self) -> bool {
        matches!(self, Op::Scan(_) | Op::Branch(_) | Op::Sweeps(_) | Op::Custom(_))
    }

    /// The transpose of an operation of linear algebra that is linear in its last operand, as a map of that. Those on sparse matrices
    /// are their own: the matrices are symmetric, and so are the derivatives of the inverse.
    pub(crate) fn transposed(self) -> Op<X> {
        match self {
            Op::Matrix(op) => Op::Matrix(op.transposed()),
            op => op,
        }
    }

    /// Whether it solves a system of equations, whose right sides, in columns, are the last operand.
    pub(crate) fn is_system(&self) -> bool {
        match self {
            Op::Matrix(op) => op.is_system(),
            Op::Sparse(op) => op.is_system(),
            _ => false,
        }
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
            Op::Matrix(op) => Op::Matrix(*op),
            Op::Sparse(op) => Op::Sparse(op.clone()),
            Op::Output(position) => Op::Output(*position),
            Op::Alias => Op::Alias,
            Op::Mark => Op::Mark,
            Op::Scan(_) | Op::Branch(_) | Op::Sweeps(_) | Op::Custom(_) | Op::Extra(_) => return None,
        })
    }
}

impl<X: Extension> Op<X> {
    /// The bodies of a loop, a conditional or a custom function; the body of a `build` is not included.
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

    /// The bodies of the operation, including the body of a `build`.
    pub(crate) fn all_bodies(&self) -> SmallVec<[&Arc<Body<X>>; 2]> {
        match self {
            Op::Extra(extra) => smallvec![extra.body()],
            op => op.bodies(),
        }
    }
}
