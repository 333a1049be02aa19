//! Numbers, and lists of them.

use super::reader::{ParseResult, TextReader};
use super::tokens::{TextProblem, TokenKind};
use crate::array::{Array, Data, ElementType};
use crate::shape::{DType, Shape, Type, Value, size};
use crate::term::print::DTYPES;

/// A number as it is spelled; it may take its element type from the operand beside it.
#[derive(Clone, Copy)]
pub(super) struct NumberLiteral<'t> {
    /// Digits, `inf`, `NaN`, `true` or `false`, without the sign and the ending.
    text: &'t str,
    /// The bits of a NaN.
    bits: Option<&'t str>,
    negative: bool,
    ending: Option<DType>,
    /// Where it begins.
    pub(super) place: usize,
}

impl NumberLiteral<'_> {
    /// The element type that its spelling says.
    fn dtype(&self) -> DType {
        match (self.ending, self.text) {
            (Some(dtype), _) => dtype,
            (None, "true" | "false") => DType::Bool,
            (None, text) if text.bytes().all(|byte| byte.is_ascii_digit()) => DType::I64,
            (None, _) => DType::F64,
        }
    }

    /// Whether it is spelled as an integer.
    pub(super) fn is_integer(&self) -> bool {
        self.dtype().is_integer()
    }

    /// Its value as an element of a type: the type of its ending, or else the given one, or else the one that its spelling
    /// implies.
    pub(super) fn value(&self, dtype: Option<DType>) -> ParseResult<Value> {
        let dtype = self.ending.or(dtype).unwrap_or(self.dtype());
        let spelled = match self.negative {
            true => format!("-{}", self.text),
            false => self.text.to_string(),
        };
        let value = match (dtype, self.bits) {
            (DType::F32, Some(bits)) => nan(bits, 8).map(|bits| Value::F32(f32::from_bits(bits as u32))),
            (DType::F64, Some(bits)) => nan(bits, 16).map(|bits| Value::F64(f64::from_bits(bits))),
            (_, Some(_)) => None,
            (DType::F32, None) => float(&spelled).map(Value::F32),
            (DType::F64, None) => float(&spelled).map(Value::F64),
            (DType::I32, None) => spelled.parse().ok().map(Value::I32),
            (DType::I64, None) => spelled.parse().ok().map(Value::I64),
            (DType::Bool, None) => spelled.parse().ok().map(Value::Bool),
        };
        let is_nan = value.is_some_and(|value| self.bits.is_none() || value.to_f64().is_nan());
        match value.filter(|_| is_nan) {
            Some(value) => Ok(value),
            None => Err(TextProblem::new(format!("`{spelled}` is no {dtype}"), self.place)),
        }
    }
}

/// A float. It is infinite only if spelled so; an integer spelling is accepted too.
fn float<T: ElementType + std::str::FromStr>(spelled: &str) -> Option<T> {
    let is_named = spelled.ends_with("inf") || spelled.ends_with("NaN");
    spelled.parse().ok().filter(|x: &T| is_named || x.into_value().to_f64().is_finite())
}

/// Hexadecimal digits, just so many.
fn nan(bits: &str, digits: usize) -> Option<u64> {
    let all = bits.len() == digits && bits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(bits, 16).ok().filter(|_| all)
}

/// A word or number without its ending, and the ending.
fn ending(text: &str) -> (&str, Option<DType>) {
    let split = text.split_once('_').and_then(|(number, ending)| {
        let dtype = DTYPES.iter().find(|dtype| dtype.name() == ending)?;
        Some((number, Some(*dtype)))
    });
    split.unwrap_or((text, None))
}

impl<'t> TextReader<'t> {
    /// Whether the next token is a number, without a sign.
    pub(super) fn is_number(&self) -> bool {
        match self.token().kind {
            TokenKind::Number => true,
            TokenKind::Word => {
                matches!(self.peek(), "true" | "false") || matches!(ending(self.peek()).0, "inf" | "NaN")
            }
            _ => false,
        }
    }

