//! Compiled loops over recurrences of one or two operations.

use crate::array::{ElementType, larger, smaller};
use crate::engine::cpu::elements::{counted, load, store};
use crate::engine::cpu::vector::USES_REGISTERS;
use crate::operation::Binary;
use crate::shape::DType;

/// Runs a chain over a block: the state; two other operands, and places for the old states and for each operation's results,
/// each with its step, 0 or 1; the numbers of steps and of places, each of which has a state; whether the steps go downwards.
pub(super) type ChainKernel = unsafe fn(*mut u8, [(*const u8, usize); 2], [(*mut u8, usize); 3], [usize; 2], bool);

/// The effect of a link of a chain on the state, as in the operation table.
trait ChainLink {
    /// Whether the state does not change.
    const IS_NOTHING: bool = false;
    fn of<T: ElementType>(state: T, other: T) -> T;
}

macro_rules! links {
    ($($name:ident |$s:ident, $x:ident| $meaning:expr;)*) => {
        $(
            struct $name;

            impl ChainLink for $name {
                #[inline(always)]
                fn of<T: ElementType>($s: T, $x: T) -> T {
                    $meaning
                }
            }
        )*
    };
}

links! {
    Plus |s, x| s.plus(x);
    // Exactly the difference, of any numbers.
    Minus |s, x| s.plus(x.times(T::from_i64(-1)));
    Times |s, x| s.times(x);
    KeepZero |s, x| if s == T::ZERO { T::ZERO } else { s.times(x) };
    Largest |s, x| larger(s, x);
    Smallest |s, x| smaller(s, x);
}

/// The second of two where there is one.
struct Nothing;

impl ChainLink for Nothing {
    const IS_NOTHING: bool = true;
    #[inline(always)]
    fn of<T: ElementType>(state: T, _: T) -> T {
        state
    }
}

/// Operands and results as places of elements. Written out, since `map` of arrays is code of its own for every chain.
#[inline(always)]
fn typed<T>(
    others: [(*const u8, usize); 2],
    results: [(*mut u8, usize); 3],
) -> ([(*const T, usize); 2], [(*mut T, usize); 3]) {
    let ([a, b], [old, first, last]) = (others, results);
    let others = [(a.0.cast(), a.1), (b.0.cast(), b.1)];
    (others, [(old.0.cast(), old.1), (first.0.cast(), first.1), (last.0.cast(), last.1)])
}

/// Goes over a block: see [`ChainKernel`].
unsafe fn links<T: ElementType, A: ChainLink, B: ChainLink>(
    state: *mut u8,
    others: [(*const u8, usize); 2],
    results: [(*mut u8, usize); 3],
    [count, _]: [usize; 2],
    reverse: bool,
) {
    let (others, [old, first, last]) = typed::<T>(others, results);
    // SAFETY: there is a state, and the operands and the places have an element for each step, or one.
    unsafe {
        let mut s = load(state.cast::<T>());
        let mut k = if reverse { count.wrapping_sub(1) } else { 0 };
        counted!(_ in 0..count => {
            store(old.0.wrapping_add(k.wrapping_mul(old.1)), s);
            let [a, b] = [others[0], others[1]];
            let a = load(a.0.wrapping_add(k.wrapping_mul(a.1)));
            let b = load(b.0.wrapping_add(k.wrapping_mul(b.1)));
            let between = A::of(s, a);
            store(first.0.wrapping_add(k.wrapping_mul(first.1)), between);
            s = B::of(between, b);
            store(last.0.wrapping_add(k.wrapping_mul(last.1)), s);
            k = if reverse { k.wrapping_sub(1) } else { k.wrapping_add(1) };
        });
        store(state.cast(), s);
    }
}

const fn is_float<T: ElementType>() -> bool {
    matches!(T::DTYPE, DType::F32 | DType::F64)
}

/// Goes over a block of rows: see [`ChainKernel`]. The states of some places at a time stay in registers.
unsafe fn rows<T: ElementType, A: ChainLink, B: ChainLink>(
    state: *mut u8,
    others: [(*const u8, usize); 2],
    results: [(*mut u8, usize); 3],
    [count, places]: [usize; 2],
    reverse: bool,
) {
    let (others, results) = typed::<T>(others, results);
    // Nothing but the elements is read, and nothing but the last result is written.
    let is_plain = results[0].1 == 0 && others[0].1 == 1 && results[2].1 == 1;
    let mut first = 0usize;
    macro_rules! of_width {
        ($width:literal, $plain:literal) => {{
            // SAFETY: as the caller's, of these places.
            unsafe {
                columns::<T, A, B, $width, $plain>(state.cast(), others, results, [count, places, first], reverse)
            };
            first = first.wrapping_add($width);
        }};
    }
    while first < places {
        let left = places.wrapping_sub(first);
        // Rows of any length are those of floats; of integers there are loops for few lengths, which is less code.
        if const { B::IS_NOTHING } && is_plain {
            match left {
                8.. => of_width!(8, true),
                7 if const { is_float::<T>() } => of_width!(7, true),
                6 if const { is_float::<T>() } => of_width!(6, true),
                5 if const { is_float::<T>() } => of_width!(5, true),
                4 if const { is_float::<T>() } => of_width!(4, true),
                3 if const { is_float::<T>() } => of_width!(3, true),
                2 if const { is_float::<T>() } => of_width!(2, true),
                _ => of_width!(1, true),
            }
        } else {
            match left {
                4.. if const { is_float::<T>() } => of_width!(4, false),
                _ => of_width!(1, false),
            }
        }
    }
}

