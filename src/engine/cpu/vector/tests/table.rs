//! Kernels of elementwise operations against the closures of the table.

use super::*;
use crate::operation::{BINARY_ROWS, COMPARISON_ROWS, UNARY_ROWS};
use crate::shape::DType;
use std::ptr::null;

const OPERANDS: [OperandForm; 2] = [OperandForm::Run, OperandForm::One];

/// How far a kernel may be from the table's function, in steps of the type: functions with vector versions are within two units
/// of the exact result, and the standard library's within one.
fn allowed(isa: Instructions, op: Unary, dtype: DType) -> u64 {
    if functions::unary(isa, op, dtype).is_some() { 3 } else { 0 }
}

fn pointer<T>(elements: &[T]) -> *const u8 {
    elements.as_ptr().cast()
}

fn position(operand: OperandForm, at: usize) -> usize {
    if operand == OperandForm::Run { at } else { 0 }
}

fn unary_rows<T: Tested>() {
    for &op in UNARY_ROWS.iter().filter(|op| op.domain().accepts(T::DTYPE)) {
        for isa in Instructions::available() {
            let kernel = unary(isa, op, T::DTYPE);
            for count in lengths() {
                let a = T::elements(count, count as u64);
                let what = |at: usize| format!("{op:?} {isa:?} {count} at {:?}", a[at]);
                // SAFETY: the operand and the result have this many elements.
                let found = result_of(count, |out| unsafe { kernel(out, pointer(&a), null(), null(), count) });
                assert_close(&found, |at| T::unary(op, a[at]), allowed(isa, op, T::DTYPE), &what);
                // In place, the same bits.
                let mut own = a.clone();
                let place = own.as_mut_ptr().cast::<u8>();
                // SAFETY: as above; the operand is the result.
                unsafe { kernel(place, place, null(), null(), count) };
                assert_close(&own, |at| found[at], 0, &what);
            }
        }
    }
}

#[test]
fn every_unary_row() {
    unary_rows::<f32>();
    unary_rows::<f64>();
    unary_rows::<i32>();
    unary_rows::<i64>();
    unary_rows::<bool>();
}

#[test]
fn rows_with_a_parameter_read_it() {
    fn rows<T: Tested>(make: impl Fn(i64) -> Unary, parameters: &[i64]) {
        for isa in Instructions::available() {
            let kernel = unary(isa, make(0), T::DTYPE);
            for &parameter in parameters {
                for count in [1, 5, 33, 70] {
                    let a = T::elements(count, parameter as u64);
                    let b = [parameter];
                    // SAFETY: the operand and the result have this many elements, and the parameter is one.
                    let run = |out| unsafe { kernel(out, pointer(&a), pointer(&b), null(), count) };
                    let op = make(parameter);
                    let what = |at: usize| format!("{op:?} {isa:?} {count} at {:?}", a[at]);
                    assert_close(&result_of(count, run), |at| T::unary(op, a[at]), 0, &what);
                }
            }
        }
    }
    let powers = [0, 1, 2, 3, 4, 5, 7, 10, 64, 1023, -1, -2, -3, -17, i64::from(i32::MAX), i64::from(i32::MIN)];
    rows::<f32>(|n| Unary::Powi(n as i32), &powers);
    rows::<f64>(|n| Unary::Powi(n as i32), &powers);
    rows::<f32>(|n| Unary::Polygamma(n as u32), &[0, 1, 2]);
    rows::<f64>(|n| Unary::Polygamma(n as u32), &[0, 1, 2]);
}

/// Runs a kernel of two operands out of place, and checks it.
fn pair<T: Tested, U: Tested>(
    kernel: VectorKernel,
    kinds: (OperandForm, OperandForm),
    (a, b): (&[T], &[T]),
    expected: impl Fn(T, T) -> U,
    steps: impl Fn(T, T) -> u64,
    name: &dyn Fn() -> String,
) {
    let count = a.len();
    if count == 0 {
        return;
    }
    let at_both = |at| (a[position(kinds.0, at)], b[position(kinds.1, at)]);
    // SAFETY: the operands and the result have this many elements.
    let found: Vec<U> = result_of(count, |out| unsafe { kernel(out, pointer(a), pointer(b), null(), count) });
    let what = |at| format!("{} {kinds:?} {count} at {:?}", name(), at_both(at));
    for at in 0..count {
        let (a, b) = at_both(at);
        assert_close(&found[at..=at], |_| expected(a, b), steps(a, b), &|_| what(at));
    }
}

