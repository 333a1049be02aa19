//! Kernels against the meaning of one element, for all operations, element types, instructions, lengths and operands.

mod accuracy;
mod moved;
mod precision;
mod reduced;
mod table;

use super::*;
use crate::array::ElementType;
use crate::operation::{BinaryLoop, UnaryLoop};

/// The lengths that are tested: two blocks with every rest, and one of many blocks.
pub(super) fn lengths() -> impl Iterator<Item = usize> {
    (0..71).chain([1000])
}

/// Numbers that look random, the same in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The loop over a single element, or a pair.
struct Apply<T>(T, T);

impl<T: Copy> UnaryLoop<T> for Apply<T> {
    type Output = T;
    fn run<F: Fn(T) -> T>(self, f: F) -> T {
        f(self.0)
    }
}

impl<T: Copy, U> BinaryLoop<T, U> for Apply<T> {
    type Output = U;
    fn run<F: Fn(T, T) -> U>(self, f: F) -> U {
        f(self.0, self.1)
    }
}

/// Elements that kernels are tested with.
pub(super) trait Tested: ElementType {
    const SPECIAL: &'static [Self];
    fn random(random: &mut Random) -> Self;
    fn unary(op: Unary, x: Self) -> Self;
    fn binary(op: Binary, a: Self, b: Self) -> Self;
    /// How far a vector version may be from the table's function, in steps of the type.
    fn allowed(op: Binary, a: Self, b: Self) -> u64 {
        match op {
            // Where its terms cancel, only the rounding error of the smaller one is left.
            Binary::LogAddExp if Self::binary(op, a, b) < Self::unary(Unary::Abs, a) => u64::MAX,
            _ => 3,
        }
    }

    /// How many elements of the type lie between the two; NaNs are all the same, and 0 is not −0.
    fn steps(self, other: Self) -> u64;

    /// Special elements between random ones.
    fn elements(count: usize, seed: u64) -> Vec<Self> {
        let mut random = Random(seed);
        (0..count)
            .map(|_| match random.bits() % 3 {
                0 => Self::SPECIAL[random.bits() as usize % Self::SPECIAL.len()],
                _ => Self::random(&mut random),
            })
            .collect()
    }
}

macro_rules! tested {
    ($t:ident, $run:ident, [$($special:expr),*], |$random:ident| $element:expr, |$a:ident, $b:ident| $steps:expr) => {
        impl Tested for $t {
            const SPECIAL: &'static [$t] = &[$($special),*];
            fn random($random: &mut Random) -> $t {
                $element
            }
            fn unary(op: Unary, x: $t) -> $t {
                op.$run(Apply(x, x))
            }
            fn binary(op: Binary, a: $t, b: $t) -> $t {
                op.$run(Apply(a, b))
            }
            fn steps(self, other: $t) -> u64 {
                let ($a, $b) = (self, other);
                $steps
            }
        }
    };
}

macro_rules! tested_float {
    ($t:ident, $run:ident, $signed:ident) => {
        tested!(
            $t,
            $run,
            [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.5,
                -0.5,
                1.5,
                2.5,
                -2.5,
                3.0,
                1e-3,
                -1e3,
                1e10,
                -1e10,
                0.49999997,
                88.0,
                -104.0,
                709.5,
                -745.0,
                710.4,
                $t::MIN_POSITIVE,
                -$t::MIN_POSITIVE,
                $t::MIN_POSITIVE / 8.0,
                $t::EPSILON,
                $t::MAX,
                $t::MIN,
                $t::INFINITY,
                $t::NEG_INFINITY,
                $t::NAN,
                -$t::NAN,
                $t::from_bits($t::NAN.to_bits() | 5),
                i32::MIN as $t,
                i32::MAX as $t + 0.5,
                i32::MIN as $t - 1.5,
                4503599627370495.5,
                -(0.5 - $t::EPSILON / 4.0),
                9223371487098961920.0,
                i32::MAX as $t,
                i64::MAX as $t,
                i64::MIN as $t
            ],
            |random| match random.bits() % 4 {
                0 => $t::from_bits(random.bits() as _),
                1 => random.within(-40.0, 40.0) as $t,
                _ => random.within(-3.0, 3.0) as $t,
            },
            |a, b| {
                // Bits as a number that grows with the float, from −∞ to ∞; −0 lies one below 0.
                let place = |x: $t| {
                    let bits = x.to_bits() as $signed;
                    i128::from(if bits < 0 { $signed::MIN.wrapping_sub(bits).wrapping_sub(1) } else { bits })
                };
                match (a.is_nan(), b.is_nan()) {
                    (true, true) => 0,
                    (false, false) => u64::try_from((place(a) - place(b)).abs()).unwrap_or(u64::MAX),
                    _ => u64::MAX,
                }
            }
        );
    };
}

tested_float!(f32, run_f32, i32);
tested_float!(f64, run_f64, i64);
tested!(
    i32,
    run_i32,
    [0, 1, -1, 2, -2, 31, 32, 33, i32::MAX, i32::MIN],
    |random| match random.bits() % 2 {
        0 => random.bits() as i32,
        _ => random.bits() as i32 % 50,
    },
    |a, b| u64::from(a != b)
);
tested!(
    i64,
    run_i64,
    [0, 1, -1, 2, -2, 63, 64, 65, i64::MAX, i64::MIN],
    |random| match random.bits() % 2 {
        0 => random.bits() as i64,
        _ => random.bits() as i64 % 50,
    },
    |a, b| u64::from(a != b)
);
tested!(bool, run_bool, [false, true], |random| random.bits().is_multiple_of(2), |a, b| u64::from(a != b));

/// The elements of a result, which a kernel writes between others that it leaves alone.
pub(super) fn result_of<U: Tested>(count: usize, write: impl FnOnce(*mut u8)) -> Vec<U> {
    let guard = U::SPECIAL[0];
    let mut room = vec![guard; count + 2];
    write(room[1..].as_mut_ptr().cast());
    assert!(room[0].same_bits(guard) && room[count + 1].same_bits(guard), "written outside");
    room[1..=count].to_vec()
}

/// Fails where an element is further from the expected one than this many steps.
pub(super) fn assert_close<U: Tested>(
    found: &[U],
    expected: impl Fn(usize) -> U,
    steps: u64,
    what: &dyn Fn(usize) -> String,
) {
    for (at, &found) in found.iter().enumerate() {
        let expected = expected(at);
        assert!(found.steps(expected) <= steps, "{}: {found:?} instead of {expected:?}", what(at));
    }
}