/// Goes over some places of a block of rows, from one on.
///
/// # Safety
///
/// As of [`ChainKernel`], for these places. Where it is plain, the one operation reads an element for each step and place,
/// and has a result for each, which is the last; nothing else is written.
#[inline(always)]
unsafe fn columns<T: ElementType, A: ChainLink, B: ChainLink, const WIDTH: usize, const PLAIN: bool>(
    state: *mut T,
    [mut a, mut b]: [(*const T, usize); 2],
    [mut old, mut first, mut last]: [(*mut T, usize); 3],
    [count, places, from]: [usize; 3],
    reverse: bool,
) {
    let state = state.wrapping_add(from);
    (a.0, b.0) = (a.0.wrapping_add(from.wrapping_mul(a.1)), b.0.wrapping_add(from.wrapping_mul(b.1)));
    old.0 = old.0.wrapping_add(from.wrapping_mul(old.1));
    first.0 = first.0.wrapping_add(from.wrapping_mul(first.1));
    last.0 = last.0.wrapping_add(from.wrapping_mul(last.1));
    // SAFETY: there is a state for each place, and the operands and the results have an element for each step and place, or
    // one.
    unsafe {
        let mut s = load(state.cast::<[T; WIDTH]>());
        let mut at = if reverse { places.wrapping_mul(count.wrapping_sub(1)) } else { 0 };
        counted!(_ in 0..count => {
            if PLAIN {
                let x = load(a.0.wrapping_add(at).cast::<[T; WIDTH]>());
                counted!(k in 0..WIDTH => {
                    s[k] = A::of(s[k], x[k]);
                });
                store(last.0.wrapping_add(at).cast(), s);
            } else {
                counted!(k in 0..WIDTH => {
                    let at = at.wrapping_add(k);
                    store(old.0.wrapping_add(at.wrapping_mul(old.1)), s[k]);
                    let x = load(a.0.wrapping_add(at.wrapping_mul(a.1)));
                    let y = load(b.0.wrapping_add(at.wrapping_mul(b.1)));
                    let between = A::of(s[k], x);
                    store(first.0.wrapping_add(at.wrapping_mul(first.1)), between);
                    s[k] = B::of(between, y);
                    store(last.0.wrapping_add(at.wrapping_mul(last.1)), s[k]);
                });
            }
            at = if reverse { at.wrapping_sub(places) } else { at.wrapping_add(places) };
        });
        store(state.cast(), s);
    }
}

/// Goes over a block of which each state is the last plus an element: see [`ChainKernel`]. Eight at a time, since their sums
/// without the state do not wait for it; it takes one addition of eight.
unsafe fn sums<T: ElementType>(
    state: *mut u8,
    others: [(*const u8, usize); 2],
    results: [(*mut u8, usize); 3],
    [count, _]: [usize; 2],
    reverse: bool,
) {
    let whole = count - count % EIGHT;
    let [old, (first, _), (last, stride)] = results;
    if old.1 == 1 || others[0].1 == 0 || stride == 0 {
        // SAFETY: as the caller's.
        return unsafe { links::<T, Plus, Nothing>(state, others, results, [count, 1], reverse) };
    }
    debug_assert_eq!(first, last, "one operation has one result");
    let rest = |from: usize, count: usize| {
        let (at, elements) = (others[0].0.cast::<T>().wrapping_add(from).cast(), last.cast::<T>().wrapping_add(from));
        let results = [old, (elements.cast(), 1), (elements.cast(), 1)];
        // SAFETY: as the caller's, of a part of the block.
        unsafe { links::<T, Plus, Nothing>(state, [(at, 1); 2], results, [count, 1], reverse) };
    };
    // SAFETY: there are elements and room for `count`, and a state.
    unsafe {
        if reverse {
            let from = count - whole;
            eights::<T, true>(state.cast(), others[0].0.cast::<T>().add(from), last.cast::<T>().add(from), whole);
            rest(0, from);
        } else {
            eights::<T, false>(state.cast(), others[0].0.cast(), last.cast(), whole);
            rest(whole, count - whole);
        }
    }
}

/// Elements whose sums are made at a time.
const EIGHT: usize = 8;

