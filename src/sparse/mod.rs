//! Sparse Jacobians and Hessians: found where they may be other than zero, compressed by colouring, evaluated by one batched
//! derivative.
//!
//! ```
//! use deltaray::prelude::*;
//!
//! # fn main() -> deltaray::Result<()> {
//! let f = |x: &Vector<_, f64>| x.slice(0, 1..) * x.slice(0, ..x.len() - 1);
//! let x = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
//! let jacobian = stage(f, &x)?.sparse_jacobian()?;
//! let matrix = jacobian.call(&x)?;
//! assert_eq!((matrix.shape(), matrix.row_offsets()), ((3, 4), &[0, 2, 4, 6][..]));
//! assert_eq!(matrix.column_indices(), [0, 1, 1, 2, 2, 3]);
//! assert_eq!(matrix.values().to_vec(), [2.0, 1.0, 3.0, 2.0, 4.0, 3.0]);
//! # Ok(())
//! # }
//! ```
//!
//! The pattern is found by an instance of the type class, [`Sparsity`], whose arrays say of which elements of the input
//! their elements may depend. [`Colouring`] groups columns, or rows, that don't meet; for each colour a forward, or reverse,
//! derivative finds them all, and the derivatives along all colours are one program, batched. Rows are also coloured with
//! respect to the elements that the program *reads* of its input: see [`Compression::Reads`].
//!
//! A positive definite matrix of a sparse pattern has a [`SparseCholesky`], with which systems of equations are solved.

mod array;
mod cholesky;
mod chosen;
mod colouring;
mod columns;
mod compress;
mod compressed;
mod csr;
mod custom;
mod dependence;
mod entries;
mod fixed;
mod gram;
mod instance;
mod jacobian;
mod loops;
mod pattern;
mod positions;
mod reads;
mod rules;
mod run;

pub(crate) use array::same_elements;
pub use array::{Sparsity, SparsityArray};
pub use cholesky::{SparseCholesky, SparseFactor};
pub use colouring::Colouring;
pub use compressed::{Compressed, Compression};
pub use csr::Csr;
pub use fixed::{Fixed, fixed};
pub use jacobian::{FloatTree, SparseHessian, SparseJacobian};
pub use pattern::Pattern;
