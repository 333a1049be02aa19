//! The angles of a tangent, a sine and a cosine.

use super::real::Real;
use super::{Function, number, polynomial};
use crate::engine::cpu::vector::level::Level;
use crate::operation::Unary;

pub(super) struct Atan;

impl<T: Real> Function<T> for Atan {
    const ROW: Unary = Unary::Atan;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let one = number::<T>(1.0);
        let size = x.size();
        // The angle less 0, π/4 or π/2, whichever is nearest, has the tangent t, (t − 1)/(t + 1) or −1/t.
        let small = size < number(0.41421356237309505);
        let large = size > number(2.414213562373095);
        let above = if small {
            size
        } else if large {
            -one
        } else {
            size - one
        };
        let below = if small {
            one
        } else if large {
            size
        } else {
            size + one
        };
        let turns = if small {
            T::ZERO
        } else if large {
            one
        } else {
            number(0.5)
        };
        let t = above / below;
        let square = t * t;
        let cube = square * t;
        let low = cube.times_plus::<L>(polynomial::<T, L>(square, T::ARCTANGENT), turns * T::HALF_PI.1);
        (turns * T::HALF_PI.0 + (t + low)).signed(x)
    }
}

/// The angle of a sine up to ½, of which the square is given; or of a half of such an angle.
#[inline(always)]
fn arcsine<T: Real, L: Level>(x: T, square: T) -> T {
    (x * square).times_plus::<L>(polynomial::<T, L>(square, T::ARCSINE), x)
}

pub(super) struct Asin;

impl<T: Real> Function<T> for Asin {
    const ROW: Unary = Unary::Asin;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let (half, size) = (number::<T>(0.5), x.size());
        let large = size > half;
        // asin x = π/2 − 2 asin √((1 − x)/2).
        let square = if large { half - half * size } else { size * size };
        let root = if large { square.root() } else { size };
        let beyond = root * square * polynomial::<T, L>(square, T::ARCSINE);
        // The difference to π/4 is exact.
        let (quarter, low) = (half * T::HALF_PI.0, T::HALF_PI.1);
        let complement = quarter - ((beyond + beyond - low) - (quarter - (root + root)));
        (if large { complement } else { root + beyond }).signed(x)
    }
}

pub(super) struct Acos;

impl<T: Real> Function<T> for Acos {
    const ROW: Unary = Unary::Acos;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let (half, size) = (number::<T>(0.5), x.size());
        let large = size > half;
        // acos x = 2 asin √((1 − x)/2), and acos −x = π − acos x.
        let square = if large { half - half * size } else { size * size };
        let root = if large { square.root() } else { x };
        let angle = arcsine::<T, L>(root, square);
        let double = angle + angle;
        let (high, low) = T::HALF_PI;
        let far = if x < T::ZERO { (high + high) - (double - (low + low)) } else { double };
        let near = high - (angle - low);
        if large { far } else { near }
    }
}
