//! The elementwise operations: one table, a row for each.
//!
//! A row states the operation's printed name, the element types it takes, its meaning, whether it takes zeros to zero with
//! finite partial derivatives (what a read that may fall outside needs in order to move into it without a guard), its
//! partial derivatives in the algebra's own terms (P 6.3), and the interval that tests draw operands from. Everything else
//! that is known of an elementwise operation, in any instance or pass, is derived from its row.
//!
//! Choices where a derivative does not exist: `abs` and `sign` have derivative 0 at 0, `relu` has 0 at 0, `sqrt` has
//! +infinity at 0, `floor`, `round` and `sign` have 0 everywhere, `pow(x, y)` has ∂x = 0 at y = 0 and ∂y = 0 at x = 0.

use crate::algebra::Algebra;
use crate::shape::{DType, Value};

/// How the result of an elementwise operation moves with one operand.
pub enum Partial<A: Algebra> {
    /// Not at all.
    Zero,
    /// With the operand itself.
    One,
    /// By this factor, an array of the result's type.
    Factor(A::Array),
    /// With the operand itself where the mask, a boolean array, is true; elsewhere not at all.
    Mask(A::Array),
}

/// The kinds of element that an operation takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// `f32` and `f64`.
    Float,
    /// `i32` and `i64`.
    Integer,
    /// Floats and integers.
    Number,
    /// Truth values.
    Bool,
    /// Every element type.
    Any,
}

impl Domain {
    /// Whether arrays of this element type are accepted.
    pub fn accepts(self, dtype: DType) -> bool {
        match self {
            Domain::Float => dtype.is_float(),
            Domain::Integer => dtype.is_integer(),
            Domain::Number => dtype.is_float() || dtype.is_integer(),
            Domain::Bool => dtype == DType::Bool,
            Domain::Any => true,
        }
    }

    /// How error messages name the accepted element types.
    pub fn name(self) -> &'static str {
        match self {
            Domain::Float => "floats",
            Domain::Integer => "integers",
            Domain::Number => "numbers",
            Domain::Bool => "booleans",
            Domain::Any => "anything",
        }
    }
}

/// An array of some algebra in a derivative rule, with operators, so that rules read as formulas.
pub struct Term<A: Algebra>(pub A::Array);

impl<A: Algebra> Clone for Term<A> {
    fn clone(&self) -> Self {
        Term(self.0.clone())
    }
}

impl<A: Algebra> Term<A> {
    /// An array of this one's type, filled with a number.
    pub fn filled(&self, x: f64) -> Term<A> {
        let value = Value::from_f64(A::dtype(&self.0), x);
        Term(A::constant(crate::concrete::Array::full(&A::shape(&self.0), value)))
    }

    /// Applies a unary operation.
    pub fn unary(&self, op: Unary) -> Term<A> {
        Term(A::unary(op, self.0.clone()))
    }

    /// Applies a binary operation.
    pub fn binary(&self, op: Binary, other: &Term<A>) -> Term<A> {
        Term(A::binary(op, self.0.clone(), other.0.clone()))
    }

    /// Compares with a number.
    pub fn compare(&self, op: Comparison, x: f64) -> Term<A> {
        self.compare_with(op, &self.filled(x))
    }

    /// Compares with another array.
    pub fn compare_with(&self, op: Comparison, other: &Term<A>) -> Term<A> {
        Term(A::compare(op, self.0.clone(), other.0.clone()))
    }

    /// Where this mask is true the first, else the second.
    pub fn select(&self, yes: &Term<A>, no: &Term<A>) -> Term<A> {
        Term(A::select(self.0.clone(), yes.0.clone(), no.0.clone()))
    }
}

macro_rules! term_operator {
    ($trait:ident, $method:ident, $op:expr) => {
        impl<A: Algebra> std::ops::$trait<&Term<A>> for &Term<A> {
            type Output = Term<A>;
            fn $method(self, other: &Term<A>) -> Term<A> {
                self.binary($op, other)
            }
        }
        impl<A: Algebra> std::ops::$trait<&Term<A>> for Term<A> {
            type Output = Term<A>;
            fn $method(self, other: &Term<A>) -> Term<A> {
                self.binary($op, other)
            }
        }
        impl<A: Algebra> std::ops::$trait<Term<A>> for &Term<A> {
            type Output = Term<A>;
            fn $method(self, other: Term<A>) -> Term<A> {
                self.binary($op, &other)
            }
        }
        impl<A: Algebra> std::ops::$trait<Term<A>> for Term<A> {
            type Output = Term<A>;
            fn $method(self, other: Term<A>) -> Term<A> {
                self.binary($op, &other)
            }
        }
        impl<A: Algebra> std::ops::$trait<f64> for &Term<A> {
            type Output = Term<A>;
            fn $method(self, other: f64) -> Term<A> {
                self.binary($op, &self.filled(other))
            }
        }
        impl<A: Algebra> std::ops::$trait<f64> for Term<A> {
            type Output = Term<A>;
            fn $method(self, other: f64) -> Term<A> {
                self.binary($op, &self.filled(other))
            }
        }
    };
}

