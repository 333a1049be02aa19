//! Counting, other shapes, and joining.

use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::{Array, Data, for_data};
use crate::shape::{Shape, size};

/// `[0, 1, .., n-1]`.
pub(crate) fn iota(n: usize) -> Result<Array, OutOfMemory> {
    Ok(i64::wrap(Data::from_vec(&[n], memory::collected(&[n], 0..n as i64)?)))
}

/// The same elements in another shape of the same size; the buffer is shared.
pub(crate) fn reshape<T: ElementType>(a: Data<T>, shape: &[usize]) -> Array {
    debug_assert_eq!(size(a.shape()), size(shape));
    T::wrap(match a {
        Data::Uniform(_, x) => Data::Uniform(Shape::from_slice(shape), x),
        dense if shape.is_empty() => Data::Uniform(Shape::new(), dense.element(0)),
        dense if dense.shape().contains(&0) => Data::zeros(shape),
        Data::Dense(array) => Data::Dense(array.reshaped(shape)),
    })
}

/// Concatenates arrays along an axis.
pub(crate) fn concatenate(axis: usize, mut parts: Vec<Array>) -> Result<Array, OutOfMemory> {
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    for_data!(&parts[0], first => concatenate_data(axis, first, &parts))
}

fn concatenate_data<T: ElementType>(axis: usize, first: &Data<T>, parts: &[Array]) -> Result<Array, OutOfMemory> {
    let parts: Vec<&Data<T>> = parts.iter().map(|part| T::unwrap(part).expect("parts have one element type")).collect();
    let mut shape = Shape::from_slice(first.shape());
    shape[axis] = parts.iter().map(|part| part.shape()[axis]).sum();
    if let Data::Uniform(_, x) = first
        && parts.iter().all(|part| matches!(part, Data::Uniform(_, y) if x.same_bits(*y)))
    {
        return Ok(T::wrap(Data::Uniform(shape, *x)));
    }
    let mut out = memory::room(&shape)?;
    let chunks: Vec<usize> = parts.iter().map(|part| size(&part.shape()[axis..])).collect();
    if size(&shape) > 0 {
        for outer in 0..size(&shape[..axis]) {
            for (part, &chunk) in parts.iter().zip(&chunks) {
                match part {
                    Data::Uniform(_, x) => out.resize(out.len() + chunk, *x),
                    dense => {
                        let elements = dense.as_slice().unwrap_or_default();
                        out.extend_from_slice(&elements[outer * chunk..(outer + 1) * chunk]);
                    }
                }
            }
        }
    }
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// Slice `position` along the outermost axis, which it removes.
pub(crate) fn outer_slice<T: ElementType>(a: &Data<T>, position: usize) -> Result<Array, OutOfMemory> {
    let shape = &a.shape()[1..];
    Ok(T::wrap(match a {
        Data::Uniform(_, x) => Data::Uniform(Shape::from_slice(shape), *x),
        dense => {
            let count = size(shape);
            let elements = dense.as_slice().unwrap_or_default();
            let slice = elements[position * count..(position + 1) * count].iter().copied();
            Data::from_vec(shape, memory::collected(shape, slice)?)
        }
    }))
}

/// Writes slice `position` along the outermost axis of a buffer.
pub(crate) fn write_outer_slice<T: ElementType>(out: &mut [T], slice: &Data<T>, position: usize) {
    let count = size(slice.shape());
    let out = &mut out[position * count..(position + 1) * count];
    match slice {
        Data::Uniform(_, x) => out.fill(*x),
        dense => out.copy_from_slice(dense.as_slice().unwrap_or_default()),
    }
}

/// Writes one slice of a loop's output, whose buffer is made at the first slice that its one value does not fit.
pub(crate) fn write_slice<T: ElementType>(
    output: &mut Data<T>,
    slice: &Data<T>,
    position: usize,
) -> Result<(), OutOfMemory> {
    if let (Data::Uniform(_, x), Data::Uniform(_, y)) = (&*output, slice)
        && x.same_bits(*y)
    {
        return Ok(());
    }
    if let Data::Uniform(shape, x) = output {
        let shape: Shape = shape.clone();
        *output = Data::from_vec(&shape, memory::filled(&shape, *x)?);
    }
    if let Data::Dense(buffer) = output {
        write_outer_slice(buffer.as_slice_mut(), slice, position);
    }
    Ok(())
}
