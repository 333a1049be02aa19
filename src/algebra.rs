//! The type class of arrays: the operations of an instance. This module is for extending the library, and may change between
//! minor versions.
//!
//! An array of an [`Algebra`] is untyped: element type and shape are values. Users hold a [`Tensor`](crate::tensor::Tensor),
//! which adds element type and rank as types, checks shapes, and broadcasts; so an instance may rely on operands that fit (the
//! shape rules are in [`crate::term::infer`]).

mod custom;
mod rooms;

use crate::affine::AffineMap;
use crate::array;
use crate::error::Error;
use crate::operation::{Binary, Comparison, Unary};
pub use crate::operation::{
    Contraction, Extreme, Label, MatrixOperation, Order, Reduction, SparseOperation, SpectralFunction, Triangle,
};
use crate::shape::{Axes, DType, Shape, Type, Value};
use crate::term::{Arrays, Body, Build, Custom, Op, Scan, Sweeps, interpret_source, reference};
use smallvec::smallvec;
use std::rc::Rc;
use std::sync::Arc;

/// Takes the cotangents of the outputs, `None` where there is none, and returns those of the inputs, zeros included.
/// Callable many times.
pub type Pullback<A> = Box<dyn Fn(Vec<Option<<A as Algebra>::Array>>) -> Vec<<A as Algebra>::Array>>;

/// The operands of one operation.
pub type Operands<A> = Arrays<<A as Algebra>::Array>;

/// A closed body, and the arrays that it captures.
pub type CapturedBody<A> = (Arc<Body<Build>>, Vec<<A as Algebra>::Array>);

/// Which derivative a rule gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DerivativeRule {
    /// From the inputs, the outputs and cotangents of the outputs to cotangents of the inputs.
    Vjp,
    /// From the inputs, the outputs and tangents of the inputs to tangents of the outputs.
    Jvp,
}

/// A function of arrays with derivative rules of its own, one at least, in every algebra. Users write
/// [`CustomVjp`](crate::derivative::CustomVjp) and its relatives.
///
/// Rules are linear in cotangents and tangents. There is an array for every input and output, also for integers
/// and booleans, whose values are ignored.
pub trait CustomFunction: Clone + Send + Sync + 'static {
    /// The function.
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array>;
    /// Whether there is a rule.
    fn has(&self, rule: DerivativeRule) -> bool;
    /// A rule that there is, given the inputs, the outputs there, and cotangents or tangents.
    fn rule<A: Algebra>(
        &self,
        rule: DerivativeRule,
        inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array>;
    /// The function as a bulk program, if it is one.
    fn bulk(&self) -> Option<&Arc<Custom>> {
        None
    }
}

/// A function on arrays that can be kept, and run again.
pub type StoredFunction<A> = Rc<dyn Fn(Vec<<A as Algebra>::Array>) -> Vec<<A as Algebra>::Array>>;

/// An array of the algebra under a reverse derivative.
pub type NestedArray<A> = <<A as Algebra>::Nested as Algebra>::Array;

/// An array of the algebra under a forward derivative.
pub type ForwardArray<A> = <<A as Algebra>::Forward as Algebra>::Array;

