//! The instance of dependence: which elements of the input every element of an array may depend on.

use super::chosen::{self, Chosen, Identity};
use super::columns::{Columns, zip_unions};
use super::{custom, loops, rules};
use crate::algebra::{Algebra, CustomFunction, ForwardArray, NestedArray, Operands, Pullback};
use crate::concrete::{Array, Concrete, Failure, available};
use crate::dual::{self, Dual, DualArray, Tangent, TangentArray};
use crate::operation::Partial;
use crate::shape::{DType, Shape, Type};
use crate::term::{Body, Op, Scan, Sweeps, infer};
use smallvec::SmallVec;
use std::rc::Rc;
use std::sync::Arc;

/// The algebra of dependence, which finds sparsity patterns.
///
/// An array consists of its element type and shape, and for every element the *columns* that it may depend on: elements of the
/// input, counted from 0. Elements of constants are known as well, and so are results computed from them; known elements don't
/// depend on the input. Dependence is that of derivatives: comparisons, conversions to integers, `floor` and the like have
/// none, and a factor that is known to be 0 cuts it off. Where a choice or a position is unknown, everything that could be
/// chosen counts.
///
/// It is made to interpret bulk programs, such as [`Function::differentiable`](crate::derivative::Function::differentiable).
/// Like every instance without values it can't run closures of `cond` whose condition is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sparsity;

/// An array of [`Sparsity`].
///
/// ```
/// use deltaray::prelude::*;
/// use deltaray::sparse::{Sparsity, SparsityArray};
/// use deltaray::term::interpret::interpret;
///
/// let f = stage(|x: &Vector<_, f64>| x.slice(0, 1..) * x.slice(0, ..2), &zeros(3))?;
/// let input = SparsityArray::input(f.program().parameter_type(0).clone(), 0).expect("few columns");
/// let results: Vec<SparsityArray> = interpret::<Sparsity>(f.program(), vec![input]);
/// assert_eq!((results[0].columns(0), results[0].columns(1)), (&[0, 1][..], &[1, 2][..]));
/// # Ok::<(), deltaray::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparsityArray {
    ty: Type,
    /// Row-major; `None` where no element depends on any column.
    columns: Sets,
    known: Option<Array>,
    /// Of integers, which may be positions.
    identity: Option<Identity>,
    /// The columns by positions that are not known, where they are known by those.
    chosen: Option<Rc<Chosen>>,
}

/// A set of columns for every element, row-major; `None` where all are empty.
pub(super) type Sets = Option<Rc<Vec<Columns>>>;

impl SparsityArray {
    /// The input itself: element `p`, row-major, is column `first + p`. `None` where that is beyond the number of columns that
    /// there may be, 2³²; integers and booleans depend on nothing.
    ///
    /// ```
    /// use deltaray::shape::{DType, Type};
    /// use deltaray::sparse::SparsityArray;
    ///
    /// let input = SparsityArray::input(Type::new(DType::F64, &[3]), 10).expect("few columns");
    /// assert_eq!((input.columns(0), input.columns(2)), (&[10][..], &[12][..]));
    /// assert!(SparsityArray::input(Type::new(DType::F64, &[3]), u32::MAX).is_none());
    /// ```
    pub fn input(ty: Type, first: u32) -> Option<SparsityArray> {
        if !ty.dtype.is_float() {
            return Some(SparsityArray::unknown(ty));
        }
        let columns = match u32::try_from(ty.size()).ok()? {
            0 => None,
            size => Some(Rc::new((first..=first.checked_add(size - 1)?).map(Columns::One).collect())),
        };
        Some(SparsityArray::dependent(ty, columns))
    }

    /// An array of this element type and shape whose elements are not known and depend on no column.
    ///
    /// ```
    /// use deltaray::shape::{DType, Type};
    /// use deltaray::sparse::SparsityArray;
    ///
    /// let array = SparsityArray::unknown(Type::new(DType::I64, &[3]));
    /// assert!(array.elements().is_none() && array.columns(0).is_empty());
    /// ```
    pub fn unknown(ty: Type) -> SparsityArray {
        SparsityArray::dependent(ty, None)
    }