term_operator!(Add, add, Binary::Add);
term_operator!(Sub, sub, Binary::Sub);
term_operator!(Mul, mul, Binary::Mul);
term_operator!(Div, div, Binary::Div);

impl<A: Algebra> std::ops::Neg for &Term<A> {
    type Output = Term<A>;
    fn neg(self) -> Term<A> {
        self.unary(Unary::Neg)
    }
}

impl<A: Algebra> std::ops::Neg for Term<A> {
    type Output = Term<A>;
    fn neg(self) -> Term<A> {
        self.unary(Unary::Neg)
    }
}

fn factor<A: Algebra>(term: Term<A>) -> Partial<A> {
    Partial::Factor(term.0)
}

fn mask<A: Algebra>(term: Term<A>) -> Partial<A> {
    Partial::Mask(term.0)
}

/// Runs one loop over elements for whatever operation it is given, so that every operation gets its own compiled loop.
pub trait UnaryLoop<T> {
    /// What the loop results in.
    type Output;
    /// Runs the loop for one function.
    fn run<F: Fn(T) -> T>(self, f: F) -> Self::Output;
    /// Stands for the loop of an operation that shape checking refuses for this element type.
    fn undefined(&self) -> ! {
        unreachable!("the operation is not defined for this element type")
    }
}

/// As [`UnaryLoop`], for two operands and any result type.
pub trait BinaryLoop<T, U> {
    /// What the loop results in.
    type Output;
    /// Runs the loop for one function.
    fn run<F: Fn(T, T) -> U>(self, f: F) -> Self::Output;
    /// Stands for the loop of an operation that shape checking refuses for these element types.
    fn undefined(&self) -> ! {
        unreachable!("the operation is not defined for this element type")
    }
}

/// Runs a loop for a column of the table; without one, nothing is compiled for the element type.
macro_rules! run {
    ($the_loop:ident) => {
        $the_loop.undefined()
    };
    ($the_loop:ident $f:expr) => {
        $the_loop.run($f)
    };
}

