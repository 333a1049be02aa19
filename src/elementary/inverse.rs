//! The angles of a tangent, a sine and a cosine.

use super::lanes::{Lanes, Real, Rounding};
use super::{VectorFunction, polynomial};
use crate::operation::Unary;

pub(crate) struct Atan;

impl VectorFunction for Atan {
    const ROW: Unary = Unary::Atan;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let one = T::number(1.0);
        let size = x.size();
        // The angle less 0, π/4 or π/2, whichever is nearest, has the tangent t, (t − 1)/(t + 1) or −1/t.
        let small = size.less(T::number(0.41421356237309505));
        let large = size.greater(T::number(2.414213562373095));
        let above = T::either(small, size, T::either(large, -one, size - one));
        let below = T::either(small, one, T::either(large, size, size + one));
        let turns = T::either(small, T::number(0.0), T::either(large, one, T::number(0.5)));
        let t = above / below;
        let square = t * t;
        let cube = square * t;
        let low = cube.times_plus::<L>(
            polynomial::<T, L>(square, <T::Element>::ARCTANGENT),
            turns * T::of(<T::Element>::HALF_PI.1),
        );
        (turns * T::of(<T::Element>::HALF_PI.0) + (t + low)).signed(x)
    }
}

/// The angle of a sine up to ½, given with its square; or half of such an angle.
#[inline(always)]
fn arcsine<T: Lanes, L: Rounding>(x: T, square: T) -> T {
    (x * square).times_plus::<L>(polynomial::<T, L>(square, <T::Element>::ARCSINE), x)
}

pub(crate) struct Asin;

impl VectorFunction for Asin {
    const ROW: Unary = Unary::Asin;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let (half, size) = (T::number(0.5), x.size());
        let large = size.greater(half);
        // asin x = π/2 − 2 asin √((1 − x)/2).
        let square = T::either(large, half - half * size, size * size);
        let root = T::either(large, square.root(), size);
        let beyond = root * square * polynomial::<T, L>(square, <T::Element>::ARCSINE);
        // The difference to π/4 is exact.
        let (quarter, low) = (half * T::of(<T::Element>::HALF_PI.0), T::of(<T::Element>::HALF_PI.1));
        let complement = quarter - ((beyond + beyond - low) - (quarter - (root + root)));
        T::either(large, complement, root + beyond).signed(x)
    }
}

pub(crate) struct Acos;

impl VectorFunction for Acos {
    const ROW: Unary = Unary::Acos;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let (half, size) = (T::number(0.5), x.size());
        let large = size.greater(half);
        // acos x = 2 asin √((1 − x)/2), and acos −x = π − acos x.
        let square = T::either(large, half - half * size, size * size);
        let root = T::either(large, square.root(), x);
        let angle = arcsine::<T, L>(root, square);
        let double = angle + angle;
        let (high, low) = (T::of(<T::Element>::HALF_PI.0), T::of(<T::Element>::HALF_PI.1));
        let far = T::either(x.less(T::number(0.0)), (high + high) - (double - (low + low)), double);
        let near = high - (angle - low);
        T::either(large, far, near)
    }
}
