//! Programs that once went wrong.

#[path = "regressions/arithmetic.rs"]
mod arithmetic;
#[path = "regressions/loops.rs"]
mod loops;
#[path = "regressions/sizes.rs"]
mod sizes;
#[path = "regressions/staging.rs"]
mod staging;

use deltaray::Error;
use deltaray::algebra::Algebra;
use deltaray::concrete::Array;
use deltaray::derivative::program;
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::export;
use deltaray::functions::{Window, convolution_2d, mean_pool_2d};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type};
use deltaray::staged::Staged;
use deltaray::term::interpret::interpret;
use deltaray::term::{Graph, Op, Scan};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn v(elements: &[f64]) -> Vector<Concrete, f64> {
    Vector::from_slice(elements)
}

/// The error of staging a function of a vector of two elements.
fn error_of<Y: Tree<Staged>>(f: impl FnOnce(&Vector<Staged, f64>) -> Y) -> Error {
    match stage(f, &v(&[1.0, 2.0])) {
        Err(error) => error,
        Ok(_) => panic!("no error"),
    }
}
