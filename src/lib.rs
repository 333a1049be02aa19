//! `deltaray` differentiates array programs.
//!
//! A function is written once, generic over an *algebra*, the type class of arrays. The same function then runs on plain
//! arrays; runs on *dual arrays*, which pair an array with a [`Delta`](dual::Delta) term that describes its derivative;
//! or is *staged* into a term, which is vectorised, differentiated and simplified before any input is seen, printed as a
//! readable program, and called many times.
//!
//! ```
//! use deltaray::prelude::*;
//!
//! /// Written element by element; staged, it runs in bulk.
//! #[differentiable]
//! fn self_convolution(x: Vector<f64>) -> Scalar<f64> {
//!     let n = x.len();
//!     build(n, |i| x[i] * x[n - 1 - i]).sum()
//! }
//!
//! # fn main() -> deltaray::Result<()> {
//! let x = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
//!
//! // Now: define-by-run, with any Rust control flow.
//! let dx = grad(self_convolution, &x);
//! assert_eq!(dx.to_vec(), [8.0, 6.0, 4.0, 2.0]);
//!
//! // Many times: staged once for these shapes, differentiated once.
//! let gradient = stage(self_convolution, &x)?.value_and_grad()?;
//! let (value, dx) = gradient.call(&x)?;
//! assert_eq!((value.to_vec(), dx.to_vec()), (vec![20.0], vec![8.0, 6.0, 4.0, 2.0]));
//!
//! // The gradient is a program: no loop over elements is left, and no scatter.
//! assert_eq!(
//!     gradient.to_string().trim(),
//!     r#"
//! program value_and_grad_self_convolution(x: f64[4]) -> (value: f64, gradient.x: f64[4]):
//!     (contract "i,i->" x (reverse[0] x), reverse[0] (x + x))
//! "#
//!     .trim()
//! );
//! # Ok(())
//! # }
//! ```
//!
//! The attribute turns it into a function that is generic in its [algebra](algebra::Algebra), as one can write by hand, here
//! `fn self_convolution<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64>`: see [`guide::attribute`].
//!
//! # Modules
//!
//! For users:
//!
//! - [`prelude`]: the names that programs use, in one import.
//! - [`tensor`]: arrays, their operations, loops, and trees of arrays.
//! - [`derivative`]: gradients and other derivatives, and functions that are staged and compiled.
//! - [`functions`]: what models are made of, from softmax to convolutions.
//! - [`linalg`]: factorisations and functions of matrices, and systems of equations.
//! - [`sparse`]: sparse Jacobians and Hessians, and sparse systems of equations.
//! - [`slices`]: staged functions of slices, for solvers, optimisers and samplers.
//! - [`engine`]: processors and devices that run programs.
//! - [`export`]: programs as text, source in other languages, data and pictures.
//! - [`build`]: gradients in build scripts.
//! - [`error`]: the one error type.
//! - [`guide`]: how to do things, page by page.
//!
//! For extending the library. These may change between minor versions, but not the names that the prelude has:
//!
//! - [`algebra`]: the type class of arrays, for a new instance.
//! - [`concrete`]: the instance of plain arrays, and their elements, for what is computed by other means.
//! - [`dual`]: the instances of differentiation, for derivatives of functions over untyped arrays.
//! - [`staged`]: the instance of terms, for programs from functions over untyped arrays.
//! - [`shape`]: element types, shapes and types of arrays, for instances and passes.
//! - [`affine`]: index maps, by which views read their sources.
//! - [`operation`]: the tables of elementwise operations, for passes that treat some of them specially.
//! - [`term`]: programs as data, to be read, written and interpreted.
//! - [`vectorise`]: the pass from programs with `build` to bulk programs.
//! - [`simplify`]: the pass that simplifies bulk programs, and its rules.
//! - [`derivative::program`]: the pass from bulk programs to their derivatives.
//!
//! # The story, room by room
//!
//! Users work with [`tensor`]: arrays with element type and rank as types, operators, indexing, [`build`](tensor::build),
//! loops, and [trees](tensor::Tree) of arrays. Every method of it checks shapes and then calls a method of the type class,
//! [`algebra::Algebra`]. The elementwise operations stand in one table, [`operation`]; the result types of structural
//! operations are stated in one place, [`term::infer`].
//!
//! Four instances of the class do most of the work:
//!
//! - [`concrete::Concrete`] computes, on ndarray's storage;
//! - [`dual::Dual`] pairs an array of any other algebra with its Delta: over plain arrays that is reverse mode as the program
//!   runs, over itself higher order, over terms the symbolic pass;
//! - [`dual::Tangent`] is forward mode, without a tape;
//! - [`staged::Staged`] builds [terms](term).
//!
//! A fifth, [`sparse::Sparsity`], says which elements of the input an element may depend on, for sparse Jacobians and
//! Hessians.
//!
//! A term goes one way, and each step is a function from one printable program to the next:
//!
//! ```text
//! function ──stage──▶ term with build ──vectorise──▶ bulk term ──simplify──▶
//!   ──dual over Staged──▶ primal + Delta ──transpose──▶ gradient term ──simplify──▶ called, or printed
//!   ──lower──▶ loop nests ──▶ kernels on an engine, or source in another language
//! ```
//!
//! [`vectorise`] is the bulk-operation transform, [`simplify`] rewrites by directional rules in tables, and [`derivative`] has
//! the functions that users call: [`grad`](derivative::grad), [`vjp`](derivative::vjp), [`jvp`](derivative::jvp),
//! [`stage`](derivative::stage) and their relatives. `cargo run --example pipeline` shows one program after every step.
//!
//! [`slices`] has staged functions of a slice, for the solvers, optimisers and samplers of other crates.
//!
//! `kernel` lowers a program to loop nests, which the [`engine`]s run, and [`export`] writes as Rust, C and OpenCL C; it also
//! writes programs as StableHLO, text, data and pictures. The formulas of elementary functions stand in `elementary`, for both.
//! [`build`] is for build scripts.
//!
//! # Which room knows which
//!
//! Data go one way. A room imports from rooms that stand before it in this list, and from no other:
//!
//! ```text
//! shape, error, affine, operation:                what arrays and operations are
//! array, term, structural, evaluate:              plain arrays, programs, and programs run on plain arrays
//! simplify, kernel, vectorise:                    programs made of programs, down to loops
//! prepare, elementary, source, engine:            programs as text in other languages, and as kernels that run
//! algebra, trace, dual, concrete, staged:         the type class and its instances
//! tensor, functions, linalg:                      what functions are written in
//! derivative, sparse, slices:                     what functions are given to
//! export, build, prelude, guide:                  what leaves the library
//! ```
//!
//! The method follows "Dual-Numbers Reverse AD for Functional Array Languages" (Smeding, Konarski, Peyton Jones, Fitzgibbon),
//! whose sections are cited as (P 5.1).
//!
//! # Where to read on
//!
//! - [`guide::first_gradient`]: a new project, in two minutes.
//! - [`guide::tutorial`]: from a function to trained parameters, step by step.
//! - [`guide::attribute`]: functions as one thinks them, and what they stand for.
//! - [`guide::loops_that_write`]: loops that change arrays in place, what they cost, and how they are differentiated.
//! - [`guide::from_numpy`]: what one writes in NumPy and JAX, and here.
//! - [`guide::linear_algebra`]: factorisations and systems of equations, their conventions and their derivatives.
//! - [`guide::sparse_derivatives`]: Jacobians and Hessians that are mostly zero.
//! - [`guide::semantics`]: what happens out of bounds, at ties, at zero.
//! - [`guide::one_operation`]: one operation from the trait to its gradient.
//! - [`guide::adding_an_operation`]: how to add one.
//! - [`guide::printed_programs`]: the language of printed programs, with its grammar.
//! - [`guide::exporting`]: gradients in crates without this library, and in other languages.
//! - [`guide::python`]: functions on NumPy arrays, for SciPy and others.
//! - [`guide::stablehlo`]: programs as text for XLA, JAX and IREE.
//! - [`guide::many_machines`]: training on several processes, by MPI.
//! - [`guide::pages`]: a program at every stage, as a page for a browser.
#![cfg_attr(feature = "opencl", doc = "- [`guide::devices`]: programs on graphics processors and other devices.")]
#![warn(missing_docs)]

// So that code written by the derive macro finds this crate by its name here too.
extern crate self as deltaray;

pub mod affine;
pub mod algebra;
pub(crate) mod array;
pub mod build;
pub mod concrete;
pub mod derivative;
pub mod dual;
pub(crate) mod elementary;
pub mod engine;
pub mod error;
pub(crate) mod evaluate;
pub mod export;
pub mod functions;
pub mod guide;
pub(crate) mod kernel;
pub mod linalg;
pub mod operation;
pub mod prelude;
pub(crate) mod prepare;
pub mod shape;
pub mod simplify;
pub mod slices;
pub(crate) mod source;
pub mod sparse;
pub mod staged;
pub(crate) mod structural;
pub mod tensor;
pub mod term;
pub(crate) mod trace;
pub mod vectorise;

pub use deltaray_derive::{Tree, differentiable};
#[cfg(feature = "opencl")]
pub use engine::opencl;
pub use error::{Error, Result};
