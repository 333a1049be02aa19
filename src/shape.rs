//! Element types, shapes, and the type of an array: the facts about it before any input is seen. This module is for extending
//! the library, and may change between minor versions.

use smallvec::SmallVec;
use std::fmt;

/// The element type of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit IEEE 754 floating point.
    F32,
    /// 64-bit IEEE 754 floating point.
    F64,
    /// 32-bit signed integer; arithmetic wraps.
    I32,
    /// 64-bit signed integer; arithmetic wraps. All index arrays have this type.
    I64,
    /// Truth values.
    Bool,
}

impl DType {
    /// Whether derivatives flow through arrays of this element type.
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// The distance from 1 to the next number of a float type.
    pub(crate) fn epsilon(self) -> f64 {
        if self == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
    }

    /// Whether this is one of the integer types.
    pub fn is_integer(self) -> bool {
        matches!(self, DType::I32 | DType::I64)
    }

    /// The name used in printed programs.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::Bool => "bool",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::F64 | DType::I64 => 8,
            DType::Bool => 1,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Extents of the axes, outermost first.
pub type Shape = SmallVec<[usize; 4]>;

/// Extents by value. Empty shapes, which eager programs on numbers have everywhere, need no call.
#[inline]
pub(crate) fn copied_shape(shape: &[usize]) -> Shape {
    if shape.is_empty() { Shape::new() } else { Shape::from_slice(shape) }
}

/// Whether shapes are equal, without a call for the few extents there are.
#[inline]
pub(crate) fn same_shape(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// Positions of axes, counted from the outermost.
pub type Axes = SmallVec<[usize; 4]>;

/// Number of elements of an array of this shape, saturating at `usize::MAX`.
pub fn size(shape: &[usize]) -> usize {
    // A zero extent makes the array empty however large the others are.
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1usize, |n, &extent| n.saturating_mul(extent))
}

/// Whether so few elements are sparse in an array of so many: at most one in four.
pub(crate) fn is_sparse(few: usize, all: usize) -> bool {
    few <= all / 4
}

/// Whether so many elements can be compared with one another in no more steps than an array of so many has elements.
pub(crate) fn are_few(count: usize, all: usize) -> bool {
    count.saturating_mul(count) <= all
}

/// The product of the extents that are not 0; 2^128 and more are one less than that.
pub(crate) fn size_beside_zeros(shape: &[usize]) -> u128 {
    shape.iter().fold(1u128, |count, &extent| count.saturating_mul(extent.max(1) as u128))
}

/// The number of steps of nested loops with these extents, saturating: values computed only inside the loops may be more than
/// memory holds.
pub(crate) fn steps(extents: impl IntoIterator<Item = usize>) -> usize {
    let product =
        |count: Option<usize>, extent: usize| if extent == 0 { None } else { Some(count?.saturating_mul(extent)) };
    extents.into_iter().fold(Some(1), product).unwrap_or(0)
}

/// Sorts by a number of each item, equals in their order; the complements of numbers sort the largest first. Sorting is much code, of
/// which there is one copy for items of all types.
pub(crate) fn sort_by_rank<T>(items: &mut [T], rank: impl Fn(&T) -> u64) {
    let order = order_by_rank(items.len(), &|at| rank(&items[at]));
    for at in 0..items.len() {
        // Exchanges may have moved the item on.
        let mut from = order[at];
        while from < at {
            from = order[from];
        }
        items.swap(at, from);
    }
}

/// The positions of items in the order of [`sort_by_rank`].
fn order_by_rank(count: usize, rank: &dyn Fn(usize) -> u64) -> SmallVec<[usize; 4]> {
    let mut ranks: SmallVec<[(u64, usize); 4]> = SmallVec::with_capacity(count);
    ranks.extend((0..count).map(|at| (rank(at), at)));
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, at)| at).collect()
}

