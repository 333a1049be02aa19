//! Instructions give the results of kernels, and loops those of the interpreter, in few instructions.

mod forwarded;
mod random;

use super::instruction::{OWN, ScalarOp};
use super::{Builder, RegisterIndex, Scalars};
use crate::concrete::{self};
use crate::engine::cpu::native::CodeArena;
use crate::engine::cpu::target::Target;
use crate::engine::cpu::vector::{self, Instructions, OperandForm, VectorKernel};
use crate::engine::cpu::{Cpu, Program};
use crate::operation::{BINARY_ROWS, Binary, COMPARISON_ROWS, UNARY_ROWS, Unary};
use crate::prelude::*;
use crate::shape::{DType, Value};

const DTYPES: [DType; 5] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool];

/// Bytes of elements at which operations are tried.
fn samples(dtype: DType) -> Vec<u64> {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.1, -3.5, 2.5, 7.0, 1e30, -1e30, 5e-324, 1e-40, f64::INFINITY, f64::NAN];
    let whole = [0, 1, -1, 2, 7, -8, 63, i64::MAX, i64::MIN, i64::from(i32::MAX), i64::from(i32::MIN)];
    match dtype {
        DType::F32 | DType::F64 => numbers.iter().map(|&x| Value::from_f64(dtype, x).bits()).collect(),
        DType::I32 => whole.iter().map(|&x| Value::I32(x as i32).bits()).collect(),
        DType::I64 => whole.iter().map(|&x| Value::I64(x).bits()).collect(),
        DType::Bool => vec![0, 1],
    }
}

/// Runs the instructions written for three operands, which are in memory, and stored there.
fn run(
    isa: Instructions,
    of: DType,
    to: DType,
    operands: [u64; 3],
    write: impl Fn(&mut Builder, [RegisterIndex; 3]) -> Option<RegisterIndex>,
) -> (u64, usize) {
    let arena = CodeArena::new(isa);
    let results = [None, arena.as_ref()].map(|code| {
        let mut builder = Builder::new(isa);
        let pointers = [(); 4].map(|()| builder.register().unwrap());
        let loaded = [0, 1, 2].map(|k| builder.load(of, pointers[k], 0, true).unwrap());
        let result = write(&mut builder, loaded).unwrap();
        builder.store(to, pointers[3], 0, result).unwrap();
        let scalars = Scalars::written(Target::of(isa, code), builder).unwrap();
        assert_eq!(scalars.machine_code.is_some(), code.is_some());
        assert!(code.is_none_or(CodeArena::seal));
        let mut memory = [operands[0], operands[1], operands[2], 0];
        let places = [0, 1, 2, 3].map(|k| memory.as_mut_ptr().wrapping_add(k).cast::<u8>());
        let mut space = scalars.space().unwrap();
        // SAFETY: the registers are this one's, the pointers are to eight bytes each.
        unsafe { scalars.run_with(pointers.into_iter().zip(places), space.as_mut_ptr().cast()) };
        (memory[3], scalars.instructions())
    });
    // The interpreter's result, and that of machine code.
    assert!(same(to, results[0].0, results[1].0), "{operands:x?}: {results:x?}");
    results[1]
}

/// The result of a kernel for one element.
fn by_kernel(kernel: VectorKernel, [a, b, c]: [u64; 3]) -> u64 {
    let mut result = 0u64;
    let at = |operand: &u64| std::ptr::from_ref(operand).cast::<u8>();
    // SAFETY: there is room for one element, and each operand is one.
    unsafe { kernel(std::ptr::from_mut(&mut result).cast(), at(&a), at(&b), at(&c), 1) };
    result
}

/// Whether two results have the same bits, any NaN being one.
fn same(dtype: DType, a: u64, b: u64) -> bool {
    let is_nan = |bits: u64| match dtype {
        DType::F32 => f32::from_bits(bits as u32).is_nan(),
        DType::F64 => f64::from_bits(bits).is_nan(),
        _ => false,
    };
    a == b || (is_nan(a) && is_nan(b))
}

