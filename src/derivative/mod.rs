//! Derivatives of functions that users write: [`grad`], [`vjp`], [`jvp`] and their relatives, at any algebra.
//!
//! The function runs in another algebra than its arguments, [`Nested`](crate::algebra::Algebra::Nested) or
//! [`Forward`](crate::algebra::Algebra::Forward), so that values of the outer program enter it by an explicit
//! [`lift`](crate::tensor::Tensor::lift) and derivatives of different levels can not be mixed up.

mod arguments;
mod batch;
mod check;
mod chunks;
mod compiled;
mod custom;
mod eager;
mod function;
mod implicit;
mod jacobian;
mod jit;
mod linear;
#[cfg(feature = "opencl")]
mod on_device;
pub mod program;
mod signature;
mod staged;
mod stored;

pub(crate) use arguments::checked_arguments;
pub use batch::{BatchPullback, jvp_batch, vjp_batch, vmap, vmap_axes};
pub use check::{CheckGrad, check_grad};
pub use compiled::Compiled;
pub use custom::{CustomJvp, CustomRules, CustomVjp, custom_jvp, custom_rules, custom_vjp};
pub use eager::{TreePullback, grad, grad_aux, jvp, jvp_aux, value_and_grad, value_and_grad_aux, vjp, vjp_aux};
pub use function::{ArrayFn, Compose, Grad, Jvp, ValueAndGrad, Vjp};
pub use implicit::{
    ConjugateSolution, Convergence, DENSE_UNKNOWNS, FixedPoint, GradFirst, Implicit, LinearSolver, Minimum, Newton,
    Root, conjugate_gradients, fixed_point, minimum, preconditioned_conjugate_gradients, root,
};
pub use jacobian::{hessian, hvp, jacfwd, jacrev};
pub use jit::{Gradient, Jit, KEPT_PROGRAMS, Value, ValueAndGradient, Wanted, jit};
pub use linear::{LinearMap, Linearized, linearize};
#[cfg(feature = "opencl")]
pub use on_device::{DeviceArguments, DeviceRest, OnDevice};
pub use staged::{Function, stage};
pub use stored::{CompiledFn, JitFn, Signature, StagedFn};

/// A tree of family `F` over the algebra `A`.
type At<F, A> = <F as crate::tensor::Family>::At<A>;
