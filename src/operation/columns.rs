//! The code made from the rows of the operation table: an enumeration, and a function for each column.

use super::{Binary, Unary};

/// A row of the table as a type, for loops that treat some operations specially.
pub trait Row {
    /// The operation, of one operand. Operations with a parameter occur with any value of it.
    const UNARY: Option<Unary> = None;
    /// The operation, of two operands.
    const BINARY: Option<Binary> = None;
}

/// Runs one loop over elements for whatever operation it is given, so that every operation gets its own compiled loop.
pub trait UnaryLoop<T> {
    /// The result of the loop.
    type Output;
    /// Runs the loop for one function.
    fn run<F: Fn(T) -> T>(self, f: F) -> Self::Output;
    /// Runs the loop for a row and its function.
    fn run_row<R: Row, F: Fn(T) -> T>(self, f: F) -> Self::Output
    where
        Self: Sized,
    {
        self.run(f)
    }
    /// Stands for the loop of an operation that shape checking refuses for this element type.
    fn undefined(&self) -> ! {
        unreachable!("the operation is not defined for this element type")
    }
}

/// As [`UnaryLoop`], for two operands and any result type.
pub trait BinaryLoop<T, U> {
    /// The result of the loop.
    type Output;
    /// Runs the loop for one function.
    fn run<F: Fn(T, T) -> U>(self, f: F) -> Self::Output;
    /// Runs the loop for a row and its function.
    fn run_row<R: Row, F: Fn(T, T) -> U>(self, f: F) -> Self::Output
    where
        Self: Sized,
    {
        self.run(f)
    }
    /// Stands for the loop of an operation that shape checking refuses for these element types.
    fn undefined(&self) -> ! {
        unreachable!("the operation is not defined for this element type")
    }
}

/// A row of the table whose meaning is known where the code is compiled, on one operand.
pub(crate) trait UnaryRow<T> {
    /// The result.
    fn of(&self, x: T) -> T;
}

/// As [`UnaryRow`], on two operands and with any result type.
pub(crate) trait BinaryRow<T, U> {
    /// The result.
    fn of(&self, a: T, b: T) -> U;
}

/// Calls a function of the table, whose types are known here.
#[inline(always)]
pub(super) fn call<T, U>(x: T, f: impl Fn(T) -> U) -> U {
    f(x)
}

/// As [`call`].
#[inline(always)]
pub(super) fn call_both<T, U>(a: T, b: T, f: impl Fn(T, T) -> U) -> U {
    f(a, b)
}

/// Runs a loop for a column of the table; without one, nothing is compiled for the element type.
macro_rules! run {
    ($the_loop:ident $row:ty) => {
        $the_loop.undefined()
    };
    ($the_loop:ident $row:ty, $f:expr) => {
        $the_loop.run_row::<$row, _>(
            #[inline(always)]
            $f,
        )
    };
}

