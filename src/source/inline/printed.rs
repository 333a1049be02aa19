//! Formulas as functions, in C, in OpenCL's C and in Rust. The texts are those of [`HelperFunction`]s, with their words for
//! prefixes and types.

use super::recorded::{Recorded, Step};
use crate::elementary::traced::{Kind, Operation, Value};
use crate::source::expression::SourceExpression;

/// The names of arguments.
const ARGUMENTS: [&str; 2] = ["x", "y"];

/// Expressions that are as long have a name.
const LONG: usize = 64;

/// A language of functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    C,
    Rust,
}

impl Dialect {
    fn ty(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Dialect::C, Kind::F32) => "float",
            (Dialect::C, Kind::F64) => "double",
            (Dialect::C, Kind::I32) => "uint32_t",
            (Dialect::C, Kind::I64) => "uint64_t",
            (Dialect::Rust, Kind::F32) => "f32",
            (Dialect::Rust, Kind::F64) => "f64",
            (Dialect::Rust, Kind::I32) => "u32",
            (Dialect::Rust, Kind::I64) => "u64",
            (_, Kind::Mask) => unreachable!("answers are bits"),
        }
    }

    /// Integers with a sign, of as many bits.
    fn signed(self, kind: Kind) -> &'static str {
        match (self, kind.bytes()) {
            (Dialect::C, 4) => "int32_t",
            (Dialect::C, _) => "int64_t",
            (Dialect::Rust, 4) => "i32",
            (Dialect::Rust, _) => "i64",
        }
    }

    fn literal(self, kind: Kind, bits: u64) -> SourceExpression {
        let (number, text) = match kind {
            Kind::F32 => {
                let number = f32::from_bits(bits as u32);
                (f64::from(number), format!("{number:?}{}", if self == Dialect::C { "f" } else { "" }))
            }
            Kind::F64 => {
                let number = f64::from_bits(bits);
                (number, format!("{number:?}"))
            }
            _ => {
                let bits = if kind == Kind::I32 { bits & u64::from(u32::MAX) } else { bits };
                return SourceExpression::atom(match self {
                    Dialect::C => format!("0x{bits:x}u"),
                    Dialect::Rust => format!("0x{bits:x}_{}", self.ty(kind)),
                });
            }
        };
        let text = match self {
            _ if number.is_finite() => text,
            Dialect::C if number.is_nan() => "NAN".into(),
            Dialect::C => format!("{}INFINITY", if number < 0.0 { "-" } else { "" }),
            Dialect::Rust if number.is_nan() => format!("{}::NAN", self.ty(kind)),
            Dialect::Rust => format!("{}::{}INFINITY", self.ty(kind), if number < 0.0 { "NEG_" } else { "" }),
        };
        SourceExpression { is_atom: !text.starts_with('-'), text }
    }

    fn declare(self, name: &str, kind: Kind, text: &str) -> String {
        match self {
            Dialect::C => format!("    const {} {name} = {text};\n", self.ty(kind)),
            Dialect::Rust => format!("    let {name}: {} = {text};\n", self.ty(kind)),
        }
    }

    /// A call of a function of the mathematical library, which has one for each kind of float.
    fn library(self, name: &str, kind: Kind, operands: &[SourceExpression]) -> SourceExpression {
        let operands: Vec<&str> = operands.iter().map(|operand| &operand.text[..]).collect();
        let operands = operands.join(", ");
        SourceExpression::atom(match self {
            Dialect::C if name == "abs" => format!("fabs{}({operands})", if kind == Kind::F32 { "F" } else { "" }),
            Dialect::C => format!("{name}{}({operands})", if kind == Kind::F32 { "F" } else { "" }),
            Dialect::Rust => format!("{}::{name}({operands})", self.ty(kind)),
        })
    }

    /// The bits of a float, or the float of bits.
    fn as_kind(self, operand: SourceExpression, from: Kind, to: Kind) -> SourceExpression {
        let (name, float) = if from.is_float() { ("bits", from) } else { ("from_bits", to) };
        let ty = if float == Kind::F32 { "f32" } else { "f64" };
        let name = if self == Dialect::Rust && from.is_float() { "to_bits" } else { name };
        SourceExpression::atom(match self {
            Dialect::C => format!("P_{name}_{ty}({})", operand.text),
            Dialect::Rust => format!("{ty}::{name}({})", operand.text),
        })
    }

    fn choice(self, mask: &str, yes: &str, no: &str) -> String {
        match self {
            Dialect::C => format!("{mask} ? {yes} : {no}"),
            Dialect::Rust => format!("if {mask} {{ {yes} }} else {{ {no} }}"),
        }
    }

    /// All bits where the condition holds, else none.
    fn answer(self, condition: &str, kind: Kind) -> String {
        let [all, none] = [u64::MAX, 0].map(|bits| self.literal(kind.bits(), bits).text);
        self.choice(condition, &all, &none)
    }

    fn expression(self, operation: Operation, kind: Kind, operands: &[SourceExpression]) -> SourceExpression {
        let at = |at: usize| operands[at].at_atom();
        let not = if self == Dialect::C { "~" } else { "!" };
        let infix = |operator: &str| format!("{} {operator} {}", at(0), at(1));
        let text = match operation {
            Operation::Add | Operation::Sub if self == Dialect::Rust && !kind.is_float() => {
                let name = if operation == Operation::Add { "wrapping_add" } else { "wrapping_sub" };
                return self.library(name, kind, operands);
            }
            Operation::Add => infix("+"),
            Operation::Sub => infix("-"),
            Operation::Mul => infix("*"),
            Operation::Div => infix("/"),
            Operation::And => infix("&"),
            Operation::Or => infix("|"),
            Operation::Xor => infix("^"),
            Operation::Less => self.answer(&infix("<"), kind),
            Operation::LessEqual => self.answer(&infix("<="), kind),
            Operation::Equal => self.answer(&infix("=="), kind),
            Operation::NotLessEqual => self.answer(&format!("!({})", infix("<=")), kind),
            Operation::Neg => format!("-{}", at(0)),
            Operation::Not => format!("{not}{}", at(0)),
            Operation::ShiftLeft(places) => format!("{} << {places}", at(0)),
            Operation::ShiftRight(places) => format!("{} >> {places}", at(0)),
            Operation::HasBit(bit) => {
                let first = if bit == 0 { at(0) } else { format!("({} >> {bit})", at(0)) };
                let bit = format!("{first} & {}", self.literal(kind, 1).text);
                match self {
                    Dialect::C => format!("0u - ({bit})"),
                    Dialect::Rust => format!("{}::wrapping_neg({bit})", self.ty(kind)),
                }
            }
            Operation::Select => format!("({0} & {1}) | ({not}{0} & {2})", at(0), at(1), at(2)),
            Operation::Convert(_) if self == Dialect::Rust => format!("{} as {}", at(0), self.ty(kind)),
            Operation::Convert(_) => format!("({}){}", self.ty(kind), at(0)),
            Operation::Abs => return self.library("abs", kind, operands),
            Operation::CopySign => return self.library("copysign", kind, operands),
            Operation::Sqrt => return self.library("sqrt", kind, operands),
            Operation::Floor => return self.library("floor", kind, operands),
            Operation::Min | Operation::Max | Operation::MultiplyAdd | Operation::Scale => {
                unreachable!("not recorded: {operation:?}")
            }
        };
        SourceExpression { text, is_atom: false }
    }
}

