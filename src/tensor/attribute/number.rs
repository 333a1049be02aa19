//! Variables that begin as a number, and take numbers.

/// What is added or assigned to a variable that began as a number.
#[diagnostic::on_unimplemented(
    message = "a variable that began as a plain number can not take up an array",
    label = "this is an array",
    note = "begin with an array: `let mut s = scalar(0.0);`, or `zeros(n)`, instead of `let mut s = 0.0;`"
)]
pub trait TakenByNumber: Sized {
    /// The type that it is.
    type Number;
    /// The same value.
    fn taken(self) -> Self::Number;
}

macro_rules! numbers {
    ($($t:ty),*) => {
        $(
            impl TakenByNumber for $t {
                type Number = $t;
                fn taken(self) -> $t {
                    self
                }
            }

            impl<'a> TakenByNumber for &'a $t {
                type Number = &'a $t;
                fn taken(self) -> &'a $t {
                    self
                }
            }
        )*
    };
}

numbers!(f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool);
