//! The code made from the rows of the operation table: an enumeration, and a function for each column.

use super::{Binary, Domain, Unary};

/// A row of the table as a type, for loops that treat some operations specially.
pub(crate) trait Row {
    /// The operation, of one operand. Operations with a parameter occur with any value of it.
    const UNARY: Option<Unary> = None;
    /// The operation, of two operands.
    const BINARY: Option<Binary> = None;
}

/// Runs one loop over elements for whatever operation it is given, so that every operation gets its own compiled loop.
pub(crate) trait UnaryLoop<T> {
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
pub(crate) trait BinaryLoop<T, U> {
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

/// Whether a row's columns of meanings are there for just the element types that it takes: floats, integers and truth values.
pub(super) const fn fits(domain: Domain, [float, integer, bool]: [bool; 3]) -> bool {
    match domain {
        Domain::Float => float && !integer && !bool,
        Domain::Integer => !float && integer && !bool,
        Domain::Number => float && integer && !bool,
        Domain::Bool => !float && !integer && bool,
        Domain::Any => float && integer && bool,
    }
}

/// Does not compile where a row lacks the meaning for an element type.
macro_rules! check_meanings {
    ($name:ident $domain:ident $($meaning:tt)*) => {
        const _: () = assert!(
            columns::fits(Domain::$domain, [$(!matches!(stringify!($meaning).as_bytes(), b"[]")),*]),
            concat!("the row ", stringify!($name), " has no meaning for an element type of its domain, or one for another"),
        );
    };
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
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident : $ptype:ty))? $text:literal $domain:ident {
        $(float: $float:expr;)? $(integer: $integer:expr;)? $(bool: $bool:expr;)?
        partial: |$x:ident, $y:ident| $partial:expr;
        zero: $zero:expr; finite: $finite:expr; tells_zeros: $tells_zeros:expr; cost: $cost:expr; test: $test:expr;
        source: $source:expr $(, of integers $of_integers:expr)?;
        stablehlo: |$to:ident, $operand:ident| $stablehlo:expr;
    })*) => {
        /// Elementwise operations of one operand; the result has the operand's type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
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
            pub(crate) fn keeps_zero(self) -> bool {
                match self { $(Unary::$name $(($parameter))? => $zero,)* }
            }

            /// Whether it is finite for finite operands.
            pub(crate) fn stays_finite(self) -> bool {
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

            /// Whether IEEE 754 gives it other results for 0.0 and for −0.0 than zeros.
            pub(crate) fn tells_zeros(self) -> bool {
                match self { $(Unary::$name $(($parameter))? => $tells_zeros,)* }
            }

            /// The cost of an element, in units of a sum.
            pub(crate) fn element_cost(self) -> f64 {
                match self { $(Unary::$name $(($parameter))? => $cost,)* }
            }

            /// The interval that tests draw operands from; the operation is smooth inside.
            #[cfg(test)]
            pub(crate) fn test_interval(self) -> (f64, f64) {
                match self { $(Unary::$name $(($parameter))? => $test,)* }
            }

            /// How it is spelled in C and in Rust, for an element type.
            pub(crate) fn spelling(self, dtype: DType) -> OperationSpelling {
                match self { $(Unary::$name $(($parameter))? => {
                    $(if dtype.is_integer() {
                        return $of_integers;
                    })?
                    $source
                })* }
            }

            /// Writes it in StableHLO.
            pub(crate) fn stablehlo<W: StableHlo>(self, writer: &mut W, x: &W::Value) -> W::Value {
                match self { $(Unary::$name $(($parameter))? => { let ($to, $operand) = (writer, x); $stablehlo })* }
            }

            /// Whether operations of a name take a parameter.
            pub(crate) fn takes_parameter(name: &str) -> bool {
                match name {
                    $($text => unary_table!(@takes $(($ptype))?),)*
                    _ => false,
                }
            }

            /// The operation of a name, with a parameter where it takes one.
            pub(crate) fn named(name: &str, parameter: Option<i128>) -> Option<Unary> {
                match name {
                    $($text => unary_table!(@named parameter $name $(($ptype))?),)*
                    _ => None,
                }
            }

            /// How the result `y` moves with the operand `x`.
            pub(crate) fn partial<A: Pointwise>(self, x: &A::Array, y: &A::Array) -> Partial<A> {
                let operand = &Term::<A>(x.clone());
                let result = &Term::<A>(y.clone());
                match self { $(Unary::$name $(($parameter))? => { let ($x, $y) = (operand, result); $partial })* }
            }

            /// Runs a loop with the operation's meaning on `f32`.
            pub(crate) fn run_f32<L: UnaryLoop<f32>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `f64`.
            pub(crate) fn run_f64<L: UnaryLoop<f64>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i32`.
            pub(crate) fn run_i32<L: UnaryLoop<i32>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i64`.
            pub(crate) fn run_i64<L: UnaryLoop<i64>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `bool`.
            pub(crate) fn run_bool<L: UnaryLoop<bool>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop unary_row::$name $(, $bool)?),)* }
            }
        }

        $(check_meanings!($name $domain [$($float)?] [$($integer)?] [$($bool)?]);)*

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
    (@takes) => { false };
    (@takes ($ptype:ty)) => { true };
    (@named $given:ident $name:ident) => {
        $given.is_none().then_some(Unary::$name)
    };
    (@named $given:ident $name:ident ($ptype:ty)) => {
        $given.and_then(|number| <$ptype>::try_from(number).ok()).map(Unary::$name)
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
    ($($(#[$doc:meta])* $name:ident $text:literal $domain:ident {
        $(float: $float:expr;)? $(integer: $integer:expr;)? $(bool: $bool:expr;)?
        $(common: |$ca:ident, $cb:ident| $common:expr;)?
        left: |$la:ident, $lb:ident, $ly:ident| $left:expr; right: |$ra:ident, $rb:ident, $ry:ident| $right:expr;
        zero: $zero:expr; finite: $finite:expr; tells_zeros: $tells_zeros:expr; cost: $cost:expr; test: $test:expr;
        source: $source:expr $(, of integers $of_integers:expr)?;
        stablehlo: |$to:ident, $sa:ident, $sb:ident| $stablehlo:expr;
    })*) => {
        /// Elementwise operations of two operands of one type; the result has that type too.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
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
            pub(crate) fn keeps_zero(self) -> bool {
                match self { $(Binary::$name => $zero,)* }
            }

            /// Whether it is finite for finite operands, apart from overflow of sums and products.
            pub(crate) fn stays_finite(self) -> bool {
                match self { $(Binary::$name => $finite,)* }
            }

            /// Of each operand, whether IEEE 754 gives the operation other results for 0.0 and for −0.0 than zeros.
            pub(crate) fn tells_zeros(self) -> [bool; 2] {
                match self { $(Binary::$name => $tells_zeros,)* }
            }

            /// The cost of an element, in units of a sum.
            pub(crate) fn element_cost(self) -> f64 {
                match self { $(Binary::$name => $cost,)* }
            }

            /// How it is spelled in C and in Rust, for an element type.
            pub(crate) fn spelling(self, dtype: DType) -> OperationSpelling {
                match self { $(Binary::$name => {
                    $(if dtype.is_integer() {
                        return $of_integers;
                    })?
                    $source
                })* }
            }

            /// Writes it in StableHLO.
            pub(crate) fn stablehlo<W: StableHlo>(self, writer: &mut W, a: &W::Value, b: &W::Value) -> W::Value {
                match self { $(Binary::$name => { let ($to, $sa, $sb) = (writer, a, b); $stablehlo })* }
            }

            /// The operation of a name.
            pub(crate) fn named(name: &str) -> Option<Binary> {
                match name {
                    $($text => Some(Binary::$name),)*
                    _ => None,
                }
            }

            /// The interval that tests draw operands from; the operation is smooth inside, except where operands are equal.
            #[cfg(test)]
            pub(crate) fn test_interval(self) -> (f64, f64) {
                match self { $(Binary::$name => $test,)* }
            }

            /// A factor that both partial derivatives share, so that it meets the cotangent once.
            pub(crate) fn common_partial<A: Pointwise>(self, a: &A::Array, b: &A::Array) -> Option<A::Array> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                match self { $(Binary::$name => {
                    let common: Option<Term<A>> = None;
                    $(let common = { let ($ca, $cb) = (left, right); Some($common) };)?
                    common.map(|term| term.0)
                })* }
            }

            /// How the result `y` moves with the left operand `a`, up to the common factor.
            pub(crate) fn left_partial<A: Pointwise>(self, a: &A::Array, b: &A::Array, y: &A::Array) -> Partial<A> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                let result = &Term::<A>(y.clone());
                match self { $(Binary::$name => { let ($la, $lb, $ly) = (left, right, result); $left })* }
            }

            /// How the result `y` moves with the right operand `b`, up to the common factor.
            pub(crate) fn right_partial<A: Pointwise>(self, a: &A::Array, b: &A::Array, y: &A::Array) -> Partial<A> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                let result = &Term::<A>(y.clone());
                match self { $(Binary::$name => { let ($ra, $rb, $ry) = (left, right, result); $right })* }
            }

            /// Runs a loop with the operation's meaning on `f32`.
            pub(crate) fn run_f32<L: BinaryLoop<f32, f32>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `f64`.
            pub(crate) fn run_f64<L: BinaryLoop<f64, f64>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i32`.
            pub(crate) fn run_i32<L: BinaryLoop<i32, i32>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i64`.
            pub(crate) fn run_i64<L: BinaryLoop<i64, i64>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `bool`.
            pub(crate) fn run_bool<L: BinaryLoop<bool, bool>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop binary_row::$name $(, $bool)?),)* }
            }
        }

        $(check_meanings!($name $domain [$($float)?] [$($integer)?] [$($bool)?]);)*

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
    ($($(#[$doc:meta])* $name:ident $text:literal {
        any: $f:expr; mirrored: $mirrored:ident; source: $source:literal; stablehlo: $stablehlo:literal;
    })*) => {
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

            /// The comparison that holds of (b, a) where this one holds of (a, b).
            pub(crate) fn mirrored(self) -> Comparison {
                match self { $(Comparison::$name => Comparison::$mirrored,)* }
            }

            /// The operator in C and in Rust.
            pub(crate) fn operator(self) -> &'static str {
                match self { $(Comparison::$name => $source,)* }
            }

            /// The direction in StableHLO.
            pub(crate) fn direction(self) -> &'static str {
                match self { $(Comparison::$name => $stablehlo,)* }
            }

            /// Runs a loop with the comparison's meaning on elements of any ordered type.
            pub(crate) fn run<T: PartialOrd, L: BinaryLoop<T, bool>>(self, the_loop: L) -> L::Output {
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