/// A function that is being written.
struct Lines<'a> {
    dialect: Dialect,
    steps: &'a [Step],
    expressions: Vec<SourceExpression>,
}

impl Lines<'_> {
    /// An operand, of a kind: the bits of floats are another type in languages.
    fn operand(&self, value: Value, kind: Kind) -> SourceExpression {
        let step = &self.steps[value as usize];
        let (own, expression) = (step.kind(), &self.expressions[value as usize]);
        match *step {
            Step::Constant(_, bits) => self.dialect.literal(kind, bits),
            _ if own == kind => expression.clone(),
            _ => self.dialect.as_kind(expression.clone(), own, kind),
        }
    }

    fn expression(&self, step: &Step) -> SourceExpression {
        let Step::Computed(operation, kind, operands) = step else {
            // Constants are written where they are used, in the kind that is wanted there.
            let name = if let Step::Argument(at, _) = *step { ARGUMENTS[at] } else { "" };
            return SourceExpression::atom(name.into());
        };
        let of = match *operation {
            Operation::Select => kind.bits(),
            Operation::Convert(from) => from,
            _ => *kind,
        };
        let operands: Vec<SourceExpression> = operands.iter().map(|&value| self.operand(value, of)).collect();
        self.dialect.expression(*operation, *kind, &operands)
    }
}

