//! Elements: one as a value of JSON, many as bytes.

use super::base64;
use crate::concrete::{Array, Data, ElementType};
use crate::shape::{DType, Type, Value};
use serde_json::Value as Json;

/// Integers up to here are numbers of JSON in every language.
const EXACT: u64 = 1 << 53;

/// A number where JSON can express it, else a string.
pub(super) fn to_json(value: Value) -> Json {
    let special = match value {
        Value::F32(x) if x.is_nan() && x.to_bits() != f32::NAN.to_bits() => Some(format!("NaN#{:08x}", x.to_bits())),
        Value::F64(x) if x.is_nan() && x.to_bits() != f64::NAN.to_bits() => Some(format!("NaN#{:016x}", x.to_bits())),
        Value::F32(x) if !x.is_finite() => Some(format!("{x:?}")),
        Value::F64(x) if !x.is_finite() => Some(format!("{x:?}")),
        Value::I64(x) if x.unsigned_abs() > EXACT => Some(x.to_string()),
        _ => None,
    };
    match (special, value) {
        (Some(text), _) => Json::from(text),
        // The exact number that the element is.
        (None, Value::F32(x)) => Json::from(f64::from(x)),
        (None, Value::F64(x)) => Json::from(x),
        (None, Value::I32(x)) => Json::from(x),
        (None, Value::I64(x)) => Json::from(x),
        (None, Value::Bool(x)) => Json::from(x),
    }
}

/// The element of a type that a value of JSON is.
pub(super) fn from_json(json: &Json, dtype: DType) -> Option<Value> {
    match (json, dtype) {
        (Json::Bool(x), DType::Bool) => Some(Value::Bool(*x)),
        (Json::Number(_), DType::I32) => Some(Value::I32(json.as_i64()?.try_into().ok()?)),
        (Json::Number(_), DType::I64) => Some(Value::I64(json.as_i64()?)),
        (Json::String(text), DType::I64) => Some(Value::I64(text.parse().ok()?)),
        (Json::Number(_), DType::F64) => Some(Value::F64(number(json)?)),
        (Json::Number(_), DType::F32) => {
            let x = number(json)?;
            Some(Value::F32(x as f32)).filter(|_| f64::from(x as f32).to_bits() == x.to_bits())
        }
        (Json::String(text), DType::F32) => Some(Value::F32(match special(text, 8)? {
            SpecialFloat::Infinity(sign) => f32::INFINITY.copysign(sign as f32),
            SpecialFloat::NaN => f32::NAN,
            SpecialFloat::Bits(bits) => f32::from_bits(bits as u32),
        }))
        .filter(|value| !value.to_f64().is_finite()),
        (Json::String(text), DType::F64) => Some(Value::F64(match special(text, 16)? {
            SpecialFloat::Infinity(sign) => f64::INFINITY.copysign(sign),
            SpecialFloat::NaN => f64::NAN,
            SpecialFloat::Bits(bits) => f64::from_bits(bits),
        }))
        .filter(|value| !value.to_f64().is_finite()),
        _ => None,
    }
}

/// A float, or an integer that is one.
fn number(json: &Json) -> Option<f64> {
    let exact = json.is_f64() || json.as_i64().is_some_and(|x| x.unsigned_abs() <= EXACT);
    json.as_f64().filter(|x| exact && x.is_finite())
}

enum SpecialFloat {
    Infinity(f64),
    NaN,
    Bits(u64),
}

fn special(text: &str, digits: usize) -> Option<SpecialFloat> {
    match text {
        "inf" => Some(SpecialFloat::Infinity(1.0)),
        "-inf" => Some(SpecialFloat::Infinity(-1.0)),
        "NaN" => Some(SpecialFloat::NaN),
        _ => {
            let bits = text.strip_prefix("NaN#").filter(|bits| bits.len() == digits)?;
            let hexadecimal = bits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u64::from_str_radix(bits, 16).ok().filter(|_| hexadecimal).map(SpecialFloat::Bits)
        }
    }
}

/// The elements of an array as text.
pub(super) fn to_bytes(array: &Array) -> String {
    let bytes = |value: Value| {
        let bytes = value.bits().to_le_bytes();
        bytes.into_iter().take(value.dtype().bytes())
    };
    base64::encode((0..array.size()).flat_map(|at| bytes(array.element(at))))
}

/// The array of a type, from the text of its elements.
pub(super) fn from_bytes(ty: &Type, text: &str) -> Result<Array, String> {
    let bytes = base64::decode(text).ok_or("the elements are not in base64")?;
    if ty.rank() == 0 || ty.size() == 0 {
        return Err(format!("a constant of type {ty} has no bytes: its elements are equal"));
    }
    if ty.bytes() != Some(bytes.len()) {
        return Err(format!("{} bytes are not the elements of an array of type {ty}", bytes.len()));
    }
    fn collected<T: ElementType, const N: usize>(ty: &Type, bytes: &[u8], element: fn([u8; N]) -> T) -> Array {
        let (elements, _) = bytes.as_chunks::<N>();
        T::wrap(Data::from_vec(&ty.shape, elements.iter().map(|&bytes| element(bytes)).collect()))
    }
    match ty.dtype {
        DType::F32 => Ok(collected(ty, &bytes, f32::from_le_bytes)),
        DType::F64 => Ok(collected(ty, &bytes, f64::from_le_bytes)),
        DType::I32 => Ok(collected(ty, &bytes, i32::from_le_bytes)),
        DType::I64 => Ok(collected(ty, &bytes, i64::from_le_bytes)),
        DType::Bool if bytes.iter().any(|&byte| byte > 1) => Err("a bool is a byte 0 or 1".into()),
        DType::Bool => Ok(collected(ty, &bytes, |[byte]: [u8; 1]| byte == 1)),
    }
}