#[test]
fn every_operation_is_that_of_its_kernel() {
    let mut own = 0;
    for isa in Instructions::available() {
        for dtype in DTYPES {
            for (at, &a) in samples(dtype).iter().enumerate() {
                let check = |name: &str, to: DType, kernel: VectorKernel, operands, (found, _): (u64, usize)| {
                    let expected = by_kernel(kernel, operands);
                    assert!(same(to, found, expected), "{name} of {operands:x?}: {found:x}, {expected:x}");
                };
                let unary = UNARY_ROWS.iter().copied().chain([-3, -1, 0, 1, 2, 5, 64, 100].map(Unary::Powi));
                for op in unary.filter(|op| op.domain().accepts(dtype)) {
                    let operands = [a, op.parameter().unwrap_or(0) as u64, 0];
                    let found = run(isa, dtype, dtype, operands, |b, [x, ..]| b.unary(op, dtype, x));
                    check(op.name(), dtype, vector::unary(isa, op, dtype), operands, found);
                }
                for to in DTYPES {
                    let found = run(isa, dtype, to, [a, 0, 0], |b, [x, ..]| b.cast(dtype, to, x));
                    check("cast", to, vector::cast(isa, dtype, to), [a, 0, 0], found);
                }
                for &b in &samples(dtype)[at % 2..] {
                    for &op in BINARY_ROWS.iter().filter(|op| op.domain().accepts(dtype)) {
                        let found = run(isa, dtype, dtype, [a, b, 0], |w, [x, y, _]| w.binary(op, dtype, x, y));
                        let kernel = vector::binary(isa, op, dtype, OperandForm::Run, OperandForm::Run);
                        check(op.name(), dtype, kernel, [a, b, 0], found);
                    }
                    for &op in COMPARISON_ROWS {
                        let found = run(isa, dtype, DType::Bool, [a, b, 0], |w, [x, y, _]| w.compare(op, dtype, x, y));
                        let kernel = vector::compare(isa, op, dtype, OperandForm::Run, OperandForm::Run);
                        check(op.name(), DType::Bool, kernel, [a, b, 0], found);
                    }
                }
            }
        }
        own = OWN.0.len() + OWN.1.len() + OWN.2.len() + OWN.3.len();
    }
    assert!(own > 60, "{own} rows have an instruction of their own");
    for &(op, dtype) in OWN.0 {
        assert_eq!(ScalarOp::unary(op, dtype).map(ScalarOp::form), Some((1, true)), "{op:?}");
    }
}

#[test]
fn two_operations_in_one_are_those_two() {
    let rows = [Binary::Add, Binary::Sub, Binary::Mul];
    for dtype in [DType::F32, DType::F64] {
        for (first, second) in rows.iter().flat_map(|&first| rows.map(|second| (first, second))) {
            for [a, b, c] in [[0.1, 0.7, 3.3], [-0.0, 0.0, -0.0], [1e30, -7.0, f64::INFINITY], [3.0, 0.3, -2.2]] {
                let operands = [a, b, c].map(|x| Value::from_f64(dtype, x).bits());
                let isa = Instructions::detect();
                let kernel = |op| vector::binary(isa, op, dtype, OperandForm::Run, OperandForm::Run);
                let between = by_kernel(kernel(first), operands);
                for on_the_left in [true, false] {
                    let write = |builder: &mut Builder, [a, b, c]: [RegisterIndex; 3]| {
                        let between = builder.binary(first, dtype, a, b)?;
                        let (x, y) = if on_the_left { (between, c) } else { (c, between) };
                        builder.binary(second, dtype, x, y)
                    };
                    let (found, count) = run(isa, dtype, dtype, operands, write);
                    let pair = if on_the_left { [between, operands[2], 0] } else { [operands[2], between, 0] };
                    assert!(same(dtype, found, by_kernel(kernel(second), pair)), "{first:?} {second:?} {operands:x?}");
                    // Three loads, both, a store, the end.
                    assert_eq!(count, 6, "{first:?} {second:?}");
                }
            }
        }
    }
}

/// The instructions of each loop or conditional of a program that is run by instructions.
fn instructions<In: Family, Out: Family, First: Family>(
    function: &crate::derivative::Function<In, Out, First>,
) -> Vec<usize> {
    let program = Program::new(function.program(), &Cpu::default().threads(1).machine_code(false)).unwrap();
    program.machine.scalars()
}

type S<A> = Scalar<A, f64>;
type V<A> = Vector<A, f64>;

fn logistic<A: Algebra>(x: &S<A>) -> S<A> {
    iterate(x.clone(), 100, |y: S<A>| 3.2 * &y * (1.0 - &y))
}

fn lorenz<A: Algebra>(x: &S<A>) -> S<A> {
    let step = |(x, y, z): (S<A>, S<A>, S<A>)| {
        let (dx, dy) = (10.0 * (&y - &x), &x * (28.0 - &z) - &y);
        let dz = &x * &y - 2.5 * &z;
        (x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz)
    };
    let (x, y, z) = iterate((x.clone(), scalar(1.0), scalar(20.0)), 100, step);
    x + y + z
}

fn counted<A: Algebra>(x: &S<A>) -> S<A> {
    let step = |(y, n): (S<A>, Scalar<A, i64>)| (0.99 * y + n.cast::<f64>(), n + 1);
    while_loop((x.clone(), scalar(0i64)), |(_, n): &(S<A>, Scalar<A, i64>)| n.lt(50), step).0
}

fn affine<A: Algebra>((m, x): &(Matrix<A, f64>, V<A>)) -> S<A> {
    iterate(x.clone(), 100, |y: V<A>| m.dot(&y) + x).sum()
}

