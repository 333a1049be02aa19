//! The names that programs use, in one import: `use deltaray::prelude::*;`. No name clashes with `ndarray::prelude`.

pub use crate::algebra::Algebra;
pub use crate::concrete::Concrete;
pub use crate::derivative::{
    ArrayFn, CheckGrad, Compose, ConjugateSolution, Convergence, CustomJvp, CustomRules, CustomVjp, FixedPoint,
    Function, Grad, GradFirst, Implicit, Jvp, LinearSolver, Minimum, Newton, Root, ValueAndGrad, Vjp, check_grad,
    conjugate_gradients, custom_jvp, custom_rules, custom_vjp, fixed_point, grad, grad_aux, hessian, hvp, jacfwd,
    jacrev, jit, jvp, jvp_aux, jvp_batch, linearize, minimum, preconditioned_conjugate_gradients, root, stage,
    value_and_grad, value_and_grad_aux, vjp, vjp_aux, vjp_batch, vmap, vmap_axes,
};
pub use crate::engine::cpu::Cpu;
pub use crate::slices::SliceFunction;
pub use crate::sparse::{Csr, Fixed, SparseHessian, SparseJacobian, fixed};
pub use crate::tensor::{
    Batch, Checkpoints, Element, Family, Float, Integer, Matrix, MovingSlice, Number, R0, R1, R2, R3, R4, R5, R6, RDyn,
    Rank, Scalar, Segments, Tensor, Tensor3, Tensor4, Tensor5, Tensor6, TensorD, Tree, Unravel, Vector,
    associative_scan, associative_scan_axis, associative_scan_reverse, associative_scan_reverse_axis, build,
    checkpoint, concatenate, cond, constant, eye, fold, fold_reverse, full, iota, iterate, linear_recurrence, masked,
    ones, ravel, reduce, reduce_axis, reduce_by_index, reduce_by_index_axis, reduce_segments, reduce_segments_axis,
    scalar, scan, scan_reverse, select, stack, stack_trees, unstack_trees, while_loop, zeros,
};
pub use deltaray_derive::{Tree, differentiable};