macro_rules! unary_table {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident : $ptype:ty))? $text:literal $domain:ident
        $(float: $float:expr;)? $(integer: $integer:expr;)? $(bool: $bool:expr;)?
        zero: $zero:expr; test: $test:expr; partial: |$x:ident, $y:ident| $partial:expr;)*) => {
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

            /// The interval that tests draw operands from; the operation is smooth inside.
            pub fn test_interval(self) -> (f64, f64) {
                match self { $(Unary::$name $(($parameter))? => $test,)* }
            }

            /// How the result `y` moves with the operand `x`.
            pub fn partial<A: Algebra>(self, x: &A::Array, y: &A::Array) -> Partial<A> {
                let operand = &Term::<A>(x.clone());
                let result = &Term::<A>(y.clone());
                match self { $(Unary::$name $(($parameter))? => { let ($x, $y) = (operand, result); $partial })* }
            }

            /// Runs a loop with the operation's meaning on `f32`.
            pub fn run_f32<L: UnaryLoop<f32>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop $($float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `f64`.
            pub fn run_f64<L: UnaryLoop<f64>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop $($float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i32`.
            pub fn run_i32<L: UnaryLoop<i32>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop $($integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i64`.
            pub fn run_i64<L: UnaryLoop<i64>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop $($integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `bool`.
            pub fn run_bool<L: UnaryLoop<bool>>(self, the_loop: L) -> L::Output {
                match self { $(Unary::$name $(($parameter))? => run!(the_loop $($bool)?),)* }
            }
        }

        /// The rows without a parameter, for tests and tools that go through the table.
        pub const UNARY_ROWS: &[Unary] = &unary_table!(@list [] $($name $(($parameter))?,)*);
    };
    (@list [$($done:ident)*]) => { [$(Unary::$done),*] };
    (@list [$($done:ident)*] $name:ident ($parameter:ident), $($rest:tt)*) => {
        unary_table!(@list [$($done)*] $($rest)*)
    };
    (@list [$($done:ident)*] $name:ident, $($rest:tt)*) => { unary_table!(@list [$($done)* $name] $($rest)*) };
}

macro_rules! binary_table {
    ($($(#[$doc:meta])* $name:ident $text:literal $domain:ident
        $(float: $float:expr;)? $(integer: $integer:expr;)? $(bool: $bool:expr;)?
        zero: $zero:expr; test: $test:expr;
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

            /// The interval that tests draw operands from; the operation is smooth inside, but where operands are equal.
            pub fn test_interval(self) -> (f64, f64) {
                match self { $(Binary::$name => $test,)* }
            }

            /// A factor that both partial derivatives share, so that it meets the cotangent once.
            pub fn common_partial<A: Algebra>(self, a: &A::Array, b: &A::Array) -> Option<A::Array> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                match self { $(Binary::$name => {
                    let common: Option<Term<A>> = None;
                    $(let common = { let ($ca, $cb) = (left, right); Some($common) };)?
                    common.map(|term| term.0)
                })* }
            }

            /// How the result `y` moves with the left operand `a`, up to the common factor.
            pub fn left_partial<A: Algebra>(self, a: &A::Array, b: &A::Array, y: &A::Array) -> Partial<A> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                let result = &Term::<A>(y.clone());
                match self { $(Binary::$name => { let ($la, $lb, $ly) = (left, right, result); $left })* }
            }

            /// How the result `y` moves with the right operand `b`, up to the common factor.
            pub fn right_partial<A: Algebra>(self, a: &A::Array, b: &A::Array, y: &A::Array) -> Partial<A> {
                let (left, right) = (&Term::<A>(a.clone()), &Term::<A>(b.clone()));
                let result = &Term::<A>(y.clone());
                match self { $(Binary::$name => { let ($ra, $rb, $ry) = (left, right, result); $right })* }
            }

            /// Runs a loop with the operation's meaning on `f32`.
            pub fn run_f32<L: BinaryLoop<f32, f32>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop $($float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `f64`.
            pub fn run_f64<L: BinaryLoop<f64, f64>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop $($float)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i32`.
            pub fn run_i32<L: BinaryLoop<i32, i32>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop $($integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `i64`.
            pub fn run_i64<L: BinaryLoop<i64, i64>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop $($integer)?),)* }
            }

            /// Runs a loop with the operation's meaning on `bool`.
            pub fn run_bool<L: BinaryLoop<bool, bool>>(self, the_loop: L) -> L::Output {
                match self { $(Binary::$name => run!(the_loop $($bool)?),)* }
            }
        }
    };
}

macro_rules! comparison_table {
    ($($(#[$doc:meta])* $name:ident $text:literal $f:expr;)*) => {
        /// Elementwise comparisons of two operands of one type; the result is boolean. A comparison with NaN is false,
        /// but for `!=`; `false` is smaller than `true`.
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
                match self { $(Comparison::$name => the_loop.run($f),)* }
            }
        }
    };
}

/// Integer division that rounds towards negative infinity; by zero it gives the dividend, and it wraps on overflow.
macro_rules! floor_div {
    ($a:ident, $b:ident) => {
        if $b == 0 {
            $a
        } else {
            let quotient = $a.wrapping_div($b);
            if $a.wrapping_rem($b) != 0 && ($a < 0) != ($b < 0) { quotient - 1 } else { quotient }
        }
    };
}

/// The remainder of [`floor_div`], which has the divisor's sign; by zero it gives the dividend.
macro_rules! modulo {
    ($a:ident, $b:ident) => {
        if $b == 0 {
            $a
        } else {
            let remainder = $a.wrapping_rem($b);
            if remainder != 0 && (remainder < 0) != ($b < 0) { remainder + $b } else { remainder }
        }
    };
}

unary_table! {
    /// Negation.
    Neg "neg" Number float: |x| -x; integer: |x| x.wrapping_neg(); zero: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.filled(-1.0));
    /// Reciprocal 1/x.
    Recip "recip" Float float: |x| 1.0 / x; zero: false; test: (0.3, 3.0);
        partial: |x, y| factor(-(y * y));
    /// Absolute value.
    Abs "abs" Number float: |x| x.abs(); integer: |x| x.wrapping_abs(); zero: true; test: (0.2, 3.0);
        partial: |x, y| factor(x.unary(Unary::Sign));
    /// −1, 0 or 1; NaN stays NaN.
    Sign "sign" Number float: |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }; integer: |x| x.signum();
        zero: true; test: (0.2, 3.0); partial: |x, y| Partial::Zero;
    /// x raised to a whole power.
    Powi(n: i32) "powi" Float float: |x| x.powi(n); zero: n > 0; test: (0.3, 2.0);
        partial: |x, y| match n {
            0 => Partial::Zero,
            1 => Partial::One,
            2 => factor(x * 2.0),
            // There is no lower power than this one.
            i32::MIN => factor(y / x * f64::from(n)),
            _ => factor(x.unary(Unary::Powi(n - 1)) * f64::from(n)),
        };
    /// Square root.
    Sqrt "sqrt" Float float: |x| x.sqrt(); zero: false; test: (0.3, 3.0);
        partial: |x, y| factor((y * 2.0).unary(Unary::Recip));
    /// Exponential.
    Exp "exp" Float float: |x| x.exp(); zero: false; test: (-2.0, 2.0);
        partial: |x, y| factor(y.clone());
    /// exp(x) − 1, exact near 0.
    Expm1 "expm1" Float float: |x| x.exp_m1(); zero: true; test: (-2.0, 2.0);
        partial: |x, y| factor(x.unary(Unary::Exp));
    /// Natural logarithm.
    Ln "ln" Float float: |x| x.ln(); zero: false; test: (0.3, 3.0);
        partial: |x, y| factor(x.unary(Unary::Recip));
    /// ln(1 + x), exact near 0.
    Ln1p "ln1p" Float float: |x| x.ln_1p(); zero: true; test: (-0.6, 2.0);
        partial: |x, y| factor((x + 1.0).unary(Unary::Recip));
    /// Sine, of radians.
    Sin "sin" Float float: |x| x.sin(); zero: true; test: (-3.0, 3.0);
        partial: |x, y| factor(x.unary(Unary::Cos));
    /// Cosine, of radians.
    Cos "cos" Float float: |x| x.cos(); zero: false; test: (-3.0, 3.0);
        partial: |x, y| factor(-x.unary(Unary::Sin));
    /// Tangent, of radians.
    Tan "tan" Float float: |x| x.tan(); zero: true; test: (-1.2, 1.2);
        partial: |x, y| factor(y * y + 1.0);
    /// Hyperbolic tangent.
    Tanh "tanh" Float float: |x| x.tanh(); zero: true; test: (-2.0, 2.0);
        partial: |x, y| factor(-(y * y) + 1.0);
    /// 1 / (1 + exp(−x)).
    Sigmoid "sigmoid" Float float: |x| 1.0 / (1.0 + (-x).exp()); zero: false; test: (-3.0, 3.0);
        partial: |x, y| factor(y * (-y + 1.0));
    /// ln(1 + exp(x)), without overflow.
    Softplus "softplus" Float float: |x| x.max(0.0) + (-x.abs()).exp().ln_1p(); zero: false; test: (-3.0, 3.0);
        partial: |x, y| factor(x.unary(Unary::Sigmoid));
    /// x where x > 0, else 0; NaN stays NaN.
    Relu "relu" Number float: |x| if x <= 0.0 { 0.0 } else { x }; integer: |x| x.max(0); zero: true; test: (0.2, 3.0);
        partial: |x, y| mask(x.compare(Comparison::Greater, 0.0));
    /// The largest whole number that is not above x.
    Floor "floor" Float float: |x| x.floor(); zero: true; test: (0.1, 0.9); partial: |x, y| Partial::Zero;
    /// The nearest whole number, halves away from zero.
    Round "round" Float float: |x| x.round(); zero: true; test: (0.6, 1.4); partial: |x, y| Partial::Zero;
    /// Logical negation.
    Not "not" Bool bool: |x| !x; zero: false; test: (0.0, 1.0); partial: |x, y| Partial::Zero;
}

binary_table! {
    /// Sum.
    Add "add" Number float: |a, b| a + b; integer: |a, b| a.wrapping_add(b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::One; right: |a, b, y| Partial::One;
    /// Difference.
    Sub "sub" Number float: |a, b| a - b; integer: |a, b| a.wrapping_sub(b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(b.filled(-1.0));
    /// Product.
    Mul "mul" Number float: |a, b| a * b; integer: |a, b| a.wrapping_mul(b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
    /// Quotient of floats.
    Div "div" Float float: |a, b| a / b; zero: false; test: (0.3, 3.0);
        common: |a, b| b.unary(Unary::Recip);
        left: |a, b, y| Partial::One; right: |a, b, y| factor(-y);
    /// Quotient of integers, truncated; by zero it gives the dividend.
    Quot "quot" Integer integer: |a, b| if b == 0 { a } else { a.wrapping_div(b) }; zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Remainder of the truncated quotient; by zero it gives the dividend.
    Rem "rem" Integer integer: |a, b| if b == 0 { a } else { a.wrapping_rem(b) }; zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Quotient of integers, rounded down; by zero it gives the dividend.
    FloorDiv "floor_div" Integer integer: |a, b| floor_div!(a, b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Remainder of the quotient rounded down; by zero it gives the dividend.
    Modulo "modulo" Integer integer: |a, b| modulo!(a, b); zero: true; test: (-3.0, 3.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// a raised to the power b.
    Pow "pow" Float float: |a, b| a.powf(b); zero: false; test: (0.3, 2.0);
        left: |a, b, y| {
            let slope = b * a.binary(Binary::Pow, &(b + -1.0));
            factor(b.compare(Comparison::Equal, 0.0).select(&b.filled(0.0), &slope))
        };
        right: |a, b, y| {
            let slope = y * a.unary(Unary::Ln);
            factor(a.compare(Comparison::Equal, 0.0).select(&a.filled(0.0), &slope))
        };
    /// The angle of the point (b, a), in radians.
    Atan2 "atan2" Float float: |a, b| a.atan2(b); zero: false; test: (0.3, 3.0);
        common: |a, b| (a * a + b * b).unary(Unary::Recip);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(-a);
    /// The smaller operand; at a tie the derivative goes to the left one. NaN wins.
    Min "min" Number float: |a, b| if a <= b || a.is_nan() { a } else { b }; integer: |a, b| a.min(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::LessEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Less, a));
    /// The smaller operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MinRight "min_right" Number float: |a, b| if a < b || a.is_nan() { a } else { b }; integer: |a, b| a.min(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::Less, b));
        right: |a, b, y| mask(b.compare_with(Comparison::LessEqual, a));
    /// The larger operand; at a tie the derivative goes to the left one. NaN wins.
    Max "max" Number float: |a, b| if a >= b || a.is_nan() { a } else { b }; integer: |a, b| a.max(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::GreaterEqual, b));
        right: |a, b, y| mask(b.compare_with(Comparison::Greater, a));
    /// The larger operand; at a tie the derivative goes to the right one, a literal. NaN wins.
    MaxRight "max_right" Number float: |a, b| if a > b || a.is_nan() { a } else { b }; integer: |a, b| a.max(b);
        zero: true; test: (-3.0, 3.0);
        left: |a, b, y| mask(a.compare_with(Comparison::Greater, b));
        right: |a, b, y| mask(b.compare_with(Comparison::GreaterEqual, a));
    /// a · b, but 0 wherever a is 0, whatever b is: how a cotangent that a `select` has cut off stays cut off. Its
    /// derivative is a product's; instances give it by hand, since both sides must keep zeros too.
    KeepZero "keep_zero" Float float: |a, b| if a == 0.0 { 0.0 } else { a * b }; zero: true; test: (-3.0, 3.0);
        left: |a, b, y| factor(b.clone()); right: |a, b, y| factor(a.clone());
    /// Logical and.
    And "and" Bool bool: |a, b| a & b; zero: true; test: (0.0, 1.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
    /// Logical or.
    Or "or" Bool bool: |a, b| a | b; zero: true; test: (0.0, 1.0);
        left: |a, b, y| Partial::Zero; right: |a, b, y| Partial::Zero;
}

comparison_table! {
    /// a < b.
    Less "lt" |a, b| a < b;
    /// a ≤ b.
    LessEqual "le" |a, b| a <= b;
    /// a > b.
    Greater "gt" |a, b| a > b;
    /// a ≥ b.
    GreaterEqual "ge" |a, b| a >= b;
    /// a = b.
    Equal "eq" |a, b| a == b;
    /// a ≠ b.
    NotEqual "ne" |a, b| a != b;
}

impl Comparison {
    /// The comparison that holds of (b, a) where this one holds of (a, b).
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterEqual => Comparison::LessEqual,
            Comparison::Equal => Comparison::Equal,
            Comparison::NotEqual => Comparison::NotEqual,
        }
    }
}
#[cfg(test)]
mod tests;