/// Kernels of a run, the first operand or the second, that is the result too, and of a single element of it.
fn of_an_element_of_the_result<T: Tested>(
    kernel: VectorKernel,
    run_is_first: bool,
    a: &[T],
    name: &dyn Fn() -> String,
) {
    let count = a.len();
    for element in [0, count / 2, count - 1] {
        let operands = |run: *const u8| {
            let single = run.wrapping_add(element * size_of::<T>());
            if run_is_first { (run, single) } else { (single, run) }
        };
        let (left, right) = operands(pointer(a));
        // SAFETY: the run and the result have this many elements, of which the single element is one.
        let found: Vec<T> = result_of(count, |out| unsafe { kernel(out, left, right, null(), count) });
        let mut own = a.to_vec();
        let place = own.as_mut_ptr().cast::<u8>();
        let (left, right) = operands(place);
        // SAFETY: as above; the result may be the run.
        unsafe { kernel(place, left, right, null(), count) };
        assert_close(&own, |at| found[at], 0, &|_| format!("{} in place, of element {element}", name()));
    }
}

fn binary_rows<T: Tested>() {
    for &op in BINARY_ROWS.iter().filter(|op| op.domain().accepts(T::DTYPE)) {
        for isa in Instructions::available() {
            for kinds in OPERANDS.iter().flat_map(|&left| OPERANDS.map(|right| (left, right))) {
                let kernel = binary(isa, op, T::DTYPE, kinds.0, kinds.1);
                for count in lengths() {
                    let (a, b) = (T::elements(count, count as u64), T::elements(count, count as u64 + 7));
                    let name = || format!("{op:?} {isa:?}");
                    let exact = functions::binary(isa, op, T::DTYPE, kinds.0, kinds.1).is_none();
                    let steps = |a, b| if exact { 0 } else { T::allowed(op, a, b) };
                    pair(kernel, kinds, (&a, &b), |a, b| T::binary(op, a, b), steps, &name);
                    if kinds.0 != kinds.1 && count > 0 {
                        of_an_element_of_the_result(kernel, kinds.0 == OperandForm::Run, &a, &name);
                    }
                    if kinds != (OperandForm::Run, OperandForm::Run) {
                        continue;
                    }
                    let (mut left, mut right) = (a.clone(), b.clone());
                    let (at_left, at_right) = (left.as_mut_ptr().cast::<u8>(), right.as_mut_ptr().cast::<u8>());
                    // SAFETY: the operands have this many elements; one is the result.
                    unsafe {
                        kernel(at_left, at_left, pointer(&b), null(), count);
                        kernel(at_right, pointer(&a), at_right, null(), count);
                    }
                    let found = result_of(count, |out| {
                        // SAFETY: the operands and the result have this many elements.
                        unsafe { kernel(out, pointer(&a), pointer(&b), null(), count) }
                    });
                    assert_close(&left, |at| found[at], 0, &|_| format!("{op:?} {isa:?} in place"));
                    assert_close(&right, |at| left[at], 0, &|_| format!("{op:?} {isa:?} in the other's place"));
                }
            }
        }
    }
}

#[test]
fn every_binary_row() {
    binary_rows::<f32>();
    binary_rows::<f64>();
    binary_rows::<i32>();
    binary_rows::<i64>();
    binary_rows::<bool>();
}

fn comparison_rows<T: Tested>() {
    for &op in COMPARISON_ROWS {
        for isa in Instructions::available() {
            for kinds in OPERANDS.iter().flat_map(|&left| OPERANDS.map(|right| (left, right))) {
                let kernel = compare(isa, op, T::DTYPE, kinds.0, kinds.1);
                for count in lengths() {
                    let (a, b) = (T::elements(count, count as u64), T::elements(count, count as u64 + 7));
                    pair(kernel, kinds, (&a, &b), |a, b| op.run(Apply(a, b)), |_, _| 0, &|| format!("{op:?} {isa:?}"));
                }
            }
        }
    }
}

#[test]
fn every_comparison_row() {
    comparison_rows::<f32>();
    comparison_rows::<f64>();
    comparison_rows::<i32>();
    comparison_rows::<i64>();
    comparison_rows::<bool>();
}

