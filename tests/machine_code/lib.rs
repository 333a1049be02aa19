//! The kernels of the processor's engine, from the library's own files, in a crate that takes seconds to compile. A few lines
//! here replace the rest of the library.
#![allow(
    dead_code,
    private_interfaces,
    unused_imports,
    unexpected_cfgs,
    clippy::all,
    reason = "the library has uses for all of it"
)]

#[path = "../../src"]
mod library {
    #[macro_use]
    pub mod operation;
    pub mod shape;
}
pub use library::{operation, shape};

pub mod kernel {
    use crate::operation::Reduction;

    #[derive(Clone, Copy)]
    pub enum StoreMode {
        Write,
        Reduce(Reduction),
    }
}

// Files are looked for in this folder.
#[path = "."]
pub mod array {
    #[path = "../../src/array/arithmetic.rs"]
    mod arithmetic;
    #[path = "../../src/array/matrix/hardware.rs"]
    pub mod matrix;

    use crate::shape::DType;
    pub(crate) use arithmetic::{Arithmetic, larger, smaller};

    pub trait ElementType: Arithmetic {
        const DTYPE: DType;
    }

    macro_rules! scalar {
        ($($t:ident $variant:ident),*) => { $(impl ElementType for $t { const DTYPE: DType = DType::$variant; })* };
    }
    scalar!(f32 F32, f64 F64, i32 I32, i64 I64, bool Bool);
}

#[path = "."]
pub mod engine {
    pub mod arrays {
        #[derive(Clone, Copy)]
        #[repr(align(64))]
        pub struct CacheLine([u8; 64]);
    }

    #[path = "."]
    pub mod cpu {
        #[path = "../../src/engine/cpu/recurrence/chain.rs"]
        mod chain;
        #[path = "../../src/engine/cpu/elements.rs"]
        mod elements;
        #[path = "../../src/engine/cpu/gemm.rs"]
        mod gemm;
        #[path = "../../src/engine/cpu/places.rs"]
        mod places;
        #[path = "../../src/engine/cpu/scatter.rs"]
        mod scatter;
        #[path = "../../src/engine/cpu/vector/mod.rs"]
        pub mod vector;

        use crate::kernel::StoreMode;
        use crate::operation::{Binary, Comparison, Reduction, Unary};
        use crate::shape::DType;
        use gemm::GemmElement;
        use vector::{Instructions, OperandForm};

        /// Kernels of all kinds.
        pub fn kernels(
            isa: Instructions,
            (unary, binary, comparison): (Unary, &[Binary], Comparison),
            (reduction, mode): (fn() -> Reduction, fn() -> StoreMode),
            (from, to): (DType, DType),
            (a, b): (OperandForm, OperandForm),
        ) -> Vec<*const ()> {
            vec![
                vector::unary(isa, unary, from) as *const (),
                vector::binary(isa, binary[0], from, a, b) as *const (),
                vector::compare(isa, comparison, from, a, b) as *const (),
                vector::select(isa, from, a, b) as *const (),
                vector::cast(isa, from, to) as *const (),
                vector::multiply_add(isa, from, a, b) as *const (),
                vector::fill(isa, from) as *const (),
                vector::ramp(isa) as *const (),
                vector::gather(isa, from) as *const (),
                vector::strided_copy(isa, from) as *const (),
                vector::reduce(isa, reduction(), from) as *const (),
                vector::reduce_rows(isa, reduction(), from) as *const (),
                vector::reduce_columns(isa, reduction(), from) as *const (),
                vector::dot(isa, from) as *const (),
                vector::dots(isa, from) as *const (),
                vector::square_distance(isa, from) as *const (),
                vector::square_distances(isa, from) as *const (),
                scatter::scatter(mode(), from) as *const (),
                scatter::gather_along(from) as *const (),
                chain::chain(from, binary, false).map_or(std::ptr::null(), |chain| chain as *const ()),
                chain::chain(from, binary, true).map_or(std::ptr::null(), |chain| chain as *const ()),
                f32::multiply as *const (),
                f64::multiply as *const (),
                i32::multiply as *const (),
                i64::multiply as *const (),
                scatter::copy_rows as *const (),
            ]
        }
    }
}
