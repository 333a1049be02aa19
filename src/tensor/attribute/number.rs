//! Variables that begin as a number, and take numbers.

/// A value that is added or assigned to a variable that began as a number of type `N`.
///
/// `N` is a parameter, which the compiler leaves open where there is no implementation, so it reports the error once.
#[diagnostic::on_unimplemented(
    message = "a variable that began as a plain number can not take up an array",
    label = "this is an array",
    note = "begin with an array: `let mut s = scalar(0.0);`, or `zeros(n)`, instead of `let mut s = 0.0;`"
)]
pub trait TakenByNumber<N>: Sized {
    /// The same value.
    fn taken(self) -> N;
}

macro_rules! numbers {
    ($($t:ty),*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl TakenByNumber<$t> for $t {
                fn taken(self) -> $t {
                    self
                }
            }

            #[diagnostic::do_not_recommend]
            impl<'a> TakenByNumber<&'a $t> for &'a $t {
                fn taken(self) -> &'a $t {
                    self
                }
            }
        )*
    };
}

numbers!(f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool);
