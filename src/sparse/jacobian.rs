//! Sparse Jacobians and Hessians of staged functions.

use super::array::{SparsityArray, same_elements};
use super::compress::FloatLayout;
use super::compressed::{Compressed, Compression, CompressionRequest, check_floats};
use super::csr::Csr;
use super::pattern::Pattern;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::derivative::Function;
use crate::error::{Error, Result};
use crate::tensor::{Args, Family, Float, Outline, Rank, Scalar, Tensor};
use crate::term::Body;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// Structures of float arrays, with their element type: the results that make up a Jacobian's rows.
///
/// Tensors are, and tuples, `Vec`, `Option`, `Box` and Rust arrays of them, by their first part; for a struct of arrays an
/// implementation says it in one line: `impl FloatTree for Residuals<Concrete> { type Element = f64; }`.
pub trait FloatTree: Family {
    /// The element type of all float arrays.
    type Element: Float;
}

impl<E: Float, R: Rank> FloatTree for Tensor<Concrete, E, R> {
    type Element = E;
}

impl<F: FloatTree> FloatTree for Vec<F> {
    type Element = F::Element;
}

impl<F: FloatTree> FloatTree for Option<F> {
    type Element = F::Element;
}

impl<F: FloatTree> FloatTree for Box<F> {
    type Element = F::Element;
}

impl<F: FloatTree, const N: usize> FloatTree for [F; N] {
    type Element = F::Element;
}

macro_rules! tuples {
    ($(($first:ident $(, $name:ident)*);)*) => {
        $(impl<$first: FloatTree $(, $name: Family)*> FloatTree for ($first, $($name,)*) {
            type Element = $first::Element;
        })*
    };
}

tuples! {
    (T);
    (T, U);
    (T, U, V);
    (T, U, V, W);
    (T, U, V, W, X);
    (T, U, V, W, X, Y);
    (T, U, V, W, X, Y, Z);
    (T, U, V, W, X, Y, Z, S);
}

/// The common part of Jacobians and Hessians: a program, and the compression of its derivative for the fixed arguments of the
/// last call.
struct SparseDerivative {
    /// Whether the matrix equals its transpose, so that a star colouring compresses it.
    symmetric: bool,
    /// The function, or for a Hessian its gradient.
    body: Arc<Body>,
    active: usize,
    outline: Outline,
    names: Vec<String>,
    given: Option<Arc<Pattern>>,
    compression: Option<Compression>,
    last: Mutex<Option<Last>>,
}

/// A compression, and the fixed arguments that it is for.
struct Last {
    fixed: Vec<Array>,
    compressed: Arc<Compressed>,
}

impl SparseDerivative {
    /// The derivative of a program, whose float arrays of the results and of the first arguments are all of type `E`.
    fn new<E: Float>(
        symmetric: bool,
        body: Arc<Body>,
        active: usize,
        (outline, names): (&Outline, &[String]),
    ) -> std::result::Result<SparseDerivative, String> {
        check_floats::<E>(&body, active)?;
        let (outline, names, last) = (outline.clone(), names.to_vec(), Mutex::new(None));
        Ok(SparseDerivative { symmetric, body, active, outline, names, given: None, compression: None, last })
    }

    /// The arrays of arguments of the structure that the function was staged for.
    #[track_caller]
    fn arguments<X: Args<Concrete>>(&self, arguments: X) -> Result<Vec<Array>> {
        crate::derivative::checked_arguments(arguments, (&self.outline, &self.names), &self.body)
    }

    /// How the matrix is found is another from now on.
    ///
    /// # Errors
    ///
    /// When the pattern or the compression is not one for this matrix, or not for each other.
    fn with(
        mut self,
        given: Option<Arc<Pattern>>,
        compression: Option<Compression>,
    ) -> std::result::Result<Self, String> {
        if let Some(given) = &given {
            let columns = FloatLayout::new((0..self.active).map(|at| self.body.parameter_type(at))).size;
            let expected = (FloatLayout::new(self.body.result_types()).size, columns);
            if given.shape() != expected {
                return Err(format!("the given pattern is {:?}, but the matrix is {expected:?}", given.shape()));
            }
        }
        match compression {
            Some(Compression::Star) => return Err("a star colouring compresses Hessians, which are symmetric".into()),
            Some(Compression::Reads) if given.is_some() => {
                return Err("what a program reads has a pattern of its own, which can not be given".into());
            }
            _ => {}
        }
        (self.given, self.compression, self.last) = (given, compression, Mutex::new(None));
        Ok(self)
    }