    /// An array whose elements are known, and depend on no column.
    ///
    /// ```
    /// use deltaray::prelude::*;
    /// use deltaray::sparse::SparsityArray;
    ///
    /// let array = SparsityArray::known(Vector::from(vec![2_i64, 0]).into_array());
    /// assert_eq!(array.elements().and_then(|elements| elements.to_vec::<i64>()), Some(vec![2, 0]));
    /// ```
    pub fn known(array: Array) -> SparsityArray {
        SparsityArray { ty: array.ty(), columns: None, known: Some(array), identity: None, chosen: None }
    }

    /// An array with this dependence; integers and booleans have no derivative, thus no columns.
    pub(super) fn dependent(ty: Type, columns: Sets) -> SparsityArray {
        debug_assert!(columns.as_ref().is_none_or(|columns| columns.len() == ty.size()));
        let columns = columns.filter(|_| ty.dtype.is_float());
        let identity = ty.dtype.is_integer().then(Identity::default);
        SparsityArray { ty, columns, known: None, identity, chosen: None }
    }

    /// The columns that the element at a row-major position may depend on, ascending.
    ///
    /// ```
    /// use deltaray::shape::{DType, Type};
    /// use deltaray::sparse::SparsityArray;
    ///
    /// let input = SparsityArray::input(Type::new(DType::F64, &[2, 2]), 0).expect("few columns");
    /// assert_eq!(input.columns(3), [3]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the array depends on some column, and has no such element.
    pub fn columns(&self, position: usize) -> &[u32] {
        self.columns.as_ref().map_or(&[], |columns| columns[position].as_slice())
    }

    /// The elements, where they are known.
    ///
    /// ```
    /// use deltaray::prelude::*;
    /// use deltaray::sparse::SparsityArray;
    ///
    /// let array = SparsityArray::known(Vector::from(vec![0.5]).into_array());
    /// assert_eq!(array.elements().map(|elements| elements.size()), Some(1));
    /// assert!(SparsityArray::unknown(array.ty().clone()).elements().is_none());
    /// ```
    pub fn elements(&self) -> Option<&Array> {
        self.known.as_ref()
    }

    /// Element type and shape.
    ///
    /// ```
    /// use deltaray::prelude::*;
    /// use deltaray::sparse::SparsityArray;
    ///
    /// assert_eq!(SparsityArray::known(Matrix::from([[0.0; 3]; 2]).into_array()).ty().to_string(), "f64[2, 3]");
    /// ```
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    pub(super) fn sets(&self) -> &Sets {
        &self.columns
    }

    /// The identity that all arrays made of these positions share.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.identity.clone()
    }

    pub(super) fn chosen(&self) -> Option<&Chosen> {
        self.chosen.as_deref()
    }

    /// The same, with its columns by positions.
    pub(super) fn with_chosen(self, chosen: Chosen) -> SparsityArray {
        SparsityArray { chosen: self.columns.is_some().then(|| Rc::new(chosen)), ..self }
    }

    /// Another array about which the same is known, but which may differ from this one.
    pub(super) fn another(&self) -> SparsityArray {
        match &self.known {
            Some(_) => self.clone(),
            None => SparsityArray::dependent(self.ty.clone(), self.columns.clone()),
        }
    }

    /// An array that is one of two, with the dependence of both.
    pub(super) fn join(&self, other: &SparsityArray) -> SparsityArray {
        match (&self.known, &other.known) {
            (Some(a), Some(b)) if same_elements(a, b) => self.clone(),
            _ => SparsityArray::dependent(self.ty.clone(), union(self.columns.clone(), other.columns.clone())),
        }
    }

    /// Whether two arrays of one type depend on the same, and are both known or both not.
    pub(super) fn is_as_dependent_as(&self, other: &SparsityArray) -> bool {
        let equal = |position: usize| self.columns(position) == other.columns(position);
        self.known.is_some() == other.known.is_some()
            && match (&self.columns, &other.columns) {
                (None, None) => true,
                (Some(a), Some(b)) if Rc::ptr_eq(a, b) => true,
                _ => (0..self.ty.size()).all(equal),
            }
    }

    /// The same without dependence, for computing factors of derivatives.
    pub(super) fn bare(&self) -> SparsityArray {
        SparsityArray { columns: None, chosen: None, ..self.clone() }
    }
}

