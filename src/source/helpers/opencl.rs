//! The texts of helpers that OpenCL's C has alone: what work items do to elements that others change at the same time, and the
//! order of keys.

use super::{Row, row};
use crate::shape::DType;

/// Goes on until nothing came between reading the element and exchanging it, or it would stay as it is.
macro_rules! exchanged {
    ($prefix:literal, $space:literal, $name:literal, $word:literal, $exchange:literal, $combined:literal) => {
        concat!(
            "void P_",
            $prefix,
            $name,
            "_S(volatile ",
            $space,
            " T *at, T value)\n{\n",
            "    union { ",
            $word,
            " bits; T number; } found, next;\n",
            "    found.number = *at;\n",
            "    for (;;) {\n",
            "        const ",
            $word,
            " expected = found.bits;\n",
            "        next.number = ",
            $combined,
            ";\n",
            "        if (next.bits == expected) return;\n",
            "        found.bits = ",
            $exchange,
            "((volatile ",
            $space,
            " ",
            $word,
            " *)at, expected, next.bits);\n",
            "        if (found.bits == expected) return;\n",
            "    }\n}\n"
        )
    };
}

/// In memory of all and in that of a group, of elements of four bytes and of eight.
macro_rules! everywhere {
    ($name:literal, $combined:literal) => {
        [
            exchanged!("atomic_", "__global", $name, "uint", "atomic_cmpxchg", $combined),
            exchanged!("atomic_", "__global", $name, "ulong", "atom_cmpxchg", $combined),
            exchanged!("local_atomic_", "__local", $name, "uint", "atomic_cmpxchg", $combined),
            exchanged!("local_atomic_", "__local", $name, "ulong", "atom_cmpxchg", $combined),
        ]
    };
}

const SUM: [&str; 4] = everywhere!("sum", "found.number + value");
const MAX: [&str; 4] = everywhere!("max", "P_max_S(found.number, value)");
const MIN: [&str; 4] = everywhere!("min", "P_min_S(found.number, value)");

/// Sums of integers have functions, and wrap.
macro_rules! counted {
    ($prefix:literal, $space:literal, $word:literal, $function:literal) => {
        concat!(
            "void P_",
            $prefix,
            "sum_S(volatile ",
            $space,
            " T *at, T value)\n{\n    ",
            $function,
            "((volatile ",
            $space,
            " ",
            $word,
            " *)at, (",
            $word,
            ")value);\n}\n"
        )
    };
}

const COUNTED: [&str; 4] = [
    counted!("atomic_", "__global", "uint", "atomic_add"),
    counted!("atomic_", "__global", "ulong", "atom_add"),
    counted!("local_atomic_", "__local", "uint", "atomic_add"),
    counted!("local_atomic_", "__local", "ulong", "atom_add"),
];

/// All that write a truth value write the same.
macro_rules! truth {
    ($name:literal, $line:literal) => {
        [
            concat!("void P_atomic_", $name, "_S(volatile __global T *at, T value)\n{\n    ", $line, "\n}\n"),
            concat!("void P_local_atomic_", $name, "_S(volatile __local T *at, T value)\n{\n    ", $line, "\n}\n"),
        ]
    };
}

const SOME_SUM: [&str; 2] = truth!("sum", "if (value) *at = 1;");
const SOME_MAX: [&str; 2] = truth!("max", "if (value) *at = 1;");
const ALL: [&str; 2] = truth!("min", "if (!value) *at = 0;");

/// The factor that two of them are together. A product of factors may overflow though no step's does: it is the largest number
/// then, as long as no other factor is 0. Infinity is a step's own.
const FACTOR: &str = "\
T P_factor_S(T x, T y)
{
    const T product = x * y;
    if (product == 0 || product != product || isinf(x) || isinf(y)) return product;
    const T largest = nextafter((T)INFINITY, (T)0);
    return fabs(x) == largest || fabs(y) == largest || isinf(product) ? copysign(largest, product) : product;
}
";

/// A number by such a factor: infinite where the factor is too large, but for 0.
const SCALED: &str = "\
T P_scaled_S(T factor, T x)
{
    const T largest = nextafter((T)INFINITY, (T)0);
    return fabs(factor) == largest && x != 0 ? copysign((T)INFINITY, factor) * x : factor * x;
}
";

/// Whether a key comes before another one, whatever their positions: NaN comes last.
const BEFORE: &str = "bool P_NAME_S(T x, T y)\n{\n    return X_NAN ? false : Y_NAN ? true : x ORDER y;\n}\n";

/// What a helper calls, of an element type.
macro_rules! calls {
    ($name:literal, $dtype:expr) => {
        match $dtype {
            DType::F32 => &[($name, DType::F32)],
            DType::F64 => &[($name, DType::F64)],
            DType::I32 => &[($name, DType::I32)],
            DType::I64 => &[($name, DType::I64)],
            DType::Bool => &[],
        }
    };
}

/// The helper of this name, if it is one of these.
pub(super) fn find(name: &str, dtype: DType) -> Option<Row> {
    let (is_local, name) = match name.strip_prefix("local_") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let at = 2 * usize::from(is_local) + usize::from(dtype.bytes() == 8);
    Some(match (name, dtype) {
        ("atomic_sum", DType::Bool) => row(SOME_SUM[usize::from(is_local)]),
        ("atomic_max", DType::Bool) => row(SOME_MAX[usize::from(is_local)]),
        ("atomic_min", DType::Bool) => row(ALL[usize::from(is_local)]),
        ("atomic_sum", DType::I32 | DType::I64) => row(COUNTED[at]),
        ("atomic_sum", _) => row(SUM[at]),
        ("atomic_max", _) => Row { text: MAX[at], calls: calls!("max", dtype) },
        ("atomic_min", _) => Row { text: MIN[at], calls: calls!("min", dtype) },
        ("factor", _) => row(FACTOR),
        ("scaled", _) => row(SCALED),
        ("is_before" | "is_before_descending", _) => row(BEFORE),
        _ => return None,
    })
}
