//! Help for the tests of rules: runs a program and its simplified form on the same inputs.

use super::simplify;
use crate::array::{Array, ElementType};
use crate::concrete::Concrete;
use crate::shape::{DType, Type, Value};
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op};
use std::borrow::Cow;

/// Programs of a few nodes.
pub(super) fn program(parameters: &[Type], build: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Body {
    let mut graph = Graph::new(parameters, 0);
    let results = build(&mut graph);
    graph.finish(&results)
}

pub(super) fn f64s(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

pub(super) fn i64s(shape: &[usize]) -> Type {
    Type::new(DType::I64, shape)
}

/// A constant table of positions.
pub(super) fn table(shape: &[usize], elements: &[i64]) -> Op {
    Op::Constant(array(&Type::new(DType::I64, shape), elements.iter().map(|&x| Value::I64(x)).collect()))
}

pub(super) fn array(ty: &Type, elements: Vec<Value>) -> Array {
    fn of<T: ElementType>(shape: &[usize], elements: Vec<T>) -> Array {
        let array = ndarray::ArrayD::from_shape_vec(ndarray::IxDyn(shape), elements).expect("as many elements");
        Array::from(array)
    }
    match ty.dtype {
        DType::F32 => of(&ty.shape, elements.iter().map(|x| x.to_f64() as f32).collect()),
        DType::F64 => of(&ty.shape, elements.iter().map(|x| x.to_f64()).collect()),
        DType::I32 => of(&ty.shape, elements.iter().map(|x| x.to_f64() as i32).collect()),
        DType::I64 => of(&ty.shape, elements.iter().map(|x| x.to_f64() as i64).collect()),
        DType::Bool => of(&ty.shape, elements.iter().map(|x| x.to_f64() != 0.0).collect()),
    }
}

/// A generator of numbers that is the same on every run.
struct TestNumbers(u64);

impl TestNumbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn value(&mut self, dtype: DType, special: bool) -> Value {
        let draw = self.next();
        if dtype.is_float() {
            const SPECIAL: [f64; 5] = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            match special && draw.is_multiple_of(4) {
                true => Value::from_f64(dtype, SPECIAL[self.next() as usize % SPECIAL.len()]),
                false => Value::from_f64(dtype, (draw % 2001) as f64 / 500.0 - 2.0),
            }
        } else {
            // Positions from somewhat before to somewhat after small arrays.
            Value::from_i64(dtype, (draw % 12) as i64 - 3)
        }
    }
}

fn close(a: Value, b: Value) -> bool {
    let (x, y) = (a.to_f64(), b.to_f64());
    (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()))
}

/// Simplifies, and checks that the results are the same on random inputs, with NaN and infinities in some.
pub(super) fn checked(body: &Body) -> Body {
    checked_in(body, 6)
}

/// As [`checked`], of rules that may leave out products with 0: only finite inputs are tried.
pub(super) fn checked_finite(body: &Body) -> Body {
    checked_in(body, 4)
}

fn checked_in(body: &Body, rounds: u64) -> Body {
    let simple = simplify(body);
    assert!(simple.is_well_formed());
    assert_eq!(simplify(&simple), simple, "simplified twice, it is the same");
    for round in 0..rounds {
        let mut numbers = TestNumbers(round * 7919 + 17);
        let inputs: Vec<Array> = (0..body.arity())
            .map(|at| {
                let ty = body.parameter_type(at);
                array(ty, (0..ty.size()).map(|_| numbers.value(ty.dtype, round >= 4)).collect())
            })
            .collect();
        let expected = interpret::<Concrete>(body, inputs.clone());
        let results = interpret::<Concrete>(&simple, inputs);
        for (a, b) in expected.iter().zip(&results) {
            assert_eq!(a.ty(), b.ty());
            let same = (0..a.size()).all(|at| close(a.element(at), b.element(at)));
            assert!(same, "round {round}: {a:?}\nbecame {b:?}\n{body:#?}\n{simple:#?}");
        }
    }
    simple
}

/// The operations after the parameters.
pub(super) fn operations(body: &Body) -> Vec<&'static str> {
    let name = |op: &Op| match op {
        Op::Constant(_) => "constant",
        Op::Output(_) => "output",
        Op::Scan(_) => "scan",
        Op::Branch(_) => "branch",
        Op::Sweeps(_) => "sweeps",
        Op::Custom(_) => "custom",
        Op::Reduce(..) => "reduce",
        Op::ArgReduce(..) => "arg_reduce",
        op => match op.ask(|operation| operation.name()) {
            Some(Cow::Borrowed(name)) => name,
            _ => "view",
        },
    };
    body.nodes[body.arity()..].iter().map(|node| name(&node.op)).collect()
}
