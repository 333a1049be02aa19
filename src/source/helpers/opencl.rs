//! The texts of helpers for OpenCL C only: updates of elements that other work items change at the same time, and the order of
//! keys.

use crate::operation::{HelperFunction, helpers};
use crate::operation::{Order, Reduction};
use crate::shape::DType;

/// Repeats until no other item came between reading the element and exchanging it, or the element would not change.
macro_rules! exchanged {
    (function $prefix:literal, $space:literal, $name:literal, $word:literal, $exchange:literal, $combined:literal) => {
        HelperFunction::in_c(concat!($prefix, $name), exchanged!($prefix, $space, $name, $word, $exchange, $combined))
    };
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
    ($name:literal, $combined:literal, $calls:expr) => {
        [
            exchanged!(function "atomic_", "__global", $name, "uint", "atomic_cmpxchg", $combined).calling($calls),
            exchanged!(function "atomic_", "__global", $name, "ulong", "atom_cmpxchg", $combined).calling($calls),
            exchanged!(function "local_atomic_", "__local", $name, "uint", "atomic_cmpxchg", $combined).calling($calls),
            exchanged!(function "local_atomic_", "__local", $name, "ulong", "atom_cmpxchg", $combined).calling($calls),
        ]
    };
}

static SUM: [HelperFunction; 4] = everywhere!("sum", "found.number + value", &[]);
static MAX: [HelperFunction; 4] = everywhere!("max", "P_max_S(found.number, value)", &[&helpers::MAX]);
static MIN: [HelperFunction; 4] = everywhere!("min", "P_min_S(found.number, value)", &[&helpers::MIN]);
static MAX_OF_INTEGERS: [HelperFunction; 4] =
    everywhere!("max", "P_max_S(found.number, value)", &[&helpers::MAX_OF_INTEGERS]);
static MIN_OF_INTEGERS: [HelperFunction; 4] =
    everywhere!("min", "P_min_S(found.number, value)", &[&helpers::MIN_OF_INTEGERS]);

/// Sums of integers have functions, and wrap.
macro_rules! counted {
    ($prefix:literal, $space:literal, $word:literal, $function:literal) => {
        HelperFunction::in_c(
            concat!($prefix, "sum"),
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
            ),
        )
    };
}

static COUNTED: [HelperFunction; 4] = [
    counted!("atomic_", "__global", "uint", "atomic_add"),
    counted!("atomic_", "__global", "ulong", "atom_add"),
    counted!("local_atomic_", "__local", "uint", "atomic_add"),
    counted!("local_atomic_", "__local", "ulong", "atom_add"),
];

/// All that write a truth value write the same.
macro_rules! truth {
    ($name:literal, $line:literal) => {
        [truth!($name, "atomic_", "__global", $line), truth!($name, "local_atomic_", "__local", $line)]
    };
    ($name:literal, $prefix:literal, $space:literal, $line:literal) => {
        HelperFunction::in_c(
            concat!($prefix, $name),
            concat!("void P_", $prefix, $name, "_S(volatile ", $space, " T *at, T value)\n{\n    ", $line, "\n}\n"),
        )
    };
}

static SOME_SUM: [HelperFunction; 2] = truth!("sum", "if (value) *at = 1;");
static SOME_MAX: [HelperFunction; 2] = truth!("max", "if (value) *at = 1;");
static ALL: [HelperFunction; 2] = truth!("min", "if (!value) *at = 0;");

/// The helper by which an item changes an element of shared memory, which others may change at the same time.
pub(crate) fn atomic(op: Reduction, dtype: DType) -> &'static HelperFunction {
    atomic_in(0, op, dtype)
}

/// As [`atomic`], to an element of a group's memory.
pub(crate) fn local_atomic(op: Reduction, dtype: DType) -> &'static HelperFunction {
    atomic_in(1, op, dtype)
}