    /// A number, perhaps with a minus sign.
    pub(super) fn number(&mut self) -> ParseResult<NumberLiteral<'t>> {
        let place = self.place();
        let negative = self.accept("-");
        if !self.is_number() {
            return self.expected("a number");
        }
        let word = self.next();
        let (text, mut dtype) = ending(self.text_of(word));
        let mut bits = None;
        if text == "NaN" && dtype.is_none() && self.accept("#") {
            let digits = self.next();
            let (digits, ending) = ending(self.text_of(digits));
            (bits, dtype) = (Some(digits), ending);
        }
        let fits = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'-'));
        if word.kind == TokenKind::Number && !fits {
            return Err(TextProblem::new(format!("`{text}` is no number"), place));
        }
        Ok(NumberLiteral { text, bits, negative, ending: dtype, place })
    }

    /// The elements of nested lists, row-major, and their shape; of the type that the first one is spelled as, unless the type
    /// is given. The list's `[` is next.
    fn elements(&mut self, mut dtype: Option<DType>) -> ParseResult<(Shape, Vec<Value>)> {
        let (mut shape, mut elements) = (Shape::new(), Vec::new());
        // How many parts the lists that are open have so far.
        let mut open: Vec<usize> = Vec::new();
        // Whether the depth of elements is known: the first element determines it.
        let mut is_known = false;
        loop {
            if self.is_symbol("[") || self.token().kind == TokenKind::At {
                if is_known && open.len() == shape.len() {
                    return self.expected("a number");
                }
                self.next();
                open.push(0);
                if !is_known {
                    shape.push(0);
                }
                continue;
            }
            if open.len() < shape.len() {
                return self.expected("`[`");
            }
            is_known = true;
            let literal = self.number()?;
            let dtype = *dtype.get_or_insert(literal.dtype());
            let value = literal.value(Some(dtype))?;
            if value.dtype() != dtype {
                let problem = format!("a number of type {} in a list of {dtype}", value.dtype());
                return Err(TextProblem::new(problem, literal.place));
            }
            elements.push(value);
            loop {
                let Some(parts) = open.last_mut() else { return Ok((shape, elements)) };
                *parts += 1;
                let parts = *parts;
                if self.accept(",") {
                    break;
                }
                if !self.is_symbol("]") {
                    return self.expected("`,` or `]`");
                }
                let extent = &mut shape[open.len() - 1];
                if *extent != 0 && *extent != parts {
                    let problem = format!("a list of {parts} beside lists of {extent}");
                    return self.fail(problem);
                }
                *extent = parts;
                self.next();
                open.pop();
                if open.is_empty() {
                    return Ok((shape, elements));
                }
            }
        }
    }

    /// A list of numbers as an array of the type of its first number.
    pub(super) fn listed(&mut self) -> ParseResult<Array> {
        let (shape, elements) = self.elements(None)?;
        Ok(array(&shape, &elements))
    }

    /// A list of numbers as an array of a type.
    pub(super) fn listed_as(&mut self, ty: &Type) -> ParseResult<Array> {
        let place = self.place();
        if !self.is_symbol("[") {
            return self.expected("`[`");
        }
        let (shape, elements) = self.elements(Some(ty.dtype))?;
        if shape != ty.shape {
            return Err(TextProblem::new(
                format!("a list of shape {:?} for a constant of type {ty}", &shape[..]),
                place,
            ));
        }
        Ok(array(&shape, &elements))
    }
}

/// The array of elements of one type; there is at least one.
fn array(shape: &[usize], elements: &[Value]) -> Array {
    fn collected<T: ElementType>(shape: &[usize], elements: &[Value]) -> Array {
        debug_assert_eq!(elements.len(), size(shape));
        let element = |&value: &Value| T::from_value(value).expect("elements have one type");
        T::wrap(Data::from_vec(shape, elements.iter().map(element).collect()))
    }
    match elements[0].dtype() {
        DType::F32 => collected::<f32>(shape, elements),
        DType::F64 => collected::<f64>(shape, elements),
        DType::I32 => collected::<i32>(shape, elements),
        DType::I64 => collected::<i64>(shape, elements),
        DType::Bool => collected::<bool>(shape, elements),
    }
}