    fn compressed<E: Float>(&self, arguments: &[Array], place: &Location<'_>) -> Result<Arc<Compressed>> {
        let marked = self.outline.fixed_arrays();
        // A given pattern does not depend on fixed arguments.
        let is_fixed = |position: usize| self.given.is_none() && marked.get(position).copied().unwrap_or(false);
        let fixed: Vec<Array> =
            arguments.iter().enumerate().filter(|(at, _)| is_fixed(*at)).map(|(_, array)| array.clone()).collect();
        // A panic while the lock was held has left the value intact.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.fixed.iter().zip(&fixed).all(|(a, b)| same_elements(a, b))
        {
            return Ok(last.compressed.clone());
        }
        let parameter = |(position, array): (usize, &Array)| match is_fixed(position) {
            true => SparsityArray::known(array.clone()),
            false => SparsityArray::unknown(array.ty()),
        };
        let request = CompressionRequest {
            body: &self.body,
            active: self.active,
            parameters: arguments.iter().enumerate().map(parameter).collect(),
            given: self.given.clone(),
            compression: self.compression,
            place,
        };
        let mut compressed = if self.symmetric { request.hessian::<E>()? } else { request.jacobian::<E>()? };
        compressed.names = self.names.clone();
        let compressed = Arc::new(compressed);
        *last = Some(Last { fixed, compressed: compressed.clone() });
        Ok(compressed)
    }
}