macro_rules! unary_table {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident : $ptype:ty))? $text:literal $domain:ident
        $(float: $float:expr;)? $(integer: $integer:expr;)? $(bool: $bool:expr;)?
        zero: $zero:expr; finite: $finite:expr; test: $test:expr; partial: |$x:ident, $y:ident| $partial:expr;)*) => {
        /// Elementwise operations of one operand; the result has the operand's type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Unary { $($(#[$doc])* $name $(($ptype))?,)* }

        #[allow(unused_variables)]
        impl Unary {
            /// The name in printed programs.
            pub fn name(self) -> &'static str {
                match self { $(Unary::$name $(($parameter))? => $text,)* }
            }

            /// The element types the operation takes.
            pub fn domain(self) -> Domain {
                match self { $(Unary::$name $(($parameter))? => Domain::$domain,)* }
            }

            /// Whether it takes 0 to 0 with a finite derivative there.
            pub fn keeps_zero(self) -> bool {
                match self { $(Unary::$name $(($parameter))? => $zero,)* }
            }

            /// Whether it is finite for finite operands.
            pub fn stays_finite(self) -> bool {
                match self { $(Unary::$name $(($parameter))? => $finite,)* }
            }

            /// Its parameter beside the operand, which follows its name in printed programs.
            pub fn parameter(self) -> Option<i64> {
                match self { $(Unary::$name $(($parameter))? => {
                    let parameter: Option<i64> = None;
                    $(let parameter = Some(i64::from($parameter));)?
                    parameter
                })* }
            }

            /// The interval that tests draw operands from; the operation is smooth inside.
            pub fn test_interval(self) -> (f64, f64) {
                match self { $(Unary::$name $(($parameter))? => $test,)* }
            }

            /// How the result `y` moves with the operand `x`.
            pub fn partial<A: Pointwise>(self, x: &A::Array, y: &A::Array) -> Partial<A> {
                let operand = &Term::<A>(x.clone());
                let result = &Term::<A>(y.clone());
                match self { $(Unary::$name $(($parameter))? => { let ($x, $y) = (operand, result); $partial })* }
            }

            /// Runs a loop with the operation's meaning on `f32`.
            pub fn run_f32<L: UnaryLoop<f32>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `f64`.
            pub fn run_f64<L: UnaryLoop<f64>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i32`.
            pub fn run_i32<L: UnaryLoop<i32>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i64`.
            pub fn run_i64<L: UnaryLoop<i64>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `bool`.
            pub fn run_bool<L: UnaryLoop<bool>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $bool)?),)* }
            }
        }

        /// The rows as types.
        pub(crate) mod unary_row {
            $($(#[$doc])* #[allow(dead_code)] pub(crate) struct $name $((pub(crate) $ptype))?;)*
        }

        $(impl columns::Row for unary_row::$name {
            const UNARY: Option<Unary> = Some(Unary::$name $((<$ptype>::MIN))?);
        })*

        unary_table!(@rows f32 $($name $(($parameter))? { $($float)? })*);
        unary_table!(@rows f64 $($name $(($parameter))? { $($float)? })*);
        unary_table!(@rows i32 $($name $(($parameter))? { $($integer)? })*);
        unary_table!(@rows i64 $($name $(($parameter))? { $($integer)? })*);
        unary_table!(@rows bool $($name $(($parameter))? { $($bool)? })*);

        /// The names of all rows.
        pub(crate) const UNARY_NAMES: &[&str] = &[$($text,)*];

        /// The rows without a parameter, for tests and tools that go through the table.
        pub const UNARY_ROWS: &[Unary] = &unary_table!(@list [] $($name $(($parameter))?,)*);
    };
    (@rows $t:ident $($name:ident $(($parameter:ident))? { $($f:expr)? })*) => {
        $(unary_table!(@row $t $name $(($parameter))? { $($f)? });)*
    };
    (@row $t:ident $name:ident $(($parameter:ident))? { $f:expr }) => {
        impl UnaryRow<$t> for unary_row::$name {
            #[inline(always)]
            fn of(&self, x: $t) -> $t {
                $(let unary_row::$name($parameter) = *self;)?
                columns::call(x, $f)
            }
        }
    };
    (@row $t:ident $name:ident $(($parameter:ident))? {}) => {};
    (@list [$($done:ident)*]) => { [$(Unary::$done),*] };
    (@list [$($done:ident)*] $name:ident ($parameter:ident), $($rest:tt)*) => {
        unary_table!(@list [$($done)*] $($rest)*)
    };
    (@list [$($done:ident)*] $name:ident, $($rest:tt)*) => { unary_table!(@list [$($done)* $name] $($rest)*) };
}

