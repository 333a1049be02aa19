//! Variables that begin as a number, and take numbers.

/// What is added to a variable that began as a number.
#[diagnostic::on_unimplemented(
    message = "a variable that began as a plain number can not take up an array",
    label = "this is an array",
    note = "begin with an array: `let mut s = scalar(0.0);`, or `zeros(n)`, instead of `let mut s = 0.0;`"
)]
pub trait AddedToNumber: Sized {
    /// The same value.
    fn added(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($t:ty),*) => {
        $(
            impl AddedToNumber for $t {}
            impl AddedToNumber for &$t {}
        )*
    };
}

numbers!(f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool);

/// What is assigned to a variable of type `T` that began as a number.
#[diagnostic::on_unimplemented(
    message = "a variable that began as a plain number can not become an array",
    label = "this is an array",
    note = "begin with an array: `let mut s = scalar(0.0);`, or `zeros(n)`, instead of `let mut s = 0.0;`"
)]
pub trait AssignedToNumber<T> {
    /// The same value.
    fn assigned(self) -> T;
}

impl<T> AssignedToNumber<T> for T {
    fn assigned(self) -> T {
        self
    }
}

/// A number: a second type that can be assigned keeps the compiler from taking what is assigned for a number before it has
/// looked.
pub struct Number<T>(pub T);

impl<T> AssignedToNumber<T> for Number<T> {
    fn assigned(self) -> T {
        self.0
    }
}
