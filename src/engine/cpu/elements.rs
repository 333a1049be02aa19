//! Elements by pointer, without the checks of builds with debug assertions.
//!
//! There `*pointer`, `pointer.read()`, `pointer.add(n)` and their relatives look each time whether a pointer is null, aligned and
//! inside of memory. In innermost loops that takes longer than the work itself and leaves no vectors. References are not looked
//! at, and these functions go through them; nor is `pointer.wrapping_add(n)`.

use std::mem::MaybeUninit;

/// A counting loop. At the first level of optimisation `for` calls a function of its range at every iteration, and loops with
/// calls are not unrolled.
macro_rules! counted {
    ($at:pat_param in $from:tt..$to:expr => $body:block) => {
        counted!($at in $from..$to, 1 => $body)
    };
    ($at:pat_param in $from:tt..$to:expr, $step:expr => $body:block) => {{
        let (mut next, end) = ($from, $to);
        while next < end {
            let $at = next;
            next = next.wrapping_add($step);
            $body
        }
    }};
}
pub(super) use counted;

/// The element at a place.
///
/// # Safety
///
/// There is a valid element, at a multiple of its alignment, which nobody writes meanwhile.
#[inline(always)]
pub(super) unsafe fn load<T: Copy>(from: *const T) -> T {
    // SAFETY: the caller promises an element, and the reference ends here.
    unsafe { *from.as_ref_unchecked() }
}

/// Writes an element to a place.
///
/// # Safety
///
/// There is room for one, at a multiple of its alignment, which nobody else reads or writes meanwhile.
#[inline(always)]
pub(super) unsafe fn store<T: Copy>(to: *mut T, element: T) {
    // SAFETY: the caller promises room, which need not hold an element yet; the reference ends here.
    unsafe { *to.cast::<MaybeUninit<T>>().as_mut_unchecked() = MaybeUninit::new(element) };
}
