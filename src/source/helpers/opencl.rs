//! The texts of helpers for OpenCL C only: updates of elements that other work items change at the same time, and the order of
//! keys.

use super::{Row, row};
use crate::shape::DType;

/// Repeats until no other item came between reading the element and exchanging it, or the element would not change.
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

/// For global and local memory, with elements of four and of eight bytes.
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

/// The product of the factors of consecutive groups of steps. A product of factors may overflow or underflow its type though no
/// step's factor does: it is then the largest number, or the smallest of full precision, and stays so as long as no other
/// factor is 0 or infinite. If both overflow and underflow occur, the first decides, as it does for the carry. Nearly all
/// factors are neither, which is tested first: otherwise scans of factors would wait for this instead of for memory.
macro_rules! factor {
    ($largest:literal, $smallest:literal) => {
        concat!(
            "T P_factor_S(T x, T y)\n{\n",
            "    const T product = x * y, size = fabs(x), next_size = fabs(y), product_size = fabs(product);\n",
            "    if (size > ",
            $smallest,
            " && size < ",
            $largest,
            " && next_size > ",
            $smallest,
            " && next_size < ",
            $largest,
            "\n        && product_size > ",
            $smallest,
            " && product_size < ",
            $largest,
            ") return product;\n",
            "    if (isinf(y) && size == ",
            $smallest,
            ") return 0 * y;\n",
            "    if (x == 0 || y == 0 || product != product || isinf(x) || isinf(y)) return product;\n",
            "    if (size == ",
            $largest,
            " || size == ",
            $smallest,
            ") return copysign(size, product);\n",
            "    if (next_size == ",
            $largest,
            " || next_size == ",
            $smallest,
            ") return copysign(next_size, product);\n",
            "    return isinf(product) ? copysign(",
            $largest,
            ", product) : product == 0 ? copysign(",
            $smallest,
            ", product) : product;\n}\n"
        )
    };
}

/// A number times such a factor: infinite where the factor overflowed, except for 0, and 0 where it underflowed, except for
/// infinity.
macro_rules! scaled {
    ($largest:literal, $smallest:literal) => {
        concat!(
            "T P_scaled_S(T factor, T x)\n{\n",
            "    const T size = fabs(factor);\n",
            "    if (size > ",
            $smallest,
            " && size < ",
            $largest,
            ") return factor * x;\n",
            "    if (size == ",
            $largest,
            " && x != 0) return copysign((T)INFINITY, factor) * x;\n",
            "    if (size == ",
            $smallest,
            " && !isinf(x)) return copysign((T)0, factor) * x;\n",
            "    return factor * x;\n}\n"
        )
    };
}

/// The summand of some steps, times the factor of the later ones. An infinite factor leaves a summand of zero as it is: the
/// product of the factors shows whether the carry that it meets there is 0.
const SCALED_SUMMAND: &str = "\
T P_scaled_summand_S(T factor, T x)
{
    return x == 0 && isinf(factor) ? x : P_scaled_S(factor, x);
}
";

/// Makes everything that an item wrote before the fence visible to other groups before anything that it writes after, and lets
/// reads after the fence see nothing older than reads before it. The fence of OpenCL 1.2 promises this to the item's own group
/// only, so the compiler's fence for the whole device is used where it is known.
const FENCE: &str = "\
void P_fence_S(void)
{
#if defined(__NV_CL_C_VERSION)
    asm volatile(\"membar.gl;\" ::: \"memory\");
#elif defined(__AMDGCN__)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, \"agent\");
#elif defined(__opencl_c_atomic_order_acq_rel) && defined(__opencl_c_atomic_scope_device)
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}
";

/// Whether a key comes before another one, whatever their positions: NaN comes last.
const BEFORE: &str = "bool P_NAME_S(T x, T y)\n{\n    return X_NAN ? false : Y_NAN ? true : x ORDER y;\n}\n";

/// The helpers that a helper calls, for an element type.
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
        ("factor", DType::F32) => row(factor!("FLT_MAX", "FLT_MIN")),
        ("factor", _) => row(factor!("DBL_MAX", "DBL_MIN")),
        ("fence", _) => row(FENCE),
        ("scaled_summand", _) => Row { text: SCALED_SUMMAND, calls: calls!("scaled", dtype) },
        ("scaled", DType::F32) => row(scaled!("FLT_MAX", "FLT_MIN")),
        ("scaled", _) => row(scaled!("DBL_MAX", "DBL_MIN")),
        ("is_before" | "is_before_descending", _) => row(BEFORE),
        _ => return None,
    })
}
