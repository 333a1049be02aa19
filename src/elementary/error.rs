//! The error function.

use super::exponential::Exp;
use super::lanes::{Lanes, Real, Rounding};
use super::{VectorFunction, polynomial};
use crate::operation::Unary;

pub(crate) struct Erf;

impl VectorFunction for Erf {
    const ROW: Unary = Unary::Erf;
    #[inline(always)]
    fn value<T: Lanes, L: Rounding>(x: T) -> T {
        let (one, two) = (T::number(1.0), T::number(2.0));
        let size = x.size().at_most(T::of(<T::Element>::ERROR_IS_ONE));
        let square = size * size;
        let small = size.times_plus::<L>(polynomial::<T, L>(square, <T::Element>::ERROR), size);
        // The complement is exp(−x²) times a function that a polynomial of (x − 2)/(x + 2) comes close to.
        let exponential = Exp::value::<T, L>(-square);
        let complement =
            exponential * polynomial::<T, L>((size - two) / (size + two), <T::Element>::COMPLEMENTARY_ERROR);
        T::either(size.less(one), small, one - complement).signed(x)
    }
}
