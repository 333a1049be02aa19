//! Element types as Rust types.

use crate::array;

/// The type of an array's elements: `f32`, `f64`, `i32`, `i64` or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of an array's elements",
    note = "elements are `f32`, `f64`, `i32`, `i64` or `bool`; positions and sizes that are arrays are of `i64`, and index as they are"
)]
pub trait Element: array::ElementType + std::fmt::Display {
    /// The element for 1; `true`.
    const ONE: Self;
}

/// Elements with arithmetic: all but `bool`.
pub trait Number: Element {}

/// The elements that derivatives flow through: `f32` and `f64`.
pub trait Float: Number {
    /// The nearest element to a number.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// assert_eq!(f32::from_number(0.5), 0.5_f32);
    /// ```
    fn from_number(x: f64) -> Self;
}

/// `i32` and `i64`; their arithmetic wraps.
pub trait Integer: Number {}

macro_rules! element {
    ($($t:ident $one:expr;)*) => {
        $(impl Element for $t {
            const ONE: $t = $one;
        })*
    };
}

element! {
    f32 1.0;
    f64 1.0;
    i32 1;
    i64 1;
    bool true;
}

impl Number for f32 {}
impl Number for f64 {}
impl Number for i32 {}
impl Number for i64 {}

impl Float for f32 {
    fn from_number(x: f64) -> f32 {
        x as f32
    }
}

impl Float for f64 {
    fn from_number(x: f64) -> f64 {
        x
    }
}

impl Integer for i32 {}
impl Integer for i64 {}
