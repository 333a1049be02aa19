//! Elementary functions written inline: the [formulas](crate::elementary) that engines compute, as functions beside a program,
//! of which compilers make vectors.

mod printed;
mod recorded;
#[cfg(test)]
mod tests;

use super::helpers::replaced;
use crate::elementary::traced::Value;
use crate::elementary::{self, lanes::Real};
use crate::operation::{BINARY_ROWS, Binary, HelperFunction, OperationSpelling, UNARY_ROWS, Unary};
use crate::shape::DType;
use printed::{Dialect, Output, function};
use recorded::{Recorded, Separate, recorded};
use std::sync::LazyLock;

/// An elementary function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elementary {
    Unary(Unary),
    Binary(Binary),
}

/// A function by its formula.
pub(crate) struct InlineFunction {
    /// The function, for arguments that are not outside.
    pub(crate) value: HelperFunction,
    /// 1 for arguments that are outside of the formula's range, else 0, as integers of as many bits; if there are such arguments.
    pub(crate) outside: Option<HelperFunction>,
}

/// The formula of a function for an element type, if there is one.
pub(crate) fn inline(function: Elementary, dtype: DType) -> Option<&'static InlineFunction> {
    static ALL: LazyLock<Vec<(Elementary, DType, InlineFunction)>> = LazyLock::new(all);
    let found = ALL.iter().find(|(other, of, _)| (*other, *of) == (function, dtype));
    found.map(|(.., inline)| inline)
}

fn all() -> Vec<(Elementary, DType, InlineFunction)> {
    fn of_type<T: Real>() -> impl Iterator<Item = (Elementary, DType, InlineFunction)> {
        let unary = UNARY_ROWS.iter().filter_map(|&op| {
            let formula = recorded::<T, 1>(|[x]| elementary::unary::<_, Separate>(op, x))?;
            Some((Elementary::Unary(op), formula))
        });
        let binary = BINARY_ROWS.iter().filter_map(|&op| {
            let formula = recorded::<T, 2>(|[x, y]| elementary::binary::<_, Separate>(op, x, y))?;
            Some((Elementary::Binary(op), formula))
        });
        unary.chain(binary).map(|(of, formula)| (of, T::DTYPE, written(of, T::DTYPE, &formula)))
    }
    of_type::<f32>().chain(of_type::<f64>()).collect()
}

/// The texts, which are made once and kept.
fn written(of: Elementary, dtype: DType, formula: &Recorded) -> InlineFunction {
    let (name, spelling) = match of {
        Elementary::Unary(op) => (op.name(), op.spelling(dtype)),
        Elementary::Binary(op) => (op.name(), op.spelling(dtype)),
    };
    let arguments = if matches!(of, Elementary::Unary(_)) { ["T x", "x"] } else { ["T x, T y", "x, y"] };
    let helper = |name: String, result: (Value, Output), otherwise: String| {
        let [c, rust] = [Dialect::C, Dialect::Rust].map(|dialect| function(&name, formula, result, dialect));
        let c = format!("#ifdef P_LIBRARY_MATH\n{otherwise}\n#else\n{c}\n#endif");
        HelperFunction::new(name.leak(), c.leak(), rust.leak())
    };
    let value = format!("{name}_inline");
    let otherwise = library(&value, spelling, dtype, arguments);
    let outside = formula.outside.map(|outside| {
        let name = format!("{name}_outside");
        let unused = arguments[1].replace(", ", "; (void)");
        let ty = if dtype == DType::F32 { "int32_t" } else { "int64_t" };
        let otherwise = format!("P_INLINE {ty} P_{name}_S({}) {{ (void){unused}; return 0; }}", arguments[0]);
        helper(name, (outside, Output::Answer), otherwise)
    });
    InlineFunction { value: helper(value, (formula.value, Output::Number), otherwise), outside }
}

