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
    pub mod elementary;
    #[macro_use]
    pub mod operation;
    pub mod shape;
}
pub use library::{elementary, operation, shape};

pub mod kernel {
    use crate::operation::{MatrixOperation, Reduction, SparseOperation};
    use crate::shape::Type;

    #[derive(Clone, Copy)]
    pub enum StoreMode {
        Write,
        Reduce(Reduction),
    }

    pub type BufferId = u32;

    /// A call of an operation on dense matrices.
    pub struct Call {
        pub operation: MatrixOperation,
        pub arguments: Vec<BufferId>,
        pub results: Vec<BufferId>,
        pub types: Vec<Type>,
        pub operations: f64,
    }

    impl Call {
        pub fn matrix(&self) -> Option<MatrixOperation> {
            Some(self.operation)
        }

        pub fn sparse(&self) -> Option<&SparseOperation> {
            None
        }

        pub fn types(&self) -> impl Iterator<Item = &Type> {
            self.types.iter()
        }

        pub fn matrix_operations(&self) -> f64 {
            self.operations
        }
    }
}

#[path = "../../src/error.rs"]
pub mod error;

// Files are looked for in this folder.
#[path = "."]
pub mod array {
    #[path = "../../src/array/arithmetic.rs"]
    mod arithmetic;
    #[path = "../../src/array/buffer.rs"]
    mod buffer;
    #[path = "../../src/array/data.rs"]
    mod data;
    #[path = "../../src/array/elements.rs"]
    mod elements;
    #[path = "../../src/array/matrix/mod.rs"]
    pub mod matrix;
    #[path = "../../src/array/memory.rs"]
    mod memory;
    #[path = "../../src/array/scalar.rs"]
    mod scalar;
    #[path = "../../src/array/sparse.rs"]
    pub mod sparse;

    pub(crate) use arithmetic::{Arithmetic, larger, smaller};
    pub use buffer::Buffer;
    pub use data::{Array, Data, Traced};
    pub(crate) use data::{ReadArrays, for_data};
    pub use memory::OutOfMemory;
    pub use scalar::ElementType;
}

#[path = "."]
pub mod engine {
    pub mod arrays {
        use crate::array::OutOfMemory;

        #[derive(Clone, Copy, Debug)]
        #[repr(align(64))]
        pub struct CacheLine([u8; 64]);

        pub fn lines(bytes: usize) -> Result<Vec<CacheLine>, OutOfMemory> {
            Ok(vec![CacheLine([0; 64]); bytes.div_ceil(64)])
        }
    }

    #[path = "."]
    pub mod cpu {
        #[path = "../../src/engine/cpu/recurrence/chain.rs"]
        mod chain;
        #[path = "../../src/engine/cpu/elements.rs"]
        mod elements;
        #[path = "../../src/engine/cpu/gemm.rs"]
        mod gemm;
        #[path = "../../src/engine/cpu/matrix/mod.rs"]
        mod matrix;
        #[path = "../../src/engine/cpu/microkernel.rs"]
        mod microkernel;
        #[path = "../../src/engine/cpu/places.rs"]
        mod places;
        #[path = "../../src/engine/cpu/scatter.rs"]
        mod scatter;
        #[path = "../../src/engine/cpu/team.rs"]
        mod team;
        #[path = "../../src/engine/cpu/threads.rs"]
        mod threads;
        #[path = "../../src/engine/cpu/vector/mod.rs"]
        mod vector;

        use crate::engine::arrays::CacheLine;
        use crate::kernel::{Call, StoreMode};
        use crate::operation::{Binary, Comparison, Reduction, Unary};
        use crate::shape::{DType, Type};
        use gemm::GemmElement;
        use vector::{Instructions, OperandForm};

        mod code {
            #[derive(Debug, Default)]
            pub struct Scratch;

            impl Scratch {
                pub fn alike(&self) -> Scratch {
                    Scratch
                }
            }
        }

        /// All operations on matrices, for one type of elements: the code of the other is the same.
        #[cfg(matrices)]
        pub unsafe fn matrices(
            call: &Call,
            types: &[&Type],
            operands: &[&[f64]],
            out: &mut [f64],
            (scratch, packing): (&mut [f64], &mut [CacheLine]),
        ) {
            let machine = (Instructions::detect(), packing, None);
            if let Some((kernel, count)) = matrix::Kernel::new(call, types) {
                unsafe { kernel.run(machine, (count, operands), out, scratch) };
            }
        }

        /// Kernels of all kinds.
        #[cfg(not(matrices))]
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
