//! Plain arrays from numbers, and back.

use deltaray::concrete::{Array, Buffer, Data};
use deltaray::shape::{DType, Type, Value, size};

fn data<T: Copy>(shape: &[usize], elements: Vec<T>) -> Data<T> {
    match elements.first() {
        // Arrays of rank 0 are never buffers.
        Some(&only) if shape.is_empty() => Data::Uniform(shape.into(), only),
        _ => Data::Dense(Buffer::new(shape, elements)),
    }
}

/// The array of a type with these elements, row-major.
pub fn array(ty: &Type, elements: &[Value]) -> Array {
    assert_eq!(elements.len(), size(&ty.shape));
    let shape = &ty.shape;
    let whole = |value: &Value| value.to_integer().expect("an integer");
    match ty.dtype {
        DType::F32 => Array::F32(data(shape, elements.iter().map(|x| x.to_f64() as f32).collect())),
        DType::F64 => Array::F64(data(shape, elements.iter().map(|x| x.to_f64()).collect())),
        DType::I32 => Array::I32(data(shape, elements.iter().map(|x| whole(x) as i32).collect())),
        DType::I64 => Array::I64(data(shape, elements.iter().map(whole).collect())),
        DType::Bool => Array::Bool(data(shape, elements.iter().map(|x| x.to_f64() != 0.0).collect())),
    }
}

/// The array of a float type with these elements, row-major.
pub fn floats(ty: &Type, elements: &[f64]) -> Array {
    let elements: Vec<Value> = elements.iter().map(|&x| Value::from_f64(ty.dtype, x)).collect();
    array(ty, &elements)
}

/// All elements of an array, row-major.
pub fn elements(array: &Array) -> Vec<Value> {
    (0..array.size()).map(|position| array.element(position)).collect()
}

/// All elements of an array as `f64`, row-major.
pub fn numbers(array: &Array) -> Vec<f64> {
    (0..array.size()).map(|position| array.element(position).to_f64()).collect()
}

/// An array of one value.
pub fn full(ty: &Type, x: f64) -> Array {
    Array::full(&ty.shape, Value::from_f64(ty.dtype, x))
}