/// Running sums of a multiple of eight elements.
///
/// # Safety
///
/// There is a state, and there are elements and room for so many.
unsafe fn eights<T: ElementType, const REVERSE: bool>(state: *mut T, from: *const T, to: *mut T, count: usize) {
    // SAFETY: the caller promises them.
    unsafe {
        let mut s = load(state);
        counted!(group in 0..count / EIGHT => {
            let start = if REVERSE { count - (group + 1) * EIGHT } else { group * EIGHT };
            let mut x = load(from.wrapping_add(start).cast::<[T; EIGHT]>());
            if REVERSE {
                x.reverse();
            }
            let [a, b, c, d, e, f, g, h] = x;
            let (ab, cd, ef) = (a.plus(b), c.plus(d), e.plus(f));
            let (abc, abcd) = (ab.plus(c), ab.plus(cd));
            let (ef_g, ef_gh) = (ef.plus(g), ef.plus(g.plus(h)));
            let all = abcd.plus(ef_gh);
            let (abcde, abcdef, abcdefg) = (abcd.plus(e), abcd.plus(ef), abcd.plus(ef_g));
            let [low, high] = [[a, ab, abc, abcd], [abcde, abcdef, abcdefg, all]];
            let mut sums = [T::ZERO; EIGHT];
            counted!(k in 0..EIGHT / 2 => {
                (sums[k], sums[EIGHT / 2 + k]) = (s.plus(low[k]), s.plus(high[k]));
            });
            s = sums[EIGHT - 1];
            if REVERSE {
                sums.reverse();
            }
            store(to.wrapping_add(start).cast(), sums);
        });
        store(state, s);
    }
}

/// The compiled loop of a chain of one or two operations, of one place or of rows, if there is one for them: of those that programs
/// have. Others are instructions, or loops over rows.
pub(super) fn chain(dtype: DType, operations: &[Binary], of_rows: bool) -> Option<ChainKernel> {
    match dtype {
        // Without optimisation they gain nothing.
        _ if const { !USES_REGISTERS } => None,
        DType::F32 => of_floats::<f32>(operations, of_rows),
        DType::F64 => of_floats::<f64>(operations, of_rows),
        DType::I32 => of_integers::<i32>(operations, of_rows),
        DType::I64 => of_integers::<i64>(operations, of_rows),
        DType::Bool => None,
    }
}

/// The loop of one or two links, of rows or of one place.
macro_rules! loop_of {
    ($t:ty, $first:ident, $second:ident, $of_rows:expr) => {
        if $of_rows { rows::<$t, $first, $second> } else { links::<$t, $first, $second> }
    };
}

fn of_floats<T: ElementType>(operations: &[Binary], of_rows: bool) -> Option<ChainKernel> {
    Some(match operations {
        [Binary::Add] if !of_rows => sums::<T>,
        [Binary::Add] => rows::<T, Plus, Nothing>,
        [Binary::Sub] => loop_of!(T, Minus, Nothing, of_rows),
        [Binary::Mul] => loop_of!(T, Times, Nothing, of_rows),
        [Binary::KeepZero] => loop_of!(T, KeepZero, Nothing, of_rows),
        [Binary::Max] => loop_of!(T, Largest, Nothing, of_rows),
        [Binary::Min] => loop_of!(T, Smallest, Nothing, of_rows),
        [Binary::Add, Binary::Add] => loop_of!(T, Plus, Plus, of_rows),
        // Linear recurrences, and their derivatives.
        [Binary::Mul, Binary::Add] => loop_of!(T, Times, Plus, of_rows),
        [Binary::Mul, Binary::Sub] => loop_of!(T, Times, Minus, of_rows),
        [Binary::Add, Binary::Mul] => loop_of!(T, Plus, Times, of_rows),
        [Binary::KeepZero, Binary::Add] => loop_of!(T, KeepZero, Plus, of_rows),
        [Binary::Add, Binary::KeepZero] => loop_of!(T, Plus, KeepZero, of_rows),
        // Queues and stores, and what is kept between limits.
        [Binary::Add, Binary::Max] => loop_of!(T, Plus, Largest, of_rows),
        [Binary::Add, Binary::Min] => loop_of!(T, Plus, Smallest, of_rows),
        [Binary::Max, Binary::Min] => loop_of!(T, Largest, Smallest, of_rows),
        [Binary::Min, Binary::Max] => loop_of!(T, Smallest, Largest, of_rows),
        _ => return None,
    })
}

fn of_integers<T: ElementType>(operations: &[Binary], of_rows: bool) -> Option<ChainKernel> {
    Some(match operations {
        [Binary::Add] if !of_rows => sums::<T>,
        [Binary::Add] => rows::<T, Plus, Nothing>,
        [Binary::Mul] => loop_of!(T, Times, Nothing, of_rows),
        [Binary::Max] => loop_of!(T, Largest, Nothing, of_rows),
        [Binary::Min] => loop_of!(T, Smallest, Nothing, of_rows),
        [Binary::Max, Binary::Min] => loop_of!(T, Largest, Smallest, of_rows),
        [Binary::Min, Binary::Max] => loop_of!(T, Smallest, Largest, of_rows),
        _ => return None,
    })
}