/// Rows that choose an operand, or change its sign: they keep all of its bits, even of NaN.
fn chosen_bits<T: Tested>() {
    use Binary::{Max, MaxRight, Min, MinRight};
    use Unary::{Abs, Neg, Relu, Sign, StopGradient};
    for isa in Instructions::available() {
        let (a, b) = (T::elements(1000, 1), T::elements(1000, 2));
        for op in [Abs, Neg, Relu, Sign, StopGradient] {
            let kernel = unary(isa, op, T::DTYPE);
            // SAFETY: the operand and the result have this many elements.
            let found: Vec<T> = result_of(a.len(), |out| unsafe { kernel(out, pointer(&a), null(), null(), a.len()) });
            for (at, found) in found.iter().enumerate() {
                assert!(found.same_bits(T::unary(op, a[at])), "{op:?} {isa:?} {found:?} of {:?}", a[at]);
            }
        }
        for op in [Min, MinRight, Max, MaxRight] {
            let kernel = binary(isa, op, T::DTYPE, OperandForm::Run, OperandForm::Run);
            // SAFETY: the operands and the result have this many elements.
            let found: Vec<T> =
                result_of(a.len(), |out| unsafe { kernel(out, pointer(&a), pointer(&b), null(), a.len()) });
            for (at, found) in found.iter().enumerate() {
                let (a, b) = (a[at], b[at]);
                assert!(found.same_bits(T::binary(op, a, b)), "{op:?} {isa:?} {found:?} of {a:?} and {b:?}");
            }
        }
    }
}

#[test]
fn rows_that_choose_keep_all_bits() {
    chosen_bits::<f32>();
    chosen_bits::<f64>();
}

fn choices<T: Tested>() {
    for isa in Instructions::available() {
        for kinds in OPERANDS.iter().flat_map(|&left| OPERANDS.map(|right| (left, right))) {
            let kernel = select(isa, T::DTYPE, kinds.0, kinds.1);
            for count in lengths().skip(1) {
                let mask = bool::elements(count, count as u64 + 1);
                let (yes, no) = (T::elements(count, 3), T::elements(count, 4));
                // SAFETY: the mask, the operands and the result have this many elements.
                let run = |out| unsafe { kernel(out, pointer(&mask), pointer(&yes), pointer(&no), count) };
                let expected = |at| if mask[at] { yes[position(kinds.0, at)] } else { no[position(kinds.1, at)] };
                assert_close(&result_of(count, run), expected, 0, &|at| format!("{isa:?} {kinds:?} {count} at {at}"));
            }
        }
    }
}

fn conversions<T: Tested, U: Tested>() {
    for isa in Instructions::available() {
        let kernel = cast(isa, T::DTYPE, U::DTYPE);
        for count in lengths() {
            let a = T::elements(count, count as u64 + 3);
            // SAFETY: the operand and the result have this many elements.
            let found: Vec<U> = result_of(count, |out| unsafe { kernel(out, pointer(&a), null(), null(), count) });
            assert_close(&found, |at| a[at].cast(), 0, &|at| format!("{isa:?} {count} at {:?}", a[at]));
        }
    }
}

/// Products with sums: of integers exactly; of floats with one rounding or two, whatever the instructions.
fn sums_of_products<T: Tested>(one_rounding: impl Fn(T, T, T) -> T) {
    for isa in Instructions::available() {
        for kinds in OPERANDS.iter().flat_map(|&left| OPERANDS.map(|right| (left, right))) {
            let kernel = multiply_add(isa, T::DTYPE, kinds.0, kinds.1);
            for count in lengths().skip(1) {
                let (a, b, sum) = (T::elements(count, 5), T::elements(count, 6), T::elements(count, 7));
                let mut found = sum.clone();
                // SAFETY: the operands and the result have this many elements.
                unsafe { kernel(found.as_mut_ptr().cast(), pointer(&a), pointer(&b), null(), count) };
                let expected = |at: usize| {
                    let (a, b) = (a[position(kinds.0, at)], b[position(kinds.1, at)]);
                    let fused = isa != Instructions::Portable;
                    if fused { one_rounding(a, b, sum[at]) } else { a.times(b).plus(sum[at]) }
                };
                assert_close(&found, expected, 0, &|at| format!("{isa:?} {kinds:?} {count} at {at}"));
            }
        }
    }
}

#[test]
fn choices_conversions_and_sums_of_products() {
    macro_rules! for_each {
        ($($t:ident)*) => {$(
            choices::<$t>();
            conversions::<$t, f32>();
            conversions::<$t, f64>();
            conversions::<$t, i32>();
            conversions::<$t, i64>();
            conversions::<$t, bool>();
        )*};
    }
    for_each!(f32 f64 i32 i64 bool);
    sums_of_products::<f32>(f32::mul_add);
    sums_of_products::<f64>(f64::mul_add);
    sums_of_products::<i32>(|a, b, c| a.wrapping_mul(b).wrapping_add(c));
    sums_of_products::<i64>(|a, b, c| a.wrapping_mul(b).wrapping_add(c));
    sums_of_products::<bool>(|a, b, c| a & b | c);
}
