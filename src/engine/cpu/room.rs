//! Memory for results, which become arrays without a copy.

use crate::array::{Array, Data, ElementType, OutOfMemory};
use crate::engine::large_pages;
use crate::shape::{DType, Shape, Type, size};

/// Room for the elements of an array, not yet written.
pub(super) enum Room {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
}

/// Runs an expression on the room, whatever its element type.
macro_rules! for_room {
    ($room:expr, $buffer:ident => $body:expr) => {
        match $room {
            Room::F32($buffer) => $body,
            Room::F64($buffer) => $body,
            Room::I32($buffer) => $body,
            Room::I64($buffer) => $body,
            Room::Bool($buffer) => $body,
        }
    };
}

impl Room {
    /// Room for an array of this type.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub(super) fn new(ty: &Type) -> Result<Room, OutOfMemory> {
        let mut room = match ty.dtype {
            DType::F32 => Room::F32(Vec::new()),
            DType::F64 => Room::F64(Vec::new()),
            DType::I32 => Room::I32(Vec::new()),
            DType::I64 => Room::I64(Vec::new()),
            DType::Bool => Room::Bool(Vec::new()),
        };
        let reserved = for_room!(&mut room, buffer => buffer.try_reserve_exact(size(&ty.shape)));
        reserved.map_err(|_| OutOfMemory { ty: ty.clone() })?;
        large_pages::ask(room.start(), size(&ty.shape) * ty.dtype.bytes());
        Ok(room)
    }

    /// Where the first element goes.
    pub(super) fn start(&mut self) -> *mut u8 {
        for_room!(self, buffer => buffer.as_mut_ptr().cast())
    }

    /// The array.
    ///
    /// # Safety
    ///
    /// All elements of the type's shape have been written.
    pub(super) unsafe fn filled(self, ty: &Type) -> Array {
        unsafe fn of<T: ElementType>(mut buffer: Vec<T>, shape: &[usize]) -> Array {
            // SAFETY: as the caller's.
            unsafe { buffer.set_len(size(shape)) };
            match shape {
                [] => T::wrap(Data::Uniform(Shape::new(), buffer[0])),
                _ => T::wrap(Data::from_vec(shape, buffer)),
            }
        }
        // SAFETY: as the caller's.
        for_room!(self, buffer => unsafe { of(buffer, &ty.shape) })
    }
}
