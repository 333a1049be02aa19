//! Copies, ramps and gathers.

use super::*;
use std::ptr::null;

fn runs<T: Tested>() {
    for count in lengths() {
        let a = T::elements(count + 1, count as u64);
        let from = a.as_ptr().cast();
        // SAFETY: the operand and the result have this many elements.
        let found: Vec<T> = result_of(count, |out| unsafe { copy(T::DTYPE)(out, from, null(), null(), count) });
        assert_close(&found, |at| a[at], 0, &|at| format!("copy of {count} at {at}"));
        for isa in Instructions::available() {
            let kernel = fill(isa, T::DTYPE);
            // SAFETY: the operand has an element, and the result this many.
            let found: Vec<T> = result_of(count, |out| unsafe { kernel(out, from, null(), null(), count) });
            assert_close(&found, |_| a[0], 0, &|at| format!("{isa:?} fill of {count} at {at}"));
        }
    }
}

fn distances<T: Tested>() {
    let size = size_of::<T>() as isize;
    for isa in Instructions::available() {
        let kernel = strided_copy(isa, T::DTYPE);
        for count in [0usize, 1, 2, 7, 31, 32, 33, 65, 100] {
            for stride in [0isize, 1, -1, 2, 3, -5] {
                let room = stride.unsigned_abs() * count + 1;
                let a = T::elements(room, count as u64);
                let first = if stride < 0 { room - 1 } else { 0 };
                let from = a[first..].as_ptr().cast::<u8>();
                // SAFETY: the operand has elements at these distances, and the result has room.
                let found: Vec<T> = result_of(count, |out| unsafe { kernel(out, size, from, stride * size, count) });
                let expected = |at: usize| a[(first as isize + at as isize * stride) as usize];
                assert_close(&found, expected, 0, &|at| format!("{isa:?} {count} {stride} at {at}"));
                if stride == 0 {
                    continue;
                }
                let guard = T::SPECIAL[0];
                let mut spread = vec![guard; room];
                let to = spread[first..].as_mut_ptr().cast::<u8>();
                // SAFETY: the result has room at these distances, and the operand has as many elements.
                unsafe { kernel(to, stride * size, found.as_ptr().cast(), size, count) };
                let mut expected = vec![guard; room];
                for (at, &x) in found.iter().enumerate() {
                    expected[(first as isize + at as isize * stride) as usize] = x;
                }
                assert_close(&spread, |at| expected[at], 0, &|at| format!("{isa:?} spread {stride} at {at}"));
            }
        }
    }
}

fn positions<T: Tested>() {
    let size = size_of::<T>();
    let mut random = Random(5);
    for isa in Instructions::available() {
        let kernel = gather(isa, T::DTYPE);
        for count in lengths() {
            for (extent, stride) in [(0i64, 1isize), (1, 1), (17, 1), (17, 3), (17, -2)] {
                let source = T::elements(100, count as u64);
                let first = if stride < 0 { 99 } else { 0 };
                let index: Vec<i64> = (0..count)
                    .map(|_| match random.bits() % 20 {
                        0 => i64::MIN,
                        1 => i64::MAX,
                        2 => 1 << 61,
                        _ => random.bits() as i64 % 20,
                    })
                    .collect();
                let from = source[first..].as_ptr().cast::<u8>();
                // SAFETY: the source has an element at each of the places, and the result has this many.
                let found: Vec<T> = result_of(count, |out| unsafe {
                    kernel(out, from, stride * size as isize, index.as_ptr(), extent, count)
                });
                let expected = |at: usize| match (0..extent).contains(&index[at]) {
                    true => source[(first as i64 + index[at] * stride as i64) as usize],
                    false => T::ZERO,
                };
                assert_close(&found, expected, 0, &|at| format!("{isa:?} {count} {extent} {stride}: {}", index[at]));
            }
        }
    }
}

#[test]
fn moved_elements_keep_their_bits() {
    macro_rules! for_each {
        ($($t:ident)*) => {$(
            runs::<$t>();
            distances::<$t>();
            positions::<$t>();
        )*};
    }
    for_each!(f32 f64 i32 i64 bool);
}

#[test]
fn ramps_wrap() {
    for isa in Instructions::available() {
        let kernel = ramp(isa);
        for (start, step) in [(0, 1), (5, -3), (7, 0), (i64::MAX - 3, 1), (i64::MIN, i64::MAX)] {
            for count in lengths() {
                // SAFETY: the result has this many elements.
                let found: Vec<i64> = result_of(count, |out| unsafe { kernel(out.cast(), start, step, count) });
                let expected = |at: usize| start.wrapping_add(step.wrapping_mul(at as i64));
                assert_close(&found, expected, 0, &|at| format!("{isa:?} {count} at {at}"));
            }
        }
    }
}