/// Ranks floats as [`f64::total_cmp`] does.
pub(crate) fn rank_of_float(x: f64) -> u64 {
    let bits = x.to_bits();
    if x.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// Row-major strides in elements.
pub(crate) fn strides(shape: &[usize]) -> SmallVec<[usize; 4]> {
    let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

/// Element type and shape of an array.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// The element type.
    pub dtype: DType,
    /// The extents of the axes.
    pub shape: Shape,
}

impl Type {
    /// The type of an array with these elements and extents.
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Type { dtype, shape: Shape::from_slice(shape) }
    }

    /// The type of a rank-0 array.
    pub fn scalar(dtype: DType) -> Self {
        Type { dtype, shape: Shape::new() }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        size(&self.shape)
    }

    /// Bytes of all elements, unless these are more than one object in memory may have, which is `isize::MAX`.
    pub fn bytes(&self) -> Option<usize> {
        let bytes = isize::try_from(self.exact_bytes()).ok()?;
        Some(bytes as usize)
    }

    /// Bytes of all elements, however many; 2^128 and more are one less than that.
    pub(crate) fn exact_bytes(&self) -> u128 {
        if self.shape.contains(&0) {
            return 0;
        }
        size_beside_zeros(&self.shape).saturating_mul(self.dtype.bytes() as u128)
    }

    /// Whether memory could ever hold such an array; for an array without elements, one with 1 for each extent of 0.
    ///
    /// Arrays whose elements are all equal, and empty arrays, take no memory, but are bounded all the same: sizes, strides and
    /// positions must be representable, also for slices and reductions.
    ///
    /// # Errors
    ///
    /// A sentence that names the type and the bytes.
    pub fn check_size(&self) -> Result<(), String> {
        let bytes = size_beside_zeros(&self.shape).saturating_mul(self.dtype.bytes() as u128);
        if isize::try_from(bytes).is_ok() {
            return Ok(());
        }
        let bytes = if bytes == u128::MAX { "more than 2^128".into() } else { bytes.to_string() };
        let of = if self.shape.contains(&0) { " for each element along the axes of length 0" } else { "" };
        Err(format!("an array of type {self} is too large for any memory: {bytes} bytes{of}"))
    }
}

impl fmt::Display for Type {
    /// `f64[3, 4]`; a rank-0 array prints its element type alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        if !self.shape.is_empty() {
            write!(f, "{:?}", self.shape.as_slice())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// One element of any type.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// An `f32` element.
    F32(f32),
    /// An `f64` element.
    F64(f64),
    /// An `i32` element.
    I32(i32),
    /// An `i64` element.
    I64(i64),
    /// A `bool` element.
    Bool(bool),
}

impl Value {
    /// The element type.
    pub fn dtype(self) -> DType {
        match self {
            Value::F32(_) => DType::F32,
            Value::F64(_) => DType::F64,
            Value::I32(_) => DType::I32,
            Value::I64(_) => DType::I64,
            Value::Bool(_) => DType::Bool,
        }
    }

    /// The element of `dtype` nearest to `x`; casts to integers saturate, NaN becomes 0, and any non-zero is `true`.
    pub fn from_f64(dtype: DType, x: f64) -> Value {
        match dtype {
            DType::F32 => Value::F32(x as f32),
            DType::F64 => Value::F64(x),
            DType::I32 => Value::I32(x as i32),
            DType::I64 => Value::I64(x as i64),
            DType::Bool => Value::Bool(x != 0.0),
        }
    }

    /// The element of `dtype` for an integer.
    pub fn from_i64(dtype: DType, x: i64) -> Value {
        match dtype {
            DType::F32 => Value::F32(x as f32),
            DType::F64 => Value::F64(x as f64),
            DType::I32 => Value::I32(x as i32),
            DType::I64 => Value::I64(x),
            DType::Bool => Value::Bool(x != 0),
        }
    }

    /// The value as `f64`; `true` is 1.
    pub fn to_f64(self) -> f64 {
        match self {
            Value::F32(x) => x as f64,
            Value::F64(x) => x,
            Value::I32(x) => x as f64,
            Value::I64(x) => x as f64,
            Value::Bool(x) => x as u8 as f64,
        }
    }

    /// The value as an integer, if it is of an integer type.
    pub fn to_integer(self) -> Option<i64> {
        match self {
            Value::I32(x) => Some(x as i64),
            Value::I64(x) => Some(x),
            _ => None,
        }
    }