macro_rules! sparse {
    ($(#[$doc:meta])* $name:ident $matrix:literal) => {
        $(#[$doc])*
        pub struct $name<In: Family, E: Float> {
            derivative: SparseDerivative,
            types: PhantomData<fn(In) -> E>,
        }

        impl<In: Family, E: Float> $name<In, E> {
            #[track_caller]
            fn new(symmetric: bool, body: Arc<Body>, active: usize, expected: (&Outline, &[String])) -> Result<Self> {
                Self::checked(SparseDerivative::new::<E>(symmetric, body, active, expected))
            }

            /// The same with a pattern that is known already, and is not looked for then. An entry that it lacks is wrongly
            /// part of others.
            ///
            /// ```
            /// use deltaray::prelude::*;
            /// use deltaray::sparse::Pattern;
            ///
            /// let x = Vector::from(vec![1.0, 2.0]);
            /// let f = stage(|x: &Vector<_, f64>| x.powi(3).sum(), &x)?;
            /// let diagonal = Pattern::from_rows(2, [[0], [1]])?;
            /// assert_eq!(f.sparse_hessian()?.with_pattern(diagonal)?.call(&x)?.values().to_vec(), [6.0, 12.0]);
            /// # Ok::<(), deltaray::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// When the pattern has another shape than the matrix, or [`Compression::Reads`] was chosen.
            #[track_caller]
            pub fn with_pattern(self, pattern: Pattern) -> Result<Self> {
                let compression = self.derivative.compression;
                self.with(Some(Arc::new(pattern)), compression)
            }

            #[track_caller]
            fn with(self, given: Option<Arc<Pattern>>, compression: Option<Compression>) -> Result<Self> {
                Self::checked(self.derivative.with(given, compression))
            }

            #[track_caller]
            fn checked(derivative: std::result::Result<SparseDerivative, String>) -> Result<Self> {
                match derivative {
                    Ok(derivative) => Ok($name { derivative, types: PhantomData }),
                    Err(problem) => Err(Error::operands($matrix, problem, Location::caller())),
                }
            }

            /// The matrix at a point: the arguments are those of the function.
            ///
            /// ```
            /// use deltaray::prelude::*;
            ///
            /// let (x, y) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![3.0, 4.0]));
            /// let f = stage(|(x, y): &(Vector<_, f64>, Vector<_, f64>)| (x * x * y).sum(), (&x, &y))?;
            /// assert_eq!(f.sparse_jacobian()?.call((&x, &y))?.values().to_vec(), [6.0, 16.0]);
            /// assert_eq!(f.sparse_hessian()?.call((&x, &y))?.values().to_vec(), [6.0, 8.0]);
            /// # Ok::<(), deltaray::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// When the arguments differ from those that the function was staged for, when there are more than 2³² columns, or
            /// when there is no memory.
            #[track_caller]
            pub fn call<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Csr<E>> {
                let place = Location::caller();
                let arguments = self.derivative.arguments(arguments)?;
                self.derivative.compressed::<E>(&arguments, place)?.evaluated(&arguments)
            }

            /// How the matrix is compressed for the fixed arguments among these, found as at a call, and kept for the next one.
            ///
            /// ```
            /// use deltaray::prelude::*;
            ///
            /// let x = Vector::from(vec![1.0, 2.0, 3.0]);
            /// let f = stage(|x: &Vector<_, f64>| x.powi(3).sum(), &x)?;
            /// assert_eq!(f.sparse_jacobian()?.compressed(&x)?.seeds(), 1);
            /// assert_eq!(f.sparse_hessian()?.compressed(&x)?.seeds(), 1);
            /// # Ok::<(), deltaray::Error>(())
            /// ```
            ///
            /// # Errors
            ///
            /// As a call.
            #[track_caller]
            pub fn compressed<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Arc<Compressed>> {
                let arguments = self.derivative.arguments(arguments)?;
                self.derivative.compressed::<E>(&arguments, Location::caller())
            }
        }
    };
}

sparse! {
    /// The Jacobian of a staged function, with respect to its first argument, in compressed sparse rows.
    ///
    /// Rows are the elements of all float results, columns the elements of all float arrays of the first argument, in the order
    /// of the trees. The first call finds the pattern, and makes one program of the derivatives along all colours; both are
    /// kept for calls with the same [`fixed`](super::fixed()) arguments, and made anew when these change.
    SparseJacobian "sparse_jacobian"
}

sparse! {
    /// The Hessian of a staged function of one float, with respect to its first argument, in compressed sparse rows: the whole
    /// symmetric matrix.
    ///
    /// Rows and columns are the elements of all float arrays of the first argument. The pattern is found from the gradient
    /// program; a star colouring of it says which products with the matrix are needed. As with [`SparseJacobian`], all of this
    /// happens at the first call. A function with a [derivative rule](crate::derivative::custom_vjp) of its own need not have a symmetric
    /// Hessian: it is found as the Jacobian of the gradient, without a star colouring.
    SparseHessian "sparse_hessian"
}

impl<In: Family, E: Float> SparseJacobian<In, E> {
    /// The same with this compression, however many seeds it takes; without one the compression with the fewest seeds is taken.
    ///
    /// ```
    /// use deltaray::prelude::*;
    /// use deltaray::sparse::Compression;
    ///
    /// let x = Vector::from(vec![1.0, 2.0, 3.0]);
    /// let squares = stage(|x: &Vector<_, f64>| x.powi(2), &x)?.sparse_jacobian()?.with_compression(Compression::Rows)?;
    /// assert_eq!(squares.compressed(&x)?.compression(), Compression::Rows);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// For [`Compression::Star`], and for [`Compression::Reads`] with a given pattern.
    #[track_caller]
    pub fn with_compression(self, compression: Compression) -> Result<Self> {
        let given = self.derivative.given.clone();
        self.with(given, Some(compression))
    }
}

impl<In: Family, Out: FloatTree, First: Family> Function<In, Out, First> {
    /// The Jacobian with respect to the first argument, in compressed sparse rows: see [`SparseJacobian`]. Nothing is computed
    /// yet.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let x = Vector::from(vec![1.0, 2.0, 3.0]);
    /// let jacobian = stage(|x: &Vector<_, f64>| x.slice(0, 1..) * x.slice(0, ..2), &x)?.sparse_jacobian()?;
    /// assert_eq!(jacobian.call(&x)?.to_string(), "2 1 .\n. 3 2\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a float array of the result, or of the first argument, has another element type than the first of the result.
    #[track_caller]
    pub fn sparse_jacobian(&self) -> Result<SparseJacobian<In, Out::Element>> {
        SparseJacobian::new(false, self.shared_program(), self.active(), self.expected())
    }
}

impl<In: Family, E: Float, First: Family> Function<In, Scalar<Concrete, E>, First> {
    /// The Hessian with respect to the first argument, in compressed sparse rows: see [`SparseHessian`]. Nothing is computed
    /// yet.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let x = Vector::from(vec![1.0, 2.0, 3.0]);
    /// let hessian = stage(|x: &Vector<_, f64>| x.powi(3).sum(), &x)?.sparse_hessian()?;
    /// assert_eq!(hessian.call(&x)?.to_string(), "6  .  .\n. 12  .\n.  . 18\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When a float array of the first argument has another element type than the result.
    #[track_caller]
    pub fn sparse_hessian(&self) -> Result<SparseHessian<In, E>> {
        let gradient = self.grad()?;
        let symmetric = !self.shared_program().has_rules();
        SparseHessian::new(symmetric, gradient.shared_program(), gradient.active(), gradient.expected())
    }
}