/// Whether two arrays have the same elements, bit by bit.
pub(crate) fn same_elements(a: &Array, b: &Array) -> bool {
    a == b || (a.ty() == b.ty() && (0..a.size()).all(|position| a.element(position) == b.element(position)))
}

/// The union of two arrays' dependence, element by element.
pub(super) fn union(a: Sets, b: Sets) -> Sets {
    match (a, b) {
        (Some(a), Some(b)) => Some(zip_unions(&a, &b)),
        (a, b) => a.or(b),
    }
}

/// The columns of those elements whose factor is not known to be 0.
fn where_not_zero(columns: &Rc<Vec<Columns>>, factor: SparsityArray) -> Sets {
    match factor.known {
        Some(factor) => rules::where_not_zero(columns, &factor),
        None => Some(columns.clone()),
    }
}

/// The columns that remain after an operation with this derivative.
fn through(columns: &Sets, partial: impl FnOnce() -> Partial<Sparsity>) -> Sets {
    let columns = columns.as_ref()?;
    match partial() {
        Partial::Zero => None,
        Partial::One => Some(columns.clone()),
        Partial::Factor(factor) | Partial::Mask(factor) => where_not_zero(columns, factor),
        Partial::Factors(one, other) => {
            where_not_zero(columns, one).and_then(|columns| where_not_zero(&columns, other))
        }
    }
}

/// The results of a sub-program. Panics at the caller's line where there was no memory.
#[track_caller]
fn several(results: Result<Vec<SparsityArray>, Failure>) -> Vec<SparsityArray> {
    match results {
        Ok(arrays) => arrays,
        Err(Failure { operation, problem }) => available(Err(problem), || operation),
    }
}

/// The columns that the result of an operation depends on, where not all operands are known.
fn dependent(op: &Op, operands: &[SparsityArray]) -> SparsityArray {
    let a = &operands[0];
    let with = |ty: Type, columns: Sets| SparsityArray::dependent(ty, columns);
    match op {
        Op::Unary(op) => {
            let partial = || op.partial::<Sparsity>(&a.bare(), &SparsityArray::unknown(a.ty.clone()));
            let columns = through(&a.columns, partial);
            chosen::elementwise(with(a.ty.clone(), columns.clone()), &[(a, columns)])
        }
        Op::Binary(op) => {
            let b = &operands[1];
            let (x, y, result) = (a.bare(), b.bare(), SparsityArray::unknown(a.ty.clone()));
            let left = through(&a.columns, || op.left_partial::<Sparsity>(&x, &y, &result));
            let right = through(&b.columns, || op.right_partial::<Sparsity>(&x, &y, &result));
            let result = with(a.ty.clone(), union(left.clone(), right.clone()));
            chosen::elementwise(result, &[(a, left), (b, right)])
        }
        Op::Select => rules::select(a, &operands[1], &operands[2]),
        // Integers and booleans have no columns, so a conversion from them has none.
        Op::Cast(dtype) => {
            let result = with(Type::new(*dtype, &a.ty.shape), a.columns.clone());
            chosen::elementwise(result, &[(a, a.columns.clone())])
        }
        Op::View(map) => with(Type::new(a.ty.dtype, map.result()), rules::view(&a.columns, map)),
        Op::Accumulate(map) => with(Type::new(a.ty.dtype, map.source()), rules::accumulate(&a.columns, map)),
        Op::Reshape(shape) => with(Type::new(a.ty.dtype, shape), a.columns.clone()),
        Op::Concatenate(axis) => rules::concatenate(*axis, operands),
        Op::Gather => rules::gather(a, &operands[1..]),
        Op::Scatter(extents) => rules::scatter(a, &operands[1..], extents),
        Op::ScatterSet => rules::scatter_set(a, &operands[1], &operands[2..]),
        Op::Reduce(_, axes) => {
            let (columns, shape) = rules::unions_over(&a.columns, &a.ty.shape, axes);
            with(Type { dtype: a.ty.dtype, shape }, columns)
        }
        Op::Contract(spec) => rules::contract(spec, a, &operands[1]),
        Op::Mark => a.clone(),
        // Truth values and positions have no derivative.
        op => {
            let types: SmallVec<[&Type; 3]> = operands.iter().map(SparsityArray::ty).collect();
            SparsityArray::unknown(infer::output(op, &types).expect("operands that fit"))
        }
    }
}

