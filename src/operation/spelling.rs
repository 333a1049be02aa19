//! How rows of the table are spelled in C, in OpenCL's C and in Rust.

use std::cmp::Ordering;

/// How an operation is written. Operands stand for `$0` and `$1`; they hold together as tightly as a name.
#[derive(Clone, Copy)]
pub(crate) enum OperationSpelling {
    /// A function of C's mathematical library, which OpenCL has under the same name, and the method of Rust's floats.
    Library { c: &'static str, rust: &'static str },
    /// A function of C's mathematical library and OpenCL that Rust has in the crate `libm` only; of `f32` too it is computed in
    /// `f64`.
    Special(&'static str),
    /// An expression that is the same in all languages; `@` is the ending of a literal of single precision in C.
    Expression(&'static str),
    /// An operator on truth values in C, and in Rust.
    Logical { c: &'static str, rust: &'static str },
    /// A product of so many times the operand.
    Product(usize),
    /// A helper function beside the program.
    Helper(&'static HelperFunction),
    /// Such a function, which takes a number behind the operand.
    HelperAnd(&'static HelperFunction, i64),
    /// Such a function, which takes a number before the operand.
    HelperOf(i64, &'static HelperFunction),
}

/// A function that stands beside a program which calls it: what languages lack of the library's meaning of an operation.
///
/// In both texts `T` is the element type and `S` its name in names, and `BITS` its width. In C `P` is the program's prefix, `U` the
/// unsigned type of that width, `F` behind the name of a function the ending of those of single precision, and `.0F` a literal's
/// end. In Rust the capitals of a row's name, `LN1P`, are its function, of the standard library or of `libm`, and so are `CBRT` and
/// `COPYSIGN`.
#[derive(Debug)]
pub(crate) struct HelperFunction {
    /// Its name, before that of the element type.
    pub(crate) name: &'static str,
    /// The text in C.
    pub(crate) c: &'static str,
    /// The text in Rust; empty where Rust's writers have no use for the function.
    pub(crate) rust: &'static str,
    /// The texts for `f32` where these call the function for `f64`.
    pub(crate) single: Single,
    /// Other functions that the texts call, for the same element type.
    pub(crate) calls: &'static [&'static HelperFunction],
}

/// The words for `f32` in the texts of a helper.
#[derive(Debug)]
pub(crate) struct Single {
    pub(crate) c: Option<&'static str>,
    pub(crate) rust: Option<&'static str>,
}

impl HelperFunction {
    /// A function with its texts in C and in Rust.
    pub(crate) const fn new(name: &'static str, c: &'static str, rust: &'static str) -> HelperFunction {
        HelperFunction { name, c, rust, single: Single { c: None, rust: None }, calls: &[] }
    }

    /// A function with its text in C, for what Rust has itself, or what OpenCL's C alone is written with.
    pub(crate) const fn in_c(name: &'static str, c: &'static str) -> HelperFunction {
        HelperFunction::new(name, c, "")
    }

    /// The same, but with other texts for `f32`, which call the function for `f64`.
    pub(crate) const fn with_single(self, c: &'static str, rust: &'static str) -> HelperFunction {
        HelperFunction { single: Single { c: Some(c), rust: Some(rust) }, ..self }
    }

    /// The same, where that is so in Rust only.
    pub(crate) const fn with_single_in_rust(self, rust: &'static str) -> HelperFunction {
        HelperFunction { single: Single { c: None, rust: Some(rust) }, ..self }
    }

    /// The same, whose texts call these functions.
    pub(crate) const fn calling(self, calls: &'static [&'static HelperFunction]) -> HelperFunction {
        HelperFunction { calls, ..self }
    }
}

/// Of one element type there is one function of a name.
impl Ord for HelperFunction {
    fn cmp(&self, other: &HelperFunction) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl PartialOrd for HelperFunction {
    fn partial_cmp(&self, other: &HelperFunction) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for HelperFunction {
    fn eq(&self, other: &HelperFunction) -> bool {
        self.name == other.name
    }
}

impl Eq for HelperFunction {}