fn atomic_in(memory: usize, op: Reduction, dtype: DType) -> &'static HelperFunction {
    let at = 2 * memory + usize::from(dtype.bytes() == 8);
    match (op, dtype) {
        (Reduction::Sum, DType::Bool) => &SOME_SUM[memory],
        (Reduction::Max, DType::Bool) => &SOME_MAX[memory],
        (Reduction::Min, DType::Bool) => &ALL[memory],
        (Reduction::Sum, DType::I32 | DType::I64) => &COUNTED[at],
        (Reduction::Max, DType::I32 | DType::I64) => &MAX_OF_INTEGERS[at],
        (Reduction::Min, DType::I32 | DType::I64) => &MIN_OF_INTEGERS[at],
        (Reduction::Sum, DType::F32 | DType::F64) => &SUM[at],
        (Reduction::Max, DType::F32 | DType::F64) => &MAX[at],
        (Reduction::Min, DType::F32 | DType::F64) => &MIN[at],
    }
}

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

const FACTOR: HelperFunction = HelperFunction::in_c("factor", factor!("DBL_MAX", "DBL_MIN"));
const FACTOR_OF_SINGLES: HelperFunction = HelperFunction::in_c("factor", factor!("FLT_MAX", "FLT_MIN"));
const SCALED: HelperFunction = HelperFunction::in_c("scaled", scaled!("DBL_MAX", "DBL_MIN"));
const SCALED_OF_SINGLES: HelperFunction = HelperFunction::in_c("scaled", scaled!("FLT_MAX", "FLT_MIN"));
const SCALED_SUMMAND: HelperFunction = HelperFunction::in_c("scaled_summand", SUMMAND).calling(&[&SCALED]);
const SCALED_SUMMAND_OF_SINGLES: HelperFunction =
    HelperFunction::in_c("scaled_summand", SUMMAND).calling(&[&SCALED_OF_SINGLES]);

const SUMMAND: &str = "\
T P_scaled_summand_S(T factor, T x)
{
    return x == 0 && isinf(factor) ? x : P_scaled_S(factor, x);
}
";

/// The factor of some steps and then that of others as one.
pub(crate) fn factor(dtype: DType) -> &'static HelperFunction {
    if dtype == DType::F32 { &FACTOR_OF_SINGLES } else { &FACTOR }
}

/// A number by the factor of some steps.
pub(crate) fn scaled(dtype: DType) -> &'static HelperFunction {
    if dtype == DType::F32 { &SCALED_OF_SINGLES } else { &SCALED }
}

/// The summand of some steps, times the factor of the later ones. An infinite factor leaves a summand of zero as it is: the
/// product of the factors shows whether the carry that it meets there is 0.
pub(crate) fn scaled_summand(dtype: DType) -> &'static HelperFunction {
    if dtype == DType::F32 { &SCALED_SUMMAND_OF_SINGLES } else { &SCALED_SUMMAND }
}

/// Makes everything that an item wrote before the fence visible to other groups before anything that it writes after, and lets
/// reads after the fence see nothing older than reads before it. The fence of OpenCL 1.2 promises this to the item's own group
/// only, so the compiler's fence for the whole device is used where it is known.
pub(crate) const FENCE: HelperFunction = HelperFunction::in_c("fence", FENCE_TEXT);

const FENCE_TEXT: &str = "\
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

/// Whether a key comes before another one in this order, whatever their positions: NaN comes last.
pub(crate) fn is_before(order: Order) -> &'static HelperFunction {
    match order {
        Order::Ascending => &BEFORE,
        Order::Descending => &BEFORE_DESCENDING,
    }
}

const BEFORE: HelperFunction = HelperFunction::in_c("is_before", BEFORE_TEXT);
const BEFORE_DESCENDING: HelperFunction = HelperFunction::in_c("is_before_descending", BEFORE_TEXT);

const BEFORE_TEXT: &str = "bool P_NAME_S(T x, T y)\n{\n    return X_NAN ? false : Y_NAN ? true : x ORDER y;\n}\n";
