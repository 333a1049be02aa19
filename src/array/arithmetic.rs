//! Arithmetic of the five element types, for loops over elements.

/// Arithmetic of an element type, for loops over elements. Only the five types have it, which closes [`super::ElementType`]
/// too.
pub trait Arithmetic: Copy + PartialOrd + std::fmt::Debug + Send + Sync + 'static {
    /// Zero, or `false`.
    const ZERO: Self;
    /// The maximum of nothing.
    const LOWEST: Self;
    /// The minimum of nothing.
    const HIGHEST: Self;
    /// The sum, which wraps; of booleans, or.
    fn plus(self, other: Self) -> Self;
    /// The product, which wraps; of booleans, and.
    fn times(self, other: Self) -> Self;
    /// The sum of this many equal terms.
    fn repeated(self, count: usize) -> Self;
    /// Whether it is a NaN.
    fn is_nan(self) -> bool;
    /// Whether its bits are those of the other: NaN equals itself, and 0 differs from −0.
    fn same_bits(self, other: Self) -> bool;
    /// A number that orders elements: equal elements have equal numbers, and NaN has the largest.
    fn rank(self) -> i64;
    /// Conversion to another element type.
    fn cast<U: Arithmetic>(self) -> U;
    /// Conversion from `f32`.
    fn from_f32(x: f32) -> Self;
    /// Conversion from `f64`.
    fn from_f64(x: f64) -> Self;
    /// Conversion from `i32`.
    fn from_i32(x: i32) -> Self;
    /// Conversion from `i64`.
    fn from_i64(x: i64) -> Self;
    /// Conversion from `bool`.
    fn from_bool(x: bool) -> Self;
}

macro_rules! conversions {
    ($from:ident) => {
        #[inline(always)]
        fn cast<U: Arithmetic>(self) -> U {
            U::$from(self)
        }
        // Conversions with `as` saturate from floats to integers, and take NaN to 0.
        #[inline(always)]
        fn from_f32(x: f32) -> Self {
            x as Self
        }
        #[inline(always)]
        fn from_f64(x: f64) -> Self {
            x as Self
        }
        #[inline(always)]
        fn from_i32(x: i32) -> Self {
            x as Self
        }
        #[inline(always)]
        fn from_i64(x: i64) -> Self {
            x as Self
        }
        #[inline(always)]
        fn from_bool(x: bool) -> Self {
            x as u8 as Self
        }
    };
}

macro_rules! float {
    ($t:ident, $bits:ident, $from:ident) => {
        impl Arithmetic for $t {
            const ZERO: $t = 0.0;
            const LOWEST: $t = $t::NEG_INFINITY;
            const HIGHEST: $t = $t::INFINITY;
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self + other
            }
            #[inline(always)]
            fn times(self, other: $t) -> $t {
                self * other
            }
            #[inline(always)]
            fn repeated(self, count: usize) -> $t {
                if count == 0 { 0.0 } else { self * count as $t }
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }
            #[inline(always)]
            fn same_bits(self, other: $t) -> bool {
                self.to_bits() == other.to_bits()
            }
            #[inline(always)]
            fn rank(self) -> i64 {
                // The sum takes −0 to 0. The larger the other bits of a negative number, the smaller it is.
                let bits = (self + 0.0).to_bits() as $bits;
                let rank = if bits < 0 { bits ^ $bits::MAX } else { bits };
                if $t::is_nan(self) { i64::MAX } else { i64::from(rank) }
            }
            conversions!($from);
        }
    };
}

macro_rules! integer {
    ($t:ident, $from:ident) => {
        impl Arithmetic for $t {
            const ZERO: $t = 0;
            const LOWEST: $t = $t::MIN;
            const HIGHEST: $t = $t::MAX;
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn repeated(self, count: usize) -> $t {
                self.wrapping_mul(count as $t)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn same_bits(self, other: $t) -> bool {
                self == other
            }
            #[inline(always)]
            fn rank(self) -> i64 {
                i64::from(self)
            }
            conversions!($from);
        }
    };
}

float!(f32, i32, from_f32);
float!(f64, i64, from_f64);
integer!(i32, from_i32);
integer!(i64, from_i64);

impl Arithmetic for bool {
    const ZERO: bool = false;
    const LOWEST: bool = false;
    const HIGHEST: bool = true;
    #[inline(always)]
    fn plus(self, other: bool) -> bool {
        self | other
    }
    #[inline(always)]
    fn times(self, other: bool) -> bool {
        self & other
    }
    #[inline(always)]
    fn repeated(self, count: usize) -> bool {
        self && count > 0
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn same_bits(self, other: bool) -> bool {
        self == other
    }
    #[inline(always)]
    fn rank(self) -> i64 {
        i64::from(self)
    }
    #[inline(always)]
    fn cast<U: Arithmetic>(self) -> U {
        U::from_bool(self)
    }
    #[inline(always)]
    fn from_f32(x: f32) -> bool {
        x != 0.0
    }
    #[inline(always)]
    fn from_f64(x: f64) -> bool {
        x != 0.0
    }
    #[inline(always)]
    fn from_i32(x: i32) -> bool {
        x != 0
    }
    #[inline(always)]
    fn from_i64(x: i64) -> bool {
        x != 0
    }
    #[inline(always)]
    fn from_bool(x: bool) -> bool {
        x
    }
}

/// The larger one; NaN wins.
#[inline(always)]
pub(crate) fn larger<T: Arithmetic>(a: T, b: T) -> T {
    if a >= b || a.is_nan() { a } else { b }
}

/// The smaller one; NaN wins.
#[inline(always)]
pub(crate) fn smaller<T: Arithmetic>(a: T, b: T) -> T {
    if a <= b || a.is_nan() { a } else { b }
}
