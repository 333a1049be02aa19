//! The error function.

use super::exponential::{Exp, within};
use super::real::Real;
use super::{Function, number, polynomial};
use crate::engine::cpu::vector::level::Level;
use crate::operation::Unary;

pub(super) struct Erf;

impl<T: Real> Function<T> for Erf {
    const ROW: Unary = Unary::Erf;
    #[inline(always)]
    fn value<L: Level>(x: T) -> T {
        let (one, two) = (number::<T>(1.0), number::<T>(2.0));
        let size = within(x.size(), (T::ZERO, T::ERROR_IS_ONE));
        let square = size * size;
        let small = size.times_plus::<L>(polynomial::<T, L>(square, T::ERROR), size);
        // The complement is exp(−x²) times a function that a polynomial of (x − 2)/(x + 2) comes close to.
        let exponential = <Exp as Function<T>>::value::<L>(-square);
        let complement = exponential * polynomial::<T, L>((size - two) / (size + two), T::COMPLEMENTARY_ERROR);
        (if size < one { small } else { one - complement }).signed(x)
    }
}
