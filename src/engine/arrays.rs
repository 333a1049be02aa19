//! Elements in memory: lines of it, single values over it, and plain arrays from and to it.

use super::large_pages;
use crate::array::{Array, Data, ElementType, OutOfMemory, filled, for_data};
use crate::shape::{DType, Shape, Type, Value};

/// A cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct CacheLine(#[allow(dead_code, reason = "only its place is used")] [u8; 64]);

impl CacheLine {
    pub(crate) const ZERO: CacheLine = CacheLine([0; 64]);
}

/// Room for so many bytes.
pub(crate) fn lines(bytes: usize) -> Result<Vec<CacheLine>, OutOfMemory> {
    let (mut lines, count) = (Vec::<CacheLine>::new(), bytes.div_ceil(64));
    match lines.try_reserve_exact(count) {
        Ok(()) => {
            large_pages::ask(lines.as_mut_ptr().cast(), bytes);
            lines.resize(count, CacheLine::ZERO);
        }
        Err(_) => return Err(OutOfMemory { ty: Type::new(DType::Bool, &[bytes]) }),
    }
    Ok(lines)
}

/// An array with a buffer.
pub(crate) fn dense(array: &Array) -> Result<Array, OutOfMemory> {
    fn of<T: ElementType>(data: &Data<T>) -> Result<Array, OutOfMemory> {
        Ok(match data {
            // Rank-0 arrays have none: one element in a row stands for them.
            Data::Uniform(shape, x) if shape.is_empty() => T::wrap(Data::from_vec(&[1], vec![*x])),
            Data::Uniform(shape, x) => T::wrap(Data::from_vec(shape, filled(shape, *x)?)),
            dense => T::wrap(dense.clone()),
        })
    }
    for_data!(array, data => of(data))
}

/// The elements of an array that has a buffer.
pub(crate) fn elements(array: &Array) -> *mut u8 {
    for_data!(array, data => match data {
        Data::Dense(array) => array.as_ptr().cast::<u8>().cast_mut(),
        Data::Uniform(_, x) => std::ptr::from_ref(x).cast::<u8>().cast_mut(),
    })
}

/// Whether an array must get memory before its elements are written: it has no buffer, or one that others hold too.
pub(crate) fn needs_memory(array: &Array) -> bool {
    for_data!(array, data => needs_buffer(data))
}

fn needs_buffer<T>(data: &Data<T>) -> bool {
    match data {
        // Rank-0 arrays hold their element.
        Data::Uniform(shape, _) => !shape.is_empty() && !shape.contains(&0),
        Data::Dense(array) => !array.is_unique(),
    }
}

/// Where the elements of an array may be written: in its buffer, which is replaced by a new one where it has none for itself.
///
/// # Errors
///
/// When there is no memory for a new one.
pub(crate) fn own_elements(array: &mut Array) -> Result<*mut u8, OutOfMemory> {
    fn of<T: ElementType>(data: &mut Data<T>) -> Result<*mut u8, OutOfMemory> {
        if needs_buffer(data) {
            // The old elements are overwritten.
            let shape = Shape::from_slice(data.shape());
            *data = Data::from_vec(&shape, filled(&shape, T::ZERO)?);
        }
        Ok(data.own_slice()?.as_mut_ptr().cast())
    }
    for_data!(array, data => of(data))
}

pub(crate) fn bytes(ty: &Type) -> usize {
    ty.bytes().expect("sizes are counted when memory is planned")
}

/// A copy of a buffer as an array.
///
/// # Safety
///
/// There are as many elements as the type says.
pub(crate) unsafe fn array_from(ty: &Type, from: *const u8) -> Result<Array, OutOfMemory> {
    unsafe fn of<T: ElementType>(ty: &Type, from: *const u8) -> Result<Array, OutOfMemory> {
        if ty.shape.is_empty() {
            // SAFETY: there is one element.
            return Ok(T::wrap(Data::Uniform(Shape::new(), unsafe { *from.cast::<T>() })));
        }
        let mut buffer = filled(&ty.shape, T::ZERO)?;
        // SAFETY: as the caller's; a new buffer overlaps nothing.
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<T>(), buffer.as_mut_ptr(), buffer.len()) };
        Ok(T::wrap(Data::from_vec(&ty.shape, buffer)))
    }
    // SAFETY: as the caller's.
    unsafe {
        match ty.dtype {
            DType::F32 => of::<f32>(ty, from),
            DType::F64 => of::<f64>(ty, from),
            DType::I32 => of::<i32>(ty, from),
            DType::I64 => of::<i64>(ty, from),
            DType::Bool => of::<bool>(ty, from),
        }
    }
}

/// Writes the elements of an array to a buffer.
///
/// # Safety
///
/// There is room for them.
pub(crate) unsafe fn write_array(array: &Array, to: *mut u8) {
    unsafe fn of<T: ElementType>(data: &Data<T>, to: *mut T) {
        // SAFETY: as the caller's.
        unsafe {
            match data {
                Data::Uniform(shape, x) => repeated(to, crate::shape::size(shape), *x),
                Data::Dense(array) => std::ptr::copy_nonoverlapping(array.as_ptr(), to, array.len()),
            }
        }
    }
    // SAFETY: as the caller's.
    for_data!(array, data => unsafe { of(data, to.cast()) });
}

/// Bytes that are copied again and again, about: they stay in the first cache.
const NEAR: usize = 4 << 10;

/// Repeats the first elements until there are so many: copies of those that are there, more of them each time. The system copies
/// as fast in builds with little optimisation as in others.
///
/// # Safety
///
/// There is room for all, and the first have been written, `pattern` or all.
pub(crate) unsafe fn repeat<T: Copy>(elements: *mut T, pattern: usize, count: usize) {
    let (mut there, mut whole) = (pattern.min(count), pattern);
    while there < count {
        let length = whole.min(count.wrapping_sub(there));
        // SAFETY: as the caller's; what is copied stands before its copy.
        unsafe { std::ptr::copy_nonoverlapping(elements, elements.wrapping_add(there), length) };
        there = there.wrapping_add(length);
        if whole.wrapping_mul(size_of::<T>()) < NEAR {
            whole = there;
        }
    }
}

/// Writes one element so many times.
///
/// # Safety
///
/// There is room for them.
unsafe fn repeated<T: Copy>(to: *mut T, count: usize, x: T) {
    const PATTERN: usize = 16;
    // SAFETY: as the caller's.
    unsafe {
        (0..count.min(PATTERN)).for_each(|at| to.add(at).write(x));
        repeat(to, PATTERN, count);
    }
}

/// Writes one value to so many elements.
///
/// # Safety
///
/// There is room for them.
pub(crate) unsafe fn fill(to: *mut u8, count: usize, value: Value) {
    // SAFETY: as the caller's.
    unsafe {
        match value {
            Value::F32(x) => repeated(to.cast(), count, x),
            Value::F64(x) => repeated(to.cast(), count, x),
            Value::I32(x) => repeated(to.cast(), count, x),
            Value::I64(x) => repeated(to.cast(), count, x),
            Value::Bool(x) => repeated(to.cast(), count, x),
        }
    }
}
