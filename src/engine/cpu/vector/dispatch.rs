//! Code for the type that an element type stands for.

/// Evaluates to an expression in which the name stands for the Rust type of an element type.
macro_rules! for_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            DType::I32 => {
                type $T = i32;
                $body
            }
            DType::I64 => {
                type $T = i64;
                $body
            }
            DType::Bool => {
                type $T = bool;
                $body
            }
        }
    };
}
pub(super) use for_dtype;

/// Evaluates to an expression in which the name stands for a type that elements of this size are moved as.
macro_rules! for_size {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            DType::Bool => {
                type $T = bool;
                $body
            }
            DType::F32 | DType::I32 => {
                type $T = i32;
                $body
            }
            DType::F64 | DType::I64 => {
                type $T = i64;
                $body
            }
        }
    };
}
pub(super) use for_size;