impl Algebra for Sparsity {
    type Array = SparsityArray;
    type Nested = Dual<Sparsity>;
    type Forward = Tangent<Sparsity>;

    fn dtype(a: &SparsityArray) -> DType {
        a.ty.dtype
    }
    fn shape(a: &SparsityArray) -> Shape {
        a.ty.shape.clone()
    }

    fn constant(value: Array) -> SparsityArray {
        SparsityArray::known(value)
    }
    #[track_caller]
    fn bind(op: &Op, operands: Operands<Sparsity>) -> SparsityArray {
        // A result of known arrays is known.
        let elements: Option<Operands<Concrete>> = operands.iter().map(|operand| operand.known.clone()).collect();
        match elements {
            Some(elements) => SparsityArray::known(Concrete::bind(op, elements)),
            None => dependent(op, &operands),
        }
    }

    #[track_caller]
    fn scan(
        scan: &Arc<Scan>,
        carries: Vec<SparsityArray>,
        inputs: Vec<SparsityArray>,
        captures: Vec<SparsityArray>,
    ) -> Vec<SparsityArray> {
        several(loops::scan(scan, carries, &inputs, captures))
    }
    #[track_caller]
    fn branch(
        condition: SparsityArray,
        then: &Arc<Body>,
        otherwise: &Arc<Body>,
        captures: Vec<SparsityArray>,
    ) -> Vec<SparsityArray> {
        several(loops::branch(&condition, then, otherwise, captures))
    }
    #[track_caller]
    fn custom<F: CustomFunction>(function: &F, inputs: Vec<SparsityArray>) -> Vec<SparsityArray> {
        several(custom::custom(&custom::AnyFunction(function), inputs))
    }
    #[track_caller]
    fn sweeps(sweeps: &Arc<Sweeps>, operands: Vec<SparsityArray>) -> Vec<SparsityArray> {
        several(loops::sweeps(sweeps, &operands))
    }

    fn lift(a: SparsityArray) -> NestedArray<Self> {
        DualArray { primal: a, delta: None }
    }
    fn lift_forward(a: SparsityArray) -> ForwardArray<Self> {
        TangentArray { primal: a, tangent: None }
    }
    fn vjp(
        f: &dyn Fn(Vec<NestedArray<Self>>) -> Vec<NestedArray<Self>>,
        at: Vec<SparsityArray>,
    ) -> (Vec<SparsityArray>, Pullback<Self>) {
        dual::vjp::<Sparsity>(f, at)
    }
    fn jvp(
        f: &dyn Fn(Vec<ForwardArray<Self>>) -> Vec<ForwardArray<Self>>,
        at: Vec<SparsityArray>,
        tangents: Vec<Option<SparsityArray>>,
    ) -> (Vec<SparsityArray>, Vec<Option<SparsityArray>>) {
        dual::jvp::<Sparsity>(f, at, tangents)
    }

    fn known(a: &SparsityArray) -> Option<Array> {
        a.known.clone()
    }
}
