//! Integer arithmetic: on all pairs of a grid with 0, -1 and the ends of the range.

use deltaray::algebra::Algebra;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;

#[test]
fn quotients_and_remainders() {
    integer_rows! {
        |a, b| a / b, |a, b| if b == 0 { a } else { a.wrapping_div(b) };
        |a, b| a % b, |a, b| if b == 0 { a } else { a.wrapping_rem(b) };
        |a, b| a.floor_div(b), |a, b| match b {
            0 => a,
            -1 => a.wrapping_neg(),
            b => a / b - I::from(a % b != 0 && (a < 0) != (b < 0)),
        };
        |a, b| a.modulo(b), |a, b| match b {
            0 => a,
            -1 => 0,
            b => if a % b != 0 && (a < 0) != (b < 0) { a % b + b } else { a % b },
        };
        // By literals, which rules of simplification see.
        |a, b| a / 0, |a, _| a;
        |a, b| a % 0, |a, _| a;
        |a, b| a.floor_div(0), |a, _| a;
        |a, b| a.modulo(0), |a, _| a;
        |a, b| a / -1, |a, _| a.wrapping_neg();
        |a, b| a % -1, |_, _| 0;
        |a, b| a.floor_div(-1), |a, _| a.wrapping_neg();
        |a, b| a.modulo(-1), |_, _| 0;
        |a, b| a / 1 + a % 1, |a, _| a;
        |a, b| a / 3, |a, _| a / 3;
        |a, b| a % 3, |a, _| a % 3;
        |a, b| a.floor_div(3), |a, _| a.div_euclid(3);
        |a, b| a.modulo(3), |a, _| a.rem_euclid(3);
        |a, b| a.modulo(-3), |a, _| { let r = a % 3; if r > 0 { r - 3 } else { r } };
        |a, b| a / 2 * 2 + a % 2, |a, _| a;
        |a, b| (a * 4) / 4, |a, _| a.wrapping_mul(4) / 4;
        |a, b| (a * 4).modulo(4) + (a + 1 - a), |_, _| 1;
        |a, b| 7 / b, |_, b| if b == 0 { 7 } else { 7 / b };
        |a, b| 7 % b, |_, b| if b == 0 { 7 } else { 7 % b };
    }
}

#[test]
fn bits() {
    integer_rows! {
        |a, b| a & b, |a, b| a & b;
        |a, b| a | b, |a, b| a | b;
        |a, b| a ^ b, |a, b| a ^ b;
        |a, b| !a + b, |a, b| (-1 - a).wrapping_add(b);
        |a, b| a << b, |a, b| u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0);
        |a, b| a >> b, |a, b| match u32::try_from(b).ok().and_then(|b| a.checked_shr(b)) {
            Some(bits) => bits,
            None => -I::from(a < 0),
        };
        |a, b| a << 1, |a, _| a.wrapping_add(a);
        |a, b| a >> 1, |a, _| a.div_euclid(2);
        |a, b| (a & 7) + (a >> 3 << 3), |a, _| a;
        |a, b| a << 100, |_, _| 0;
        |a, b| a >> -1, |a, _| -I::from(a < 0);
    }
}

#[test]
fn overflow_wraps() {
    integer_rows! {
        |a, b| a + b, |a, b| a.wrapping_add(b);
        |a, b| a - b, |a, b| a.wrapping_sub(b);
        |a, b| a * b, |a, b| a.wrapping_mul(b);
        |a, b| -a, |a, _| a.wrapping_neg();
        |a, b| a.abs(), |a, _| a.wrapping_abs();
        |a, b| a.sign() * b, |a, b| a.signum().wrapping_mul(b);
        |a, b| a + I::MAX - b, |a, b| a.wrapping_add(I::MAX).wrapping_sub(b);
        |a, b| (a + 1).gt(a).cast::<I>(), |a, _| I::from(a.wrapping_add(1) > a);
        |a, b| (a * 2).ge(a).cast::<I>(), |a, _| I::from(a.wrapping_mul(2) >= a);
        |a, b| (a + b).max(a).min(b), |a, b| a.wrapping_add(b).max(a).min(b);
        |a, b| a.relu() + b, |a, b| a.max(0).wrapping_add(b);
        |a, b| a.lt(b).select(b - a, a - b), |a, b| if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
        |a, b| build(a.len(), |i| a.at(&i) * 3 + b.at(i)), |a, b| a.wrapping_mul(3).wrapping_add(b);
        |a, b| (a * b).equal(b * a).cast::<I>(), |_, _| 1;
    }
}

#[test]
fn sums_wrap() {
    integer_rows! {
        // Each number stands twelve times in each operand.
        |a, b| (a * 0 + 1) * (a.sum() - b.sum()), |_, _| 0;
        |a, b| a * 0 + (a * 0 + I::MAX).sum(), |_, _| I::MAX.wrapping_mul(144);
        |a, b| a * 0 + a.dot(&(b * 0 + 3)) - a.sum() * 3, |_, _| 0;
        |a, b| b * 0 + scan(scalar(1), a, a.len(), |c, _| (c * 3, ())).0, |_, _| (3 as I).wrapping_pow(144);
    }
}

/// Simplification knows of it, too: it once took such casts for ones that saturate.
#[test]
fn integers_that_are_cast_to_narrower_ones_wrap() {
    fn narrowed<A: Algebra>(
        x: &Vector<A, i64>,
    ) -> (Vector<A, i32>, Vector<A, bool>, Vector<A, i32>, Vector<A, bool>, Vector<A, i32>) {
        let narrow = x.modulo(1_i64 << 33).cast::<i32>();
        let quotient = narrow.cast::<i64>().floor_div(1_i64 << 28);
        let known = (iota::<A>(x.len()) * (1_i64 << 32) + (1_i64 << 31)).cast::<i32>();
        (narrow.clone(), narrow.ge(0), narrow.max(0), quotient.lt(0), known)
    }
    let x = Vector::<Concrete, i64>::from([1, 1 << 31, (1 << 31) + 7, 3 << 30, (1 << 32) + 5, (1 << 33) - 1].to_vec());
    let wrapped = [1, i32::MIN, i32::MIN + 7, -(1 << 30), 5, -1];
    let staged = stage(narrowed, &x).unwrap();
    let compiled = staged.compile(Cpu::default()).unwrap();
    for (narrow, is_positive, positive, is_negative, known) in
        [narrowed(&x), staged.interpret(&x).unwrap(), compiled.call(&x).unwrap()]
    {
        assert_eq!(narrow.to_vec(), wrapped);
        assert_eq!(is_positive.to_vec(), wrapped.map(|x| x >= 0));
        assert_eq!(positive.to_vec(), wrapped.map(|x| x.max(0)));
        assert_eq!(is_negative.to_vec(), wrapped.map(|x| x < 0));
        assert_eq!(known.to_vec(), [i32::MIN; 6]);
    }
}