/// The function of a library under another name, in C.
fn library(name: &str, spelling: OperationSpelling, dtype: DType, [parameters, arguments]: [&str; 2]) -> String {
    match spelling {
        OperationSpelling::Helper(helper) => {
            helper.c.replace(&format!("P_{}_S", helper.name), &format!("P_{name}_S")).trim_end().into()
        }
        OperationSpelling::Library { c, .. } => {
            format!("P_INLINE T P_{name}_S({parameters}) {{ return {c}F({arguments}); }}")
        }
        OperationSpelling::Special(c) if dtype == DType::F32 => {
            format!("P_INLINE T P_{name}_S({parameters}) {{ return (T){c}((double){arguments}); }}")
        }
        OperationSpelling::Special(c) => {
            format!("P_INLINE T P_{name}_S({parameters}) {{ return {c}({arguments}); }}")
        }
        _ => unreachable!("a function with a formula has no operator"),
    }
}

/// Macros of inline functions. Compilers that compute as if numbers were real, or with more digits than they have, take the
/// roundings away that formulas are made of. Evaluation method 16 is exact for `float` and `double`: gcc has it on processors that
/// compute with floats of 16 bits.
const MACROS: &str = "\
#if defined(__GNUC__)
#define P_INLINE static inline __attribute__((always_inline))
#else
#define P_INLINE static inline
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST)
#define P_LIBRARY_MATH
#elif defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#define P_LIBRARY_MATH
#endif";

/// The same in OpenCL, which inlines all functions.
const OPENCL_MACROS: &str = "\
#ifdef __FAST_RELAXED_MATH__
#define P_LIBRARY_MATH
#endif";

/// Texts of helpers in C, or in OpenCL's, with what inline functions need: macros, and the bits of floats.
pub(crate) fn completed(texts: Vec<String>, prefix: &str, is_opencl: bool) -> Vec<String> {
    let occurs = |word: &str| texts.iter().any(|text| text.contains(word));
    if !occurs(&format!("{prefix}_LIBRARY_MATH")) {
        return texts;
    }
    let macros = if is_opencl { OPENCL_MACROS } else { MACROS };
    let [inline, library] = ["INLINE", "LIBRARY_MATH"].map(|word| format!("{prefix}_{word}"));
    let mut all = vec![replaced(macros, &[("P_INLINE", &inline), ("P_LIBRARY_MATH", &library)])];
    let mut conversions = Vec::new();
    let mut words = vec![(format!("{inline} "), "")];
    for (name, from, to, in_opencl) in [
        ("bits_f32", "float", "uint32_t", "as_uint("),
        ("from_bits_f32", "uint32_t", "float", "as_float("),
        ("bits_f64", "double", "uint64_t", "as_ulong("),
        ("from_bits_f64", "uint64_t", "double", "as_double("),
    ] {
        let name = format!("{prefix}_{name}");
        if is_opencl {
            words.push((format!("{name}("), in_opencl));
        } else if occurs(&format!("{name}(")) {
            conversions.push(format!(
                "{prefix}_INLINE {to} {name}({from} x)\n{{\n    {to} result;\n    memcpy(&result, &x, sizeof result);\n    return result;\n}}"
            ));
        }
    }
    if !conversions.is_empty() {
        all.push(format!("#ifndef {prefix}_LIBRARY_MATH\n{}\n#endif", conversions.join("\n\n")));
    }
    let in_opencl = |text: String| words.iter().fold(text, |text, (word, other)| text.replace(word, other));
    all.extend(texts.into_iter().map(|text| if is_opencl { in_opencl(text) } else { text }));
    all
}

/// The text of a helper in Rust with functions of the crate `libm` for what only the standard library has.
pub(crate) fn without_std(text: String) -> String {
    ["f32", "f64"].iter().zip(["f", ""]).fold(text, |text, (ty, ending)| {
        ["abs", "copysign", "floor", "sqrt"].iter().fold(text, |text, name| {
            let c = if *name == "abs" { "fabs" } else { name };
            text.replace(&format!("{ty}::{name}("), &format!("libm::{c}{ending}("))
        })
    })
}
