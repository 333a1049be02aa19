//! The arguments of programs, compared with the types that the programs were compiled for.

use crate::array::Array;
use crate::shape::Type;

/// A value with a type, wherever its elements are.
pub(crate) trait Typed {
    /// Whether it has this type. This needs no memory.
    fn is_of(&self, ty: &Type) -> bool;
    /// Its type.
    fn own_type(&self) -> Type;
}

impl Typed for Array {
    fn is_of(&self, ty: &Type) -> bool {
        self.dtype() == ty.dtype && *self.shape() == ty.shape[..]
    }

    fn own_type(&self) -> Type {
        self.ty()
    }
}

/// Something of another type than it must have, or missing, or too much.
pub(crate) struct Mismatch {
    pub(crate) position: usize,
    /// The type that it must have, or `nothing`.
    pub(crate) expected: String,
    /// The type that it has, or `nothing`.
    pub(crate) found: String,
}

/// The first argument that does not have its type.
pub(crate) fn mismatch<'a, T: Typed + 'a>(
    mut expected: impl Iterator<Item = &'a Type>,
    mut found: impl Iterator<Item = &'a T>,
) -> Option<Mismatch> {
    let text = |ty: Option<&Type>| ty.map_or_else(|| "nothing".to_string(), Type::to_string);
    for position in 0.. {
        match (expected.next(), found.next()) {
            (None, None) => break,
            (Some(ty), Some(array)) if array.is_of(ty) => {}
            (ty, array) => {
                let (expected, found) = (text(ty), text(array.map(Typed::own_type).as_ref()));
                return Some(Mismatch { position, expected, found });
            }
        }
    }
    None
}