macro_rules! binary_table {
    ($($(#[$doc:meta])* $name:ident $text:literal $domain:ident
        $(float: $float:expr;)? $(integer: $integer:expr;)? $(bool: $bool:expr;)?
        zero: $zero:expr; finite: $finite:expr; test: $test:expr;
        $(common: |$ca:ident, $cb:ident| $common:expr;)?
        left: |$la:ident, $lb:ident, $ly:ident| $left:expr; right: |$ra:ident, $rb:ident, $ry:ident| $right:expr;)*) => {
        /// Elementwise operations of two operands of one type; the result has that type too.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Binary { $($(#[$doc])* $name,)* }

        /// All rows, for tests and tools that go through the table.
        pub const BINARY_ROWS: &[Binary] = &[$(Binary::$name,)*];

        #[allow(unused_variables)]
        impl Binary {
            /// The name in printed programs.
            pub fn name(self) -> &'static str {
                match self { $(Binary::$name => $text,)* }
            }

            /// The element types the operation takes.
            pub fn domain(self) -> Domain {
                match self { $(Binary::$name => Domain::$domain,)* }
            }

            /// Whether it takes (0, 0) to 0 with finite partial derivatives there.
            pub fn keeps_zero(self) -> bool {
                match self { $(Binary::$name => $zero,)* }
            }

            /// Whether it is finite for finite operands, apart from overflow of sums and products.
            pub fn stays_finite(self) -> bool {
                match self { $(Binary::$name => $finite,)* }
            }

            /// The interval that tests draw operands from; the operation is smooth inside, except where operands are equal.
            pub fn test_interval(self) -> (f64, f64) {
                match self { $(Binary::$name => $test,)* }
            }

            /// A factor that both partial derivatives share, so that it meets the cotangent once.
            pub fn common_partial<A: Pointwise>(self, a: &A::Array, b: &A::Array) -> Option<A::Array> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                match self { $(Binary::$name => {
                    let common: Option<Term<A>> = None;
                    $(let common = { let ($ca, $cb) = (left, right); Some($common) };)?
                    common.map(|term| term.0)
                })* }
            }

            /// How the result `y` moves with the left operand `a`, up to the common factor.
            pub fn left_partial<A: Pointwise>(self, a: &A::Array, b: &A::Array, y: &A::Array) -> Partial<A> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                let result = &Term::<A>(y.clone());
                match self { $(Binary::$name => { let ($la, $lb, $ly) = (left, right, result); $left })* }
            }

            /// How the result `y` moves with the right operand `b`, up to the common factor.
            pub fn right_partial<A: Pointwise>(self, a: &A::Array, b: &A::Array, y: &A::Array) -> Partial<A> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                let result = &Term::<A>(y.clone());
                match self { $(Binary::$name => { let ($ra, $rb, $ry) = (left, right, result); $right })* }
            }

            /// Runs a loop with the operation's meaning on `f32`.
            pub fn run_f32<L: BinaryLoop<f32, f32>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `f64`.
            pub fn run_f64<L: BinaryLoop<f64, f64>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i32`.
            pub fn run_i32<L: BinaryLoop<i32, i32>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i64`.
            pub fn run_i64<L: BinaryLoop<i64, i64>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `bool`.
            pub fn run_bool<L: BinaryLoop<bool, bool>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $bool)?),)* }
            }
        }

        /// The rows as types.
        pub(crate) mod binary_row {
            $($(#[$doc])* #[allow(dead_code)] pub(crate) struct $name;)*
        }

        $(
            impl columns::Row for binary_row::$name {
                const BINARY: Option<Binary> = Some(Binary::$name);
            }

            binary_table!(@row f32 $name { $($float)? });
            binary_table!(@row f64 $name { $($float)? });
            binary_table!(@row i32 $name { $($integer)? });
            binary_table!(@row i64 $name { $($integer)? });
            binary_table!(@row bool $name { $($bool)? });
        )*
    };
    (@row $t:ident $name:ident { $f:expr }) => {
        impl BinaryRow<$t, $t> for binary_row::$name {
            #[inline(always)]
            fn of(&self, a: $t, b: $t) -> $t {
                columns::call_both(a, b, $f)
            }
        }
    };
    (@row $t:ident $name:ident {}) => {};
}

macro_rules! comparison_table {
    ($($(#[$doc:meta])* $name:ident $text:literal $f:expr;)*) => {
        /// Elementwise comparisons of two operands of one type; the result is boolean. A comparison with NaN is false, except
        /// `!=`; `false` is smaller than `true`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Comparison { $($(#[$doc])* $name,)* }

        /// All rows, for tests and tools that go through the table.
        pub const COMPARISON_ROWS: &[Comparison] = &[$(Comparison::$name,)*];

        impl Comparison {
            /// The name in printed programs.
            pub fn name(self) -> &'static str {
                match self { $(Comparison::$name => $text,)* }
            }

            /// Runs a loop with the comparison's meaning on elements of any ordered type.
            pub fn run<T: PartialOrd, L: BinaryLoop<T, bool>>(self, the_loop: L) -> L::Output {
                match self { $(Comparison::$name => the_loop.run(#[inline(always)] $f),)* }
            }
        }

        /// The rows as types.
        pub(crate) mod comparison_row {
            $($(#[$doc])* pub(crate) struct $name;)*
        }

        $(
            impl<T: PartialOrd> BinaryRow<T, bool> for comparison_row::$name {
                #[inline(always)]
                fn of(&self, a: T, b: T) -> bool {
                    columns::call_both(a, b, $f)
                }
            }
        )*
    };
}
