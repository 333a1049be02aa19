//! The names that staged functions are printed under.
// The tests are about how things are written.
#![allow(clippy::redundant_closure)]

use crate::harness::v;
use deltaray::prelude::*;

mod generic {
    use super::*;

    /// Calls another of its name, whose parameters have other names.
    pub fn loss<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        super::loss(x)
    }

    pub fn generic<A: Algebra, T>(x: &Vector<A, f64>, _: T) -> String {
        let like = Vector::from(vec![1.0; x.len()]);
        stage(|y| super::loss(y), &like).expect("it is staged").to_string()
    }
}

#[differentiable]
fn loss(weights: Vector<f64>) -> Scalar<f64> {
    weights.sum()
}

#[differentiable]
fn changed(mut state: Vector<f64>) -> Vector<f64> {
    state = state * 2.0;
    state
}

#[differentiable]
fn split((mut position, speed): (Vector<f64>, Vector<f64>)) -> Vector<f64> {
    position = position + speed;
    position
}

struct Model;

impl Model {
    fn apply<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        x * 2.0
    }
}

/// The first line of a program.
fn head(program: impl ToString) -> String {
    program.to_string().lines().next().unwrap_or_default().to_string()
}

#[test]
fn names_are_those_of_the_function_that_is_staged() {
    let x = v([1.0, 2.0]);
    let own = head(stage(loss, &x).expect("it is staged"));
    assert!(own.contains("loss") && own.contains("weights"), "{own}");
    let other = head(stage(generic::loss, &x).expect("it is staged"));
    assert!(other.contains("loss") && !other.contains("weights"), "{other}");
    let valued = head(stage(loss {}.closure(), &x).expect("it is staged"));
    assert_eq!(valued, own);
}

#[test]
fn parameters_have_their_written_names() {
    let x = v([1.0, 2.0]);
    let program = head(stage(changed, &x).expect("it is staged"));
    assert!(program.contains("state") && !program.contains("argument"), "{program}");
    let program = head(stage(split, (&x, &x)).expect("it is staged"));
    assert!(program.contains("position") && program.contains("speed"), "{program}");
}

#[test]
fn functions_inside_of_functions_have_names_too() {
    #[differentiable]
    fn inner(angles: Vector<f64>) -> Vector<f64> {
        angles.sin()
    }
    let program = head(stage(inner, &v([1.0])).expect("it is staged"));
    assert!(program.contains("inner") && program.contains("angles"), "{program}");
}

#[test]
fn methods_have_names_and_closures_have_none() {
    let x = v([1.0, 2.0]);
    let method = head(stage(Model::apply, &x).expect("it is staged"));
    assert!(method.contains("apply") && !method.contains("Model"), "{method}");
    let closure = head(generic::generic(&x, 1u8));
    let plain = head(stage(|y| loss(y), &x).expect("it is staged"));
    assert!(!closure.contains("generic"), "{closure}");
    assert_eq!(closure, plain);
}

#[test]
fn errors_of_arguments_have_the_names_of_parameters() {
    let (x, long) = (v([1.0, 2.0]), v([1.0; 3]));
    let staged = stage(split, (&x, &x)).expect("it is staged");
    let compiled = staged.compile(Cpu::default()).expect("it is compiled");
    let mut out = x.clone();
    for found in [
        staged.call((&x, &long)).map(drop),
        compiled.call((&x, &long)).map(drop),
        compiled.call_into((&x, &long), &mut out),
    ] {
        let found = found.expect_err("shapes differ").to_string();
        let expected = "argument 1, `speed`: the program was staged for f64[2], but f64[3] was given (at ";
        assert!(found.starts_with(expected), "{found}");
    }
    let found = stage(loss, &x).unwrap().sparse_jacobian().unwrap().call(&long).expect_err("shapes differ").to_string();
    assert!(found.starts_with("argument 0, `weights`: "), "{found}");
}