fn tent<A: Algebra>(x: &S<A>) -> S<A> {
    iterate(x.clone(), 100, |y: S<A>| cond(y.gt(0.5), || 1.9 * (1.0 - &y), || 1.9 * &y))
}

fn nested<A: Algebra>(x: &S<A>) -> S<A> {
    iterate(x.clone(), 20, |y: S<A>| 0.5 + iterate(y.clone(), 5, |z: S<A>| 0.5 * (&z + &y / &z)))
}

#[test]
fn steps_take_a_few_instructions() {
    let (s, v) = (scalar::<concrete::Concrete, f64>(0.4), V::from(vec![0.1, 0.2, 0.3]));
    let m = Matrix::from_elements((3, 3), (0..9).map(|k| 0.1 * f64::from(k) - 0.4).collect::<Vec<f64>>());
    let found = [
        instructions(&stage(|x: &S<_>| logistic(x), &s).unwrap()),
        instructions(&stage(|x: &S<_>| lorenz(x), &s).unwrap()),
        instructions(&stage(|x: &S<_>| tent(x), &s).unwrap()),
        instructions(&stage(|x: &S<_>| counted(x), &s).unwrap()),
        instructions(&stage(|x: &(Matrix<_, f64>, V<_>)| affine(x), &(m.clone(), v.clone())).unwrap()),
        instructions(&stage(|x: &S<_>| nested(x), &s).unwrap()),
    ];
    // The instructions of a step, reads and writes of the carry, and the end.
    assert_eq!(found, [[7], [19], [9], [12], [33], [12]]);

    // Gradients: a loop forwards and one back, for each loop.
    let back = |found: Vec<usize>| assert!(found.len() == 2 && found.iter().all(|&count| count < 60), "{found:?}");
    back(instructions(&stage(|x: &S<_>| logistic(x), &s).unwrap().grad().unwrap()));
    back(instructions(&stage(|x: &S<_>| lorenz(x), &s).unwrap().grad().unwrap()));
    back(instructions(&stage(|x: &S<_>| tent(x), &s).unwrap().grad().unwrap()));
    back(instructions(&stage(|x: &S<_>| nested(x), &s).unwrap().grad().unwrap()));
    let gradient = stage(|x: &(Matrix<_, f64>, V<_>)| affine(x), &(m, v)).unwrap().grad().unwrap();
    assert_eq!(instructions(&gradient).len(), 2);
    // In a loop that ends by a condition, the condition and both steps are instructions.
    assert_eq!(instructions(&stage(|x: &S<_>| counted(x), &s).unwrap().grad().unwrap()).len(), 3);
}

fn chain<A: Algebra>(x: &V<A>) -> S<A> {
    let step = |x: V<A>, k: Scalar<A, i64>| {
        let next = x.at(&k).sin() * x.at(&(&k + 1));
        x.with(&(k + 1), next)
    };
    fold(x.clone(), &iota(x.len() - 1), step).sum()
}

/// A triangular solve with a product along a row.
fn solve<A: Algebra>((l, b): &(Matrix<A, f64>, V<A>)) -> V<A> {
    fold(zeros(b.len()), &iota(b.len()), |y: V<A>, i| {
        let next = (b.at(&i) - l.at(&i).dot(&y)) / l.at((&i, &i));
        y.with(&i, next)
    })
}

#[test]
fn loops_that_write_run_by_instructions() {
    let x = V::from(vec![0.5; 1000]);
    let value = stage(|x: &V<_>| chain(x), &x).unwrap();
    // The array is copied first; a step is a read of its position and the next one, two reads, a sine, a product, a write, and
    // the next step.
    let found = instructions(&value);
    assert!(found.len() == 1 && found[0] < 14, "{found:?}");
    let gradient = instructions(&value.grad().unwrap());
    assert!(gradient.len() == 2 && gradient.iter().all(|&count| count < 24), "{gradient:?}");

    let (l, b) = (Matrix::from_elements((200, 200), vec![1.0; 200 * 200]), V::from(vec![1.0; 200]));
    let found = instructions(&stage(|x: &(Matrix<_, f64>, V<_>)| solve(x), &(l, b)).unwrap());
    assert!(found.len() == 1 && found[0] < 24, "{found:?}");
}

#[test]
fn what_kernels_do_faster_is_left_to_them() {
    fn wide<A: Algebra>(x: &V<A>) -> V<A> {
        iterate(x.clone(), 100, |y: V<A>| 3.2 * &y * (1.0 - &y))
    }
    let count = |n: usize| {
        let x: V<concrete::Concrete> = vec![0.3; n].into();
        instructions(&stage(|x: &V<_>| wide(x), &x).unwrap()).len()
    };
    assert_eq!([3, 6, 32, 64, 1000].map(count), [1, 1, 0, 0, 0]);
}
