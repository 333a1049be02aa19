//! Vectors for machines whose instructions are not known.

use super::MatrixElement;
use super::hardware::Vector;
use std::ops::{Add, Div, Mul, Sub};

/// Elements of a vector.
const COUNT: usize = 4;

/// Elements whose operations the compiler may make vectors of.
#[derive(Clone, Copy)]
pub(crate) struct Elements<T>([T; COUNT]);

impl<T: MatrixElement> Elements<T> {
    #[inline(always)]
    fn each(self, other: Elements<T>, f: impl Fn(T, T) -> T) -> Elements<T> {
        let mut result = self;
        for lane in 0..COUNT {
            result.0[lane] = f(self.0[lane], other.0[lane]);
        }
        result
    }
}

macro_rules! arithmetic {
    ($($operator:ident $method:ident;)*) => {$(
        impl<T: MatrixElement> $operator for Elements<T> {
            type Output = Elements<T>;
            #[inline(always)]
            fn $method(self, other: Elements<T>) -> Elements<T> {
                self.each(other, |x, y| x.$method(y))
            }
        }
    )*};
}

arithmetic! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<T: MatrixElement> Vector<T> for Elements<T> {
    const LANES: usize = COUNT;
    const IS_REGISTER: bool = false;

    #[inline(always)]
    fn all(x: T) -> Elements<T> {
        Elements([x; COUNT])
    }
    #[inline(always)]
    fn read(from: &[T]) -> Elements<T> {
        let mut elements = [T::ZERO; COUNT];
        elements.copy_from_slice(&from[..COUNT]);
        Elements(elements)
    }
    #[inline(always)]
    fn write(self, to: &mut [T]) {
        to[..COUNT].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn minus_product(self, y: Elements<T>, z: Elements<T>) -> Elements<T> {
        self - y * z
    }
    #[inline(always)]
    fn root(self) -> Elements<T> {
        self.each(self, |x, _| x.square_root())
    }
    #[inline(always)]
    fn magnitude(self) -> Elements<T> {
        self.each(self, |x, _| x.magnitude())
    }
    #[inline(always)]
    fn if_greater(self, other: Elements<T>, yes: Elements<T>, no: Elements<T>) -> Elements<T> {
        let mut result = no;
        for lane in 0..COUNT {
            result.0[lane] = if self.0[lane] > other.0[lane] { yes.0[lane] } else { no.0[lane] };
        }
        result
    }
    #[inline(always)]
    fn zip(self, other: Elements<T>) -> [Elements<T>; 2] {
        [0, COUNT / 2].map(|from| Elements(std::array::from_fn(|at| [self, other][at % 2].0[from + at / 2])))
    }
    #[inline(always)]
    fn if_equal(self, other: Elements<T>, yes: Elements<T>, no: Elements<T>) -> Elements<T> {
        let mut result = no;
        for lane in 0..COUNT {
            result.0[lane] = if self.0[lane] == other.0[lane] { yes.0[lane] } else { no.0[lane] };
        }
        result
    }
}
