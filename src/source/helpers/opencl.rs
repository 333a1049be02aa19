//! The texts of helpers that OpenCL's C has alone: what work items do to elements that others change at the same time.

use super::{Row, row};
use crate::shape::DType;

/// Goes on until nothing came between reading the element and exchanging it, or it would stay as it is.
macro_rules! exchanged {
    ($name:literal, $word:literal, $exchange:literal, $combined:literal) => {
        concat!(
            "void P_atomic_",
            $name,
            "_S(volatile __global T *at, T value)\n{\n",
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
            "((volatile __global ",
            $word,
            " *)at, expected, next.bits);\n",
            "        if (found.bits == expected) return;\n",
            "    }\n}\n"
        )
    };
}

macro_rules! both {
    ($name:literal, $combined:literal) => {
        [exchanged!($name, "uint", "atomic_cmpxchg", $combined), exchanged!($name, "ulong", "atom_cmpxchg", $combined)]
    };
}

const SUM: [&str; 2] = both!("sum", "found.number + value");
const MAX: [&str; 2] = both!("max", "P_max_S(found.number, value)");
const MIN: [&str; 2] = both!("min", "P_min_S(found.number, value)");

/// All that write an element write the same.
const ANY: [&str; 2] = [
    "void P_atomic_sum_S(volatile __global T *at, T value)\n{\n    if (value) *at = 1;\n}\n",
    "void P_atomic_max_S(volatile __global T *at, T value)\n{\n    if (value) *at = 1;\n}\n",
];
const ALL: &str = "void P_atomic_min_S(volatile __global T *at, T value)\n{\n    if (!value) *at = 0;\n}\n";

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
    let wide = usize::from(dtype.bytes() == 8);
    Some(match (name, dtype) {
        ("atomic_sum", DType::Bool) => row(ANY[0]),
        ("atomic_max", DType::Bool) => row(ANY[1]),
        ("atomic_min", DType::Bool) => row(ALL),
        ("atomic_sum", _) => row(SUM[wide]),
        ("atomic_max", _) => Row { text: MAX[wide], calls: calls!("max", dtype) },
        ("atomic_min", _) => Row { text: MIN[wide], calls: calls!("min", dtype) },
        _ => return None,
    })
}
