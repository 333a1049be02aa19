//! Arrays of dependence.

use super::columns::{ColumnSet, zip_unions};
use crate::array::{Array, OutOfMemory};
use crate::shape::Type;
use smallvec::SmallVec;
use std::rc::Rc;

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
    pub(super) ty: Type,
    /// Row-major; `None` where no element depends on any column.
    pub(super) columns: Sets,
    pub(super) known: Option<Array>,
    /// Of integers, which may be positions.
    pub(super) identity: Option<IndexIdentity>,
    /// The columns by positions that are not known, where they are known by those.
    pub(super) chosen: Option<Rc<ChosenColumns>>,
}

/// A set of columns for every element, row-major; `None` where all are empty.
pub(super) type Sets = Option<Rc<Vec<ColumnSet>>>;

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
            size => Some(Rc::new((first..=first.checked_add(size - 1)?).map(ColumnSet::One).collect())),
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
        let identity = ty.dtype.is_integer().then(IndexIdentity::default);
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
    pub(super) fn identity(&self) -> Option<IndexIdentity> {
        self.identity.clone()
    }

    pub(super) fn chosen(&self) -> Option<&ChosenColumns> {
        self.chosen.as_deref()
    }

    /// The same, with its columns by positions.
    pub(super) fn with_chosen(self, chosen: ChosenColumns) -> SparsityArray {
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

/// An array of positions that are not known. Two of one identity are the same.
pub(super) type IndexIdentity = Rc<()>;

/// The columns of an array, by the positions at which parts of it were read.
#[derive(Clone, Debug)]
pub(super) struct ChosenColumns {
    /// The dependence of the elements whatever the positions are.
    pub(super) rest: Sets,
    pub(super) terms: SmallVec<[IndexedRead; 1]>,
}

/// A read of an array at positions along one of its axes. Element `w` of row `i` has the columns of
/// `sets[starts[i] + step · p + w]`, if `p` is the row's position, below `extent`.
#[derive(Clone, Debug)]
pub(super) struct IndexedRead {
    pub(super) index: IndexIdentity,
    pub(super) sets: Rc<Vec<ColumnSet>>,
    /// None where a known position along another axis is outside.
    pub(super) starts: Rc<Vec<Option<usize>>>,
    pub(super) step: usize,
    pub(super) extent: usize,
}

impl IndexedRead {
    pub(super) fn is(&self, other: &IndexedRead) -> bool {
        Rc::ptr_eq(&self.index, &other.index)
            && Rc::ptr_eq(&self.sets, &other.sets)
            && Rc::ptr_eq(&self.starts, &other.starts)
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

/// An empty buffer with room for a set for each element of an array.
///
/// # Errors
///
/// When there is no memory for it.
pub(super) fn room(ty: &Type) -> Result<Vec<ColumnSet>, OutOfMemory> {
    let mut sets = Vec::new();
    match sets.try_reserve_exact(ty.size()) {
        Ok(()) => Ok(sets),
        Err(_) => Err(OutOfMemory { ty: ty.clone() }),
    }
}