/// How often each value occurs in the text of what leads to a result.
fn uses(steps: &[Step], result: Value) -> Vec<u32> {
    let mut uses = vec![0; steps.len()];
    uses[result as usize] = 1;
    for (at, step) in steps.iter().enumerate().rev() {
        if uses[at] == 0 {
            continue;
        }
        for (place, &operand) in step.operands().iter().enumerate() {
            let is_twice = matches!(step, Step::Computed(Operation::Select, ..)) && place == 0;
            uses[operand as usize] += if is_twice { 2 } else { 1 };
        }
    }
    uses
}

/// The result of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// A number.
    Number,
    /// 1 where an answer holds, else 0.
    Answer,
}

/// The lines of a function with this result.
fn body(recorded: &Recorded, (result, output): (Value, Output), dialect: Dialect) -> String {
    let steps = &recorded.steps;
    let uses = uses(steps, result);
    let mut lines = Lines { dialect, steps, expressions: Vec::new() };
    let (mut text, mut count) = (String::new(), 0);
    for (at, step) in steps.iter().enumerate() {
        let mut expression = if uses[at] > 0 { lines.expression(step) } else { SourceExpression::atom(String::new()) };
        let is_long = expression.text.len() >= LONG && at != result as usize;
        if matches!(step, Step::Computed(..)) && (uses[at] > 1 || is_long) {
            let name = format!("v{count}");
            count += 1;
            text += &dialect.declare(&name, step.kind(), &expression.text);
            expression = SourceExpression::atom(name);
        }
        lines.expressions.push(expression);
    }
    let kind = steps[result as usize].kind();
    let result = match output {
        Output::Number => lines.operand(result, if kind.bytes() == 4 { Kind::F32 } else { Kind::F64 }).text,
        Output::Answer => {
            let first = format!("({} >> {})", lines.operand(result, kind).at_atom(), 8 * kind.bytes() - 1);
            match dialect {
                Dialect::C => format!("({}){first}", dialect.signed(kind)),
                Dialect::Rust => format!("{first} as {}", dialect.signed(kind)),
            }
        }
    };
    text + &match dialect {
        Dialect::C => format!("    return {result};\n"),
        Dialect::Rust => format!("    {result}\n"),
    }
}

/// The text of a function of the arguments with this result.
pub(super) fn function(name: &str, recorded: &Recorded, result: (Value, Output), dialect: Dialect) -> String {
    let arguments = recorded.steps.iter().filter_map(|step| match *step {
        Step::Argument(at, _) if dialect == Dialect::C => Some(format!("T {}", ARGUMENTS[at])),
        Step::Argument(at, _) => Some(format!("{}: T", ARGUMENTS[at])),
        _ => None,
    });
    let arguments: Vec<String> = arguments.collect();
    let arguments = arguments.join(", ");
    let body = body(recorded, result, dialect);
    let ty = match result {
        (_, Output::Number) => "T",
        (value, Output::Answer) => dialect.signed(recorded.steps[value as usize].kind()),
    };
    match dialect {
        Dialect::C => format!("P_INLINE {ty} P_{name}_S({arguments})\n{{\n{body}}}"),
        Dialect::Rust => format!("#[inline(always)]\nfn {name}_S({arguments}) -> {ty} {{\n{body}}}"),
    }
}