/// The array type class.
///
/// Operands come by value, so that an instance can reuse the buffer of one that nobody else holds. Shapes fit: callers
/// check. All instances agree on the semantics: a read out of bounds is 0 with derivative 0, a write out of bounds is
/// ignored, integer arithmetic wraps.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an algebra",
    note = "the first parameter of an array is its algebra: plain ones are `Vector<Concrete, f64>`, those of a function or a \
            struct that is generic over `A: Algebra` are `Vector<A, f64>`",
    note = "`#[differentiable]` on the function adds it: below that, `Vector<f64>` is written"
)]
pub trait Algebra: Clone + std::fmt::Debug + 'static {
    /// An array of any shape and element type; a handle that is cheap to clone.
    type Array: Clone + 'static;
    /// The algebra in which the function under a reverse derivative runs.
    type Nested: Algebra;
    /// The algebra in which the function under a forward derivative runs.
    type Forward: Algebra;

    /// The element type of an array.
    fn dtype(a: &Self::Array) -> DType;
    /// The shape of an array.
    fn shape(a: &Self::Array) -> Shape;
    /// Whether two arrays have one shape.
    fn same_shape(a: &Self::Array, b: &Self::Array) -> bool {
        Self::shape(a) == Self::shape(b)
    }
    /// The element type and shape of an array.
    fn type_of(a: &Self::Array) -> Type {
        Type { dtype: Self::dtype(a), shape: Self::shape(a) }
    }

    /// A known array; it has no derivative.
    fn constant(value: array::Array) -> Self::Array;
    /// Zeros of a type, or `false`s.
    fn zeros(ty: &Type) -> Self::Array {
        Self::constant(array::Array::zeros(ty))
    }
    /// An operation on its operands, in the order that [`Op`] says. It has one result and no sub-program, and is no constant.
    ///
    /// This is the one way through which operations go; the methods below are their names.
    fn bind(op: &Op, operands: Operands<Self>) -> Self::Array;

    /// `[0, 1, .., n-1]`, of `i64`.
    #[track_caller]
    fn iota(n: usize) -> Self::Array {
        Self::bind(&Op::Iota(n), smallvec![])
    }

    /// An elementwise operation of one operand.
    #[track_caller]
    fn unary(op: Unary, a: Self::Array) -> Self::Array {
        Self::bind(&Op::Unary(op), smallvec![a])
    }
    /// An elementwise operation of two operands of one type.
    #[track_caller]
    fn binary(op: Binary, a: Self::Array, b: Self::Array) -> Self::Array {
        Self::bind(&Op::Binary(op), smallvec![a, b])
    }
    /// An elementwise comparison of two operands of one type; the result is boolean.
    #[track_caller]
    fn compare(op: Comparison, a: Self::Array, b: Self::Array) -> Self::Array {
        Self::bind(&Op::Compare(op), smallvec![a, b])
    }
    /// Where the mask is true the first, else the second; all of one shape. Values and derivatives of the side not taken
    /// are without influence.
    #[track_caller]
    fn select(mask: Self::Array, yes: Self::Array, no: Self::Array) -> Self::Array {
        Self::bind(&Op::Select, smallvec![mask, yes, no])
    }
    /// Conversion of the element type: floats to integers saturate and truncate, NaN becomes 0, `i64` to `i32` wraps, non-zero becomes
    /// `true`.
    #[track_caller]
    fn cast(a: Self::Array, dtype: DType) -> Self::Array {
        Self::bind(&Op::Cast(dtype), smallvec![a])
    }

    /// `result[j] = a[matrix · j + offset]`, 0 outside.
    #[track_caller]
    fn view(a: Self::Array, map: &AffineMap) -> Self::Array {
        Self::bind(&Op::View(map.clone()), smallvec![a])
    }
    /// The adjoint of [`Algebra::view`]: from an array of the map's *result* shape, one of its *source* shape, to which
    /// every element is added at the position that the view reads for it.
    #[track_caller]
    fn accumulate(a: Self::Array, map: &AffineMap) -> Self::Array {
        Self::bind(&Op::Accumulate(map.clone()), smallvec![a])
    }
    /// The same elements, row-major, in another shape of the same size.
    #[track_caller]
    fn reshape(a: Self::Array, shape: &[usize]) -> Self::Array {
        Self::bind(&Op::Reshape(Shape::from_slice(shape)), smallvec![a])
    }
    /// Concatenates arrays along an axis: at least one part, with equal extents along the other axes.
    #[track_caller]
    fn concatenate(axis: usize, parts: Vec<Self::Array>) -> Self::Array {
        Self::bind(&Op::Concatenate(axis), parts.into())
    }
    /// `result[s, r] = a[indices[0][s], .., indices[k-1][s], r]`: `indices` are `i64` arrays of one shape that index the
    /// outer axes of `a`; 0 outside. The result's shape is that shape, then the axes of `a` that are not indexed.
    #[track_caller]
    fn gather(a: Self::Array, indices: Vec<Self::Array>) -> Self::Array {
        Self::bind(&Op::Gather, std::iter::once(a).chain(indices).collect())
    }
    /// The adjoint of [`Algebra::gather`]: zeros of shape `extents ++ r`, to which `updates[s, r]` is added at position
    /// `[indices[0][s], .., r]`; updates outside are ignored. Booleans are combined by or.
    #[track_caller]
    fn scatter(updates: Self::Array, indices: Vec<Self::Array>, extents: &[usize]) -> Self::Array {
        Self::bind(&Op::Scatter(Shape::from_slice(extents)), std::iter::once(updates).chain(indices).collect())
    }
    /// `target` with `updates[s, r]` written at position `[indices[0][s], .., indices[k-1][s], r]`, of several at one position
    /// the last in row-major order; updates outside are ignored. The updates have the shape that [`Algebra::gather`] reads at
    /// the positions. The derivative goes to the updates that are there afterwards, and to the rest of the target.
    #[track_caller]
    fn scatter_set(target: Self::Array, updates: Self::Array, indices: Vec<Self::Array>) -> Self::Array {
        Self::bind(&Op::ScatterSet, [target, updates].into_iter().chain(indices).collect())
    }
    /// Whether these positions are obviously distinct. Others may be distinct too.
    fn are_distinct(_positions: &[Self::Array]) -> bool {
        false
    }
    /// Reduces over axes, which are ascending, and removes them.
    #[track_caller]
    fn reduce(op: Reduction, a: Self::Array, axes: &[usize]) -> Self::Array {
        Self::bind(&Op::Reduce(op, axes.into()), smallvec![a])
    }
    /// The position of an extreme along an axis, as `i64`; 0 when the axis is empty.
    #[track_caller]
    fn arg_reduce(op: Extreme, a: Self::Array, axis: usize) -> Self::Array {
        Self::bind(&Op::ArgReduce(op, axis), smallvec![a])
    }
    /// The positions along an axis in the order of their elements; equal elements keep their order. `i64`, of the array's
    /// shape.
    #[track_caller]
    fn arg_sort(order: Order, a: Self::Array, axis: usize) -> Self::Array {
        Self::bind(&Op::ArgSort(order, axis), smallvec![a])
    }
    /// A sum of products with labelled axes; floats and integers.
    #[track_caller]
    fn contract(spec: &Contraction, a: Self::Array, b: Self::Array) -> Self::Array {
        Self::bind(&Op::Contract(spec.clone()), smallvec![a, b])
    }
    /// Linear algebra on the matrices that the last two axes are; floats.
    #[track_caller]
    fn matrix(op: MatrixOperation, operands: Operands<Self>) -> Self::Array {
        Self::bind(&Op::Matrix(op), operands)
    }
    /// Linear algebra on sparse matrices, whose entries are the last axis; floats.
    #[track_caller]
    fn sparse(op: SparseOperation, operands: Operands<Self>) -> Self::Array {
        Self::bind(&Op::Sparse(op), operands)
    }

    /// `target + scatter(updates, indices)`, in place where the instance can.
    #[track_caller]
    fn scatter_onto(target: Self::Array, updates: Self::Array, indices: Vec<Self::Array>) -> Self::Array {
        let shape = Self::shape(&target);
        let extents = Shape::from_slice(&shape[..indices.len()]);
        Self::binary(Binary::Add, target, Self::scatter(updates, indices, &extents))
    }
    /// `target + accumulate(updates, map)`, in place where the instance can.
    #[track_caller]
    fn accumulate_onto(target: Self::Array, updates: Self::Array, map: &AffineMap) -> Self::Array {
        Self::binary(Binary::Add, target, Self::accumulate(updates, map))
    }

    /// A rolled loop over a closed body: final carries, then the stacked outputs. See [`Scan`].
    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<Self::Array>,
        inputs: Vec<Self::Array>,
        captures: Vec<Self::Array>,
    ) -> Vec<Self::Array>;
    /// Runs one of two closed bodies of the same signature; `condition` is a rank-0 boolean.
    fn branch(
        condition: Self::Array,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<Self::Array>,
    ) -> Vec<Self::Array>;

    /// A function whose derivatives are taken by its own rules. An algebra without derivatives just runs it.
    fn custom<F: CustomFunction>(function: &F, inputs: Vec<Self::Array>) -> Vec<Self::Array> {
        function.value::<Self>(inputs)
    }

    /// A loop with several sweeps, on its operands in one list: see [`Sweeps`].
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<Self::Array>) -> Vec<Self::Array>;

    /// The node that an array is, where programs are written down to be differentiated.
    #[doc(hidden)]
    fn recorded(_: &Self::Array) -> Option<crate::term::NodeId> {
        None
    }

    /// The number of the node that an array stands for where a closure is traced, in eager algebras.
    #[doc(hidden)]
    fn node(_: &Self::Array) -> Option<u64> {
        None
    }
    /// The array with a node, in eager algebras; it has no derivative.
    #[doc(hidden)]
    fn with_node(a: Self::Array, _: u64) -> Self::Array {
        a
    }
    /// Notes that the value of an array with a node is read.
    #[doc(hidden)]
    fn note_read(_: &Self::Array) {}
    /// The array without its node, and without a derivative, which is the node's.
    #[doc(hidden)]
    fn without_node(a: Self::Array) -> Self::Array {
        a
    }
    /// The array, if one value is stored for all of its elements, and it has neither a node nor a derivative.
    #[doc(hidden)]
    fn literal(_: &Self::Array) -> Option<array::Array> {
        None
    }
    /// A key by which arrays are told apart for as long as they are there, cheaply found: `None` where there is none.
    #[doc(hidden)]
    fn identity(_: &Self::Array) -> Option<(usize, u64)> {
        None
    }

    /// An array of this algebra as a constant of the one under a reverse derivative.
    fn lift(a: Self::Array) -> NestedArray<Self>;
    /// An array of this algebra as a constant of the one under a forward derivative.
    fn lift_forward(a: Self::Array) -> ForwardArray<Self>;

    /// The values of `f` at a point, and its pullback there.
    fn vjp(
        f: &dyn Fn(Vec<NestedArray<Self>>) -> Vec<NestedArray<Self>>,
        at: Vec<Self::Array>,
    ) -> (Vec<Self::Array>, Pullback<Self>);
    /// The values of `f` at a point, and their tangents along the inputs' tangents; `None` is zero.
    #[allow(clippy::type_complexity)]
    fn jvp(
        f: &dyn Fn(Vec<ForwardArray<Self>>) -> Vec<ForwardArray<Self>>,
        at: Vec<Self::Array>,
        tangents: Vec<Option<Self::Array>>,
    ) -> (Vec<Self::Array>, Vec<Option<Self::Array>>);

    /// Runs `f` once on fresh variables of the given types, in a new scope, and closes the result: a body whose parameters are
    /// those variables and then the captures, which are returned beside it. For staged algebras only: an algebra that runs
    /// functions for every element and step returns `None`.
    ///
    /// Nodes that do not depend on the variables are captures, and computed once. With `lazy`, as for the sides of a
    /// conditional, all nodes that the function makes belong to the body.
    fn trace_body(
        _parameters: &[Type],
        _lazy: bool,
        _f: &mut dyn FnMut(Vec<Self::Array>) -> Vec<Self::Array>,
    ) -> Option<CapturedBody<Self>> {
        None
    }
    /// A build over a closed body that still contains builds: a term in a staged algebra, all elements in an eager one.
    fn build(build: Build, captures: Vec<Self::Array>) -> Self::Array {
        reference::run_build::<Self>(&build, &captures)
    }
    /// As [`Algebra::scan`], over a body that may still contain builds.
    fn scan_source(
        scan: Scan<Build>,
        carries: Vec<Self::Array>,
        inputs: Vec<Self::Array>,
        captures: Vec<Self::Array>,
    ) -> Vec<Self::Array> {
        reference::run_scan::<Self>(&scan, carries.into_iter().chain(inputs).chain(captures).collect())
    }
    /// As [`Algebra::sweeps`], over bodies that may still contain builds.
    fn sweeps_source(sweeps: Sweeps<Build>, operands: Vec<Self::Array>) -> Vec<Self::Array> {
        reference::run_sweeps::<Self>(&sweeps, operands)
    }
    /// A conditional on closed bodies without parameters, which takes place at run time, one side only. The sides result in
    /// arrays of the same types.
    fn cond_source(
        condition: Self::Array,
        then: CapturedBody<Self>,
        otherwise: CapturedBody<Self>,
    ) -> Vec<Self::Array> {
        let holds = Self::holds(&condition);
        let (body, captures) = if holds == Some(true) { then } else { otherwise };
        interpret_source::<Self>(&body, captures)
    }

    /// The values of a function at a point. Only the point is kept: a reverse derivative runs the function again. For eager
    /// algebras only; a staged one has [`Sweeps`] for it.
    fn recompute(f: &StoredFunction<Self>, at: Vec<Self::Array>) -> Vec<Self::Array> {
        f(at)
    }

    /// Marks the derivative of an array as one of a chosen branch: see the guide on semantics. The identity on values, and in
    /// every algebra but that of dual arrays.
    #[track_caller]
    fn mark(a: Self::Array) -> Self::Array {
        Self::bind(&Op::Mark, smallvec![a])
    }

    /// The elements, where they are known already: in eager algebras.
    fn known(_a: &Self::Array) -> Option<array::Array> {
        None
    }

    /// Says that a variable stands for elements of an array, for [`Algebra::range`].
    #[doc(hidden)]
    fn slice_of(_variable: &Self::Array, _array: &Self::Array) {}

    /// The least and the largest element of integers, as far as they are known: else those of the type.
    #[doc(hidden)]
    fn range(a: &Self::Array) -> (i64, i64) {
        let element = Self::known(a).and_then(|array| array.only()?.to_integer());
        element.map_or((i64::MIN, i64::MAX), |value| (value, value))
    }

    /// Whether a boolean without axes is true, where that is known already.
    fn holds(condition: &Self::Array) -> Option<bool> {
        Some(Self::known(condition)?.element(0) == Value::Bool(true))
    }

    /// Handles operands that do not fit: eager algebras panic with the error's text at the caller's line; staged ones record
    /// the error, and return a placeholder of the given type.
    #[track_caller]
    fn fail(error: Error, _placeholder: Type) -> Self::Array {
        panic!("{error}")
    }
}

/// The floats among arrays: others have no derivative.
pub(crate) fn floats<A: Algebra>(arrays: Vec<A::Array>) -> Vec<Option<A::Array>> {
    arrays.into_iter().map(|array| A::dtype(&array).is_float().then_some(array)).collect()
}

/// The tangents of arrays, zeros where there are none.
pub(crate) fn or_zeros<A: Algebra>(tangents: Vec<Option<A::Array>>, arrays: &[A::Array]) -> Vec<A::Array> {
    let pairs = tangents.into_iter().zip(arrays);
    pairs.map(|(tangent, array)| tangent.unwrap_or_else(|| A::zeros(&A::type_of(array)))).collect()
}

/// Ascending axes without duplicates, from positions that may be in any order.
pub(crate) fn sorted_axes(axes: &[usize]) -> Axes {
    let mut sorted: Axes = axes.iter().copied().collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}
