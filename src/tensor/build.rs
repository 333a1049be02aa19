//! Arrays given element by element.

use crate::algebra::Algebra;
use crate::array::{self, ReportedAt};
use crate::shape::{DType, Shape, Type, Value};
use crate::simplify::simplify;
use crate::tensor::apply::fail;
use crate::tensor::structure::stack_arrays;
use crate::tensor::{Element, R0, R1, R2, R3, R4, R5, R6, Rank, Tensor};
use crate::term::interpret::interpret;
use crate::term::{Build, Graph, NodeId, Op};
use crate::trace::trace;
use crate::vectorise::vectorise;
use smallvec::SmallVec;

/// The extents that [`build`] takes, which determine its closure's argument: `n` and an index, `(n, m)` and a pair of them,
/// `[n, m]` and an array of them, up to six.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are not extents",
    note = "extents are `n`, `(n, m)` or `[n, m]`, of `usize`, up to six"
)]
pub trait Extents {
    /// As many axes as there are extents.
    type Rank: Rank;
    /// The closure's parameter: as many scalars of `i64`.
    type Indices<A: Algebra>;
    /// The extents.
    fn extents(&self) -> Shape;
    /// The closure's parameter from that many scalars.
    fn indices<A: Algebra>(indices: Vec<A::Array>) -> Self::Indices<A>;
}

/// One scalar for each of `N` extents.
fn scalars<A: Algebra, const N: usize>(indices: Vec<A::Array>) -> [Tensor<A, i64, R0>; N] {
    debug_assert_eq!(indices.len(), N);
    let mut indices = indices.into_iter();
    std::array::from_fn(|_| Tensor::wrap(indices.next().expect("an index for each extent")))
}

impl Extents for usize {
    type Rank = R1;
    type Indices<A: Algebra> = Tensor<A, i64, R0>;
    fn extents(&self) -> Shape {
        Shape::from_slice(&[*self])
    }
    fn indices<A: Algebra>(indices: Vec<A::Array>) -> Self::Indices<A> {
        let [index] = scalars::<A, 1>(indices);
        index
    }
}

macro_rules! replaced {
    ($x:ident, $with:ty) => {
        $with
    };
}

macro_rules! extents {
    ($($rank:ident $count:literal ($($x:ident),*);)*) => {
        $(
            impl Extents for [usize; $count] {
                type Rank = $rank;
                type Indices<A: Algebra> = [Tensor<A, i64, R0>; $count];
                fn extents(&self) -> Shape {
                    Shape::from_slice(self)
                }
                fn indices<A: Algebra>(indices: Vec<A::Array>) -> Self::Indices<A> {
                    scalars::<A, $count>(indices)
                }
            }

            impl Extents for ($(replaced!($x, usize),)*) {
                type Rank = $rank;
                type Indices<A: Algebra> = ($(replaced!($x, Tensor<A, i64, R0>),)*);
                fn extents(&self) -> Shape {
                    let ($($x,)*) = self;
                    Shape::from_slice(&[$(*$x),*])
                }
                fn indices<A: Algebra>(indices: Vec<A::Array>) -> Self::Indices<A> {
                    let [$($x),*] = scalars::<A, $count>(indices);
                    ($($x,)*)
                }
            }
        )*
    };
}

extents! {
    R1 1 (a);
    R2 2 (a, b);
    R3 3 (a, b, c);
    R4 4 (a, b, c, d);
    R5 5 (a, b, c, d, e);
    R6 6 (a, b, c, d, e, f);
}

/// The type of an array of these outer extents and elements of a type.
fn built(extents: &[usize], element: &Type) -> Type {
    Type { dtype: element.dtype, shape: extents.iter().chain(&element.shape).copied().collect() }
}

/// Builds an array from a closure that gives the element, or the inner array, at each position of new outer axes:
/// `build(n, |i| ..)`, `build((n, m), |(i, j)| ..)`, `build([n, m], |[i, j]| ..)` (P 3.2). Positions are scalars of `i64`; the
/// result has the extents, then the axes of the inner array.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0, 4.0]);
/// let products: Matrix<_, f64> = build((2, 2), |(i, j)| x.at(&i) * x.at(j + 1));
/// assert_eq!(products, [[2.0, 4.0], [4.0, 8.0]].into());
/// ```
///
/// The closure is called once, at the first position, and its operations there are done in bulk, also in eager algebras, unless
/// it looks at a value that depends on the position: by [`item`](Tensor::item), [`cond`](crate::tensor::cond) or a loop with a
/// condition, or in a derivative of its own. Then an eager algebra calls it for every position, as it does for arrays of few
/// elements: each operation takes some tens of nanoseconds on plain arrays, and some hundreds under a derivative, for each
/// element, so that such an array of more than some thousand elements is best built in a function that is
/// [staged](crate::derivative::stage). The closure must be pure in the arrays that it is given.
///
/// # Panics
///
/// When results at two positions differ in shape; staged, that is recorded instead.
#[track_caller]
pub fn build<A: Algebra, X: Extents, E: Element, R: Rank>(
    extents: X,
    element: impl Fn(X::Indices<A>) -> Tensor<A, E, R>,
) -> Tensor<A, E, <X::Rank as Rank>::Plus<R>> {
    let array = array::<A>(extents.extents(), &mut |indices| element(X::indices::<A>(indices)).into_array());
    match array {
        Ok(array) => Tensor::wrap(array),
        Err((problem, shape)) => fail("build", problem, &shape),
    }
}