    /// Its bits, by which constants are compared: NaN equals itself, and 0 differs from −0.
    pub fn bits(self) -> u64 {
        match self {
            Value::F32(x) => x.to_bits() as u64,
            Value::F64(x) => x.to_bits(),
            Value::I32(x) => x as u32 as u64,
            Value::I64(x) => x as u64,
            Value::Bool(x) => x as u64,
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}

impl Eq for Value {}

impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.bits().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_sorted_by_rank_as_by_key() {
        for count in 0..100_usize {
            let items: Vec<(usize, usize)> = (0..count).map(|at| (at * at % 17, at)).collect();
            let (mut found, mut expected) = (items.clone(), items);
            sort_by_rank(&mut found, |&(number, _)| number as u64);
            expected.sort_by_key(|&(number, _)| number);
            assert_eq!(found, expected);
            sort_by_rank(&mut found, |&(_, at)| !(at as u64));
            assert!(found.iter().map(|&(_, at)| at).eq((0..count).rev()));
        }
        let numbers = [1.5, -0.0, f64::NAN, f64::NEG_INFINITY, 0.0, -f64::NAN, f64::INFINITY, -2.0, f64::MIN_POSITIVE];
        let (mut found, mut expected) = (numbers, numbers);
        sort_by_rank(&mut found, |&number| rank_of_float(number));
        expected.sort_by(f64::total_cmp);
        assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn sizes_and_strides() {
        assert_eq!(
            (size(&[]), size(&[2, 3]), size(&[usize::MAX, 2, 0]), size(&[usize::MAX, 2])),
            (1, 6, 0, usize::MAX)
        );
        assert_eq!(strides(&[2, 3, 4])[..], [12, 4, 1]);
        assert_eq!(strides(&[]).len(), 0);
        assert_eq!(strides(&[0, usize::MAX, 2])[..], [usize::MAX, 2, 1]);
    }

    #[test]
    fn bytes_are_counted_without_overflow() {
        let bytes = |dtype, shape: &[usize]| Type::new(dtype, shape).bytes();
        assert_eq!(bytes(DType::F64, &[3, 4]), Some(96));
        assert_eq!(bytes(DType::Bool, &[]), Some(1));
        assert_eq!(bytes(DType::F64, &[0, usize::MAX, usize::MAX]), Some(0));
        assert_eq!(bytes(DType::Bool, &[1 << 62]), Some(1 << 62));
        assert_eq!(bytes(DType::Bool, &[isize::MAX as usize + 1]), None);
        assert_eq!(bytes(DType::F64, &[1 << 60]), None);
        assert_eq!(bytes(DType::F32, &[1 << 40, 1 << 24]), None);
        let exact = |dtype, shape: &[usize]| Type::new(dtype, shape).exact_bytes();
        assert_eq!(exact(DType::F64, &[]), 8);
        assert_eq!(exact(DType::F32, &[3, 5]), 60);
        assert_eq!(exact(DType::F64, &[usize::MAX, 0]), 0);
        assert_eq!(exact(DType::Bool, &[1 << 40, 1 << 40]), 1 << 80);
        assert_eq!(exact(DType::Bool, &[usize::MAX; 4]), u128::MAX);
        let message = "an array of type f64[1099511627776, 1099511627776] is too large for any memory: 9671406556917033397649408 bytes";
        assert_eq!(Type::new(DType::F64, &[1 << 40, 1 << 40]).check_size(), Err(message.into()));
        // As if extents of 0 were 1.
        let checked = |dtype, shape: &[usize]| Type::new(dtype, shape).check_size();
        assert_eq!(checked(DType::F64, &[0, 1 << 59, 0, 1]), Ok(()));
        let message = "an array of type f64[0, 1152921504606846976] is too large for any memory: 9223372036854775808 bytes for \
                       each element along the axes of length 0";
        assert_eq!(checked(DType::F64, &[0, 1 << 60]), Err(message.into()));
        assert_eq!(checked(DType::Bool, &[isize::MAX as usize, 0]), Ok(()));
        assert!(checked(DType::Bool, &[1 << 63, 0]).is_err());
    }

    #[test]
    fn types_print_short() {
        assert_eq!(Type::new(DType::F64, &[3, 4]).to_string(), "f64[3, 4]");
        assert_eq!(Type::scalar(DType::Bool).to_string(), "bool");
        assert_eq!(Type::new(DType::I32, &[0]).to_string(), "i32[0]");
        assert_eq!((Type::new(DType::F32, &[2, 5]).size(), Type::new(DType::F32, &[2, 5]).rank()), (10, 2));
    }

    #[test]
    fn values_convert_as_casts_do() {
        assert_eq!(Value::from_f64(DType::I32, 1e99), Value::I32(i32::MAX));
        assert_eq!(Value::from_f64(DType::I64, f64::NAN), Value::I64(0));
        assert_eq!(Value::from_f64(DType::I64, -2.9), Value::I64(-2));
        assert_eq!(Value::from_f64(DType::Bool, 0.5), Value::Bool(true));
        assert_eq!(Value::from_i64(DType::F32, 3), Value::F32(3.0));
        assert_eq!(Value::from_i64(DType::Bool, 0), Value::Bool(false));
        assert_eq!(Value::Bool(true).to_f64(), 1.0);
        assert_eq!((Value::I32(-1).to_integer(), Value::F64(1.0).to_integer()), (Some(-1), None));
    }

    #[test]
    fn values_are_equal_by_their_bits_and_type() {
        assert_eq!(Value::F64(f64::NAN), Value::F64(f64::NAN));
        assert_ne!(Value::F64(0.0), Value::F64(-0.0));
        assert_ne!(Value::I64(0), Value::I32(0));
        assert_ne!(Value::I32(-1).bits(), Value::I64(-1).bits());
    }
}