/// As [`Type::check_size`]; errors come with the shape of a placeholder.
fn check_size(ty: &Type) -> Result<(), (String, Shape)> {
    ty.check_size().map_err(|problem| (problem, Shape::from_elem(1, ty.rank())))
}

/// The array, untyped. Errors come with the shape of a placeholder.
#[track_caller]
fn array<A: Algebra>(
    extents: Shape,
    element: &mut dyn FnMut(Vec<A::Array>) -> A::Array,
) -> Result<A::Array, (String, Shape)> {
    let parameters = vec![Type::scalar(DType::I64); extents.len()];
    let mut traced = |indices: Vec<A::Array>| {
        indices.iter().zip(&extents).for_each(|(index, &extent)| A::slice_of(index, &A::iota(extent)));
        vec![element(indices)]
    };
    if let Some((body, captures)) = A::trace_body(&parameters, false, &mut traced) {
        body.result_types().try_for_each(|element| check_size(&built(&extents, element)))?;
        return Ok(A::build(Build { extents, body }, captures));
    }
    if crate::shape::size(&extents) >= WORTH_TRACING
        && let Some((body, captures)) = trace::<A>(&parameters, first::<A>(&extents), element)
    {
        for element in body.result_types() {
            let ty = built(&extents, element);
            check_size(&ty)?;
            if Vec::<u8>::new().try_reserve_exact(ty.bytes().unwrap_or(usize::MAX)).is_err() {
                return Err(no_memory(&ty.shape));
            }
        }
        let _place = ReportedAt::caller();
        return Ok(in_bulk::<A>(Build { extents, body }, captures));
    }
    run::<A>(&extents, element)
}

/// Arrays of so many elements are built in bulk where they can be: to write a closure down takes as long as to call it some dozen
/// times.
const WORTH_TRACING: usize = 64;

/// The indices of the first position.
fn first<A: Algebra>(extents: &[usize]) -> Vec<A::Array> {
    extents.iter().map(|_| A::constant(array::Array::full(&[], Value::I64(0)))).collect()
}

/// The error of an array for whose elements there is no memory, with the shape of a placeholder.
fn no_memory(shape: &[usize]) -> (String, Shape) {
    let problem = format!("there is no memory for the elements of an array of shape {shape:?}");
    (problem, Shape::from_elem(1, shape.len()))
}

/// The eager loop.
fn run<A: Algebra>(
    extents: &[usize],
    element: &mut dyn FnMut(Vec<A::Array>) -> A::Array,
) -> Result<A::Array, (String, Shape)> {
    let at = |position: &[usize]| -> Vec<A::Array> {
        let value = |&i: &usize| A::constant(array::Array::full(&[], Value::I64(i as i64)));
        position.iter().map(value).collect()
    };
    let count = crate::shape::size(extents);
    let mut position: SmallVec<[usize; 4]> = SmallVec::from_elem(0, extents.len());
    // The first position exists for an empty array too: reads there are out of bounds, thus 0, and only the shape counts.
    let first = element(at(&position));
    let ty = A::type_of(&first);
    let whole = built(extents, &ty);
    check_size(&whole)?;
    let shape = whole.shape;
    if count == 0 {
        return Ok(A::zeros(&Type { dtype: ty.dtype, shape }));
    }
    let mut elements = Vec::new();
    if elements.try_reserve_exact(count).is_err() {
        return Err(no_memory(&shape));
    }
    elements.push(first);
    for _ in 1..count {
        for axis in (0..extents.len()).rev() {
            position[axis] += 1;
            if position[axis] < extents[axis] {
                break;
            }
            position[axis] = 0;
        }
        let next = element(at(&position));
        let found = A::shape(&next);
        if found != ty.shape {
            let problem = format!("elements of shapes {:?} and {:?}", &ty.shape[..], &found[..]);
            return Err((problem, shape));
        }
        elements.push(next);
    }
    Ok(A::reshape(stack_arrays::<A>(elements), &shape))
}

/// The array that a build is whose body was traced, computed in bulk.
fn in_bulk<A: Algebra>(build: Build, captures: Vec<A::Array>) -> A::Array {
    let types: Vec<Type> = captures.iter().map(A::type_of).collect();
    let mut graph: Graph<Build> = Graph::new(&types, 0);
    let operands: Vec<NodeId> = (0..types.len() as NodeId).collect();
    let result = graph.add(Op::Extra(build), &operands);
    let program = simplify(&vectorise(&graph.finish(&[result])));
    interpret::<A>(&program, captures).remove(0)
}
