//! Expressions: the text of one operation on operands that are texts already.

use super::literal::{self, Constants, LiteralSpelling};
use super::text::{Precedence, PrintedExpression};
use super::view_names::{self, ViewName};
use crate::affine::AffineMap;
use crate::array::{Array, Data};
use crate::operation::{Binary, Comparison, Contraction, Elimination, Label, Unary};
use crate::shape::{Type, Value};
use crate::term::op::Op;

/// An operand of an operation.
pub(super) struct PrintedOperand<'a> {
    /// Its text, where the context does not determine its type.
    pub(super) expression: PrintedExpression,
    /// The value of a constant whose elements are all equal.
    pub(super) uniform: Option<Value>,
    /// How that value is spelled.
    pub(super) spelling: LiteralSpelling,
    /// Its type.
    pub(super) ty: &'a Type,
}

/// The operands of an elementwise operation: constants print as bare literals where another operand tells the shape.
///
/// `alike` says which operands have one element type.
fn elementwise(operands: &[PrintedOperand<'_>], alike: std::ops::Range<usize>) -> Vec<PrintedExpression> {
    let all = operands.iter().all(|operand| operand.uniform.is_some());
    // If all operands are constants of nonzero rank, the first tells the shape.
    let bare = |at: usize| operands[at].uniform.filter(|_| !(all && at == 0 && operands[0].ty.rank() > 0));
    let told = alike.clone().any(|at| bare(at).is_none());
    let text = |at: usize| match bare(at) {
        Some(value) => literal::literal(value, !(told && alike.contains(&at)), operands[at].spelling),
        None => operands[at].expression.clone(),
    };
    (0..operands.len()).map(text).collect()
}

fn infix(
    symbol: &str,
    level: Precedence,
    left_level: Precedence,
    operands: &[PrintedOperand<'_>],
) -> PrintedExpression {
    let sides = elementwise(operands, 0..2);
    // Both operators of a level associate to the left: the right operand must hold together more tightly.
    let right_level = match level {
        Precedence::Comparison => Precedence::Sum,
        Precedence::Sum => Precedence::Product,
        _ => Precedence::Unary,
    };
    let text = format!("{} {symbol} {}", sides[0].at(left_level), sides[1].at(right_level));
    PrintedExpression::new(text, level, sides[0].depth_at(left_level).max(sides[1].depth_at(right_level)))
}

/// `name(a, b)`.
fn call(name: &str, operands: Vec<PrintedExpression>) -> PrintedExpression {
    let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
    let depth = operands.iter().map(|operand| operand.depth).max().unwrap_or(0) + 1;
    PrintedExpression::new(format!("{name}({})", texts.join(", ")), Precedence::Atom, depth)
}

/// `head a b`.
fn apply(head: &str, operands: &[PrintedOperand<'_>]) -> PrintedExpression {
    let mut text = head.to_string();
    let mut depth = 0;
    for operand in operands {
        text.push(' ');
        text.push_str(&operand.expression.at(Precedence::Atom));
        depth = depth.max(operand.expression.depth_at(Precedence::Atom));
    }
    PrintedExpression::new(text, Precedence::Application, depth)
}

/// `a, b`, and how deep the operands nest.
fn listed(operands: &[PrintedOperand<'_>]) -> (String, usize) {
    let texts: Vec<&str> = operands.iter().map(|operand| operand.expression.text.as_str()).collect();
    (texts.join(", "), operands.iter().map(|operand| operand.expression.depth).max().unwrap_or(0) + 1)
}

fn binary(op: Binary, operands: &[PrintedOperand<'_>]) -> PrintedExpression {
    match op {
        Binary::Add => infix("+", Precedence::Sum, Precedence::Sum, operands),
        Binary::Sub => infix("-", Precedence::Sum, Precedence::Sum, operands),
        Binary::Mul => infix("*", Precedence::Product, Precedence::Product, operands),
        Binary::Div => infix("/", Precedence::Product, Precedence::Product, operands),
        _ => call(op.name(), elementwise(operands, 0..2)),
    }
}

fn compare(op: Comparison, operands: &[PrintedOperand<'_>]) -> PrintedExpression {
    let symbol = match op {
        Comparison::Less => "<",
        Comparison::LessEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
    };
    infix(symbol, Precedence::Comparison, Precedence::Sum, operands)
}

fn unary(op: Unary, operands: &[PrintedOperand<'_>]) -> PrintedExpression {
    match op {
        Unary::Neg => {
            let operand = &operands[0].expression;
            // A minus sign before a number belongs to the literal.
            if operands[0].uniform.is_some() && operand.level == Precedence::Atom {
                PrintedExpression::new(format!("-({})", operand.text), Precedence::Unary, operand.depth + 1)
            } else {
                let text = format!("-{}", operand.at(Precedence::Application));
                PrintedExpression::new(text, Precedence::Unary, operand.depth_at(Precedence::Application))
            }
        }
        _ => match op.parameter() {
            Some(parameter) => apply(&format!("{}[{parameter}]", op.name()), operands),
            None => apply(op.name(), operands),
        },
    }
}

/// The name of the `n`th label of a contraction, from 0: `i` to `z`, `a` to `h`, then capitals and further letters.
fn label_letter(n: usize) -> char {
    let letter = match n {
        0..18 => b'i' as u32 + n as u32,
        18..26 => b'a' as u32 + n as u32 - 18,
        26..52 => b'A' as u32 + n as u32 - 26,
        _ => 0x100 + n as u32 - 52,
    };
    char::from_u32(letter).expect("at most 256 labels, and no surrogates near")
}

/// `"ij,jk->ik"`: labels as letters, in order of appearance.
pub(crate) fn contraction_labels(spec: &Contraction) -> String {
    let mut seen: Vec<Label> = Vec::new();
    let mut letters = |labels: &[Label]| -> String {
        let mut text = String::new();
        for label in labels {
            let position = seen.iter().position(|other| other == label).unwrap_or_else(|| {
                seen.push(*label);
                seen.len() - 1
            });
            text.push(label_letter(position));
        }
        text
    };
    format!("{},{}->{}", letters(&spec.left), letters(&spec.right), letters(&spec.result))
}

fn view(map: &crate::affine::AffineMap, source: &PrintedExpression) -> PrintedExpression {
    match view_names::recognise(map) {
        ViewName::Applied(head) => {
            let text = format!("{head} {}", source.at(Precedence::Atom));
            PrintedExpression::new(text, Precedence::Application, source.depth_at(Precedence::Atom))
        }
        ViewName::Index(index) => PrintedExpression::new(
            format!("{}[{index}]", source.at(Precedence::Atom)),
            Precedence::Atom,
            source.depth_at(Precedence::Atom),
        ),
        ViewName::General => match view_names::in_two(map) {
            Some((first, second)) => view(&second, &view(&first, source)),
            None => mapped("view", map.result(), map, source),
        },
    }
}

/// `view [3, 4] x ([i, j] -> [j, 3 - i])`: the shape of the result, the operand, the map.
fn mapped(
    head: &str,
    shape: &[usize],
    map: &crate::affine::AffineMap,
    operand: &PrintedExpression,
) -> PrintedExpression {
    let text = format!("{head} {shape:?} {} ({map})", operand.at(Precedence::Atom));
    PrintedExpression::new(text, Precedence::Application, operand.depth_at(Precedence::Atom))
}

/// The word that an operation prints as; for a view or gather that prints as an index it is `at`.
pub(crate) fn name<X>(op: &Op<X>) -> String {
    match op {
        Op::Parameter(_) => "parameter".into(),
        Op::Constant(_) => "constant".into(),
        Op::Scan(_) => "scan".into(),
        Op::Branch(_) => "branch".into(),
        Op::Custom(_) => "custom".into(),
        Op::Sweeps(_) => "sweeps".into(),
        Op::Output(_) => "output".into(),
        Op::Extra(_) => "build".into(),
        op => op.ask(|operation| operation.name().into_owned()).expect("an operation without a sub-program"),
    }
}

/// The name of a view, by its effect.
pub(crate) fn view_name(map: &AffineMap) -> String {
    match view_names::recognise(map) {
        ViewName::Applied(head) => head.split('[').next().unwrap_or(&head).to_string(),
        ViewName::Index(_) => "at".into(),
        ViewName::General => "view".into(),
    }
}

/// The name and the attributes of an operation.
pub(crate) fn head<X>(op: &Op<X>) -> String {
    let head = op.ask(|operation| format!("{}{}", operation.name(), operation.attributes()));
    head.unwrap_or_else(|| name(op))
}

/// A pattern as an array: the row and the column of each entry.
fn entries(elimination: &Elimination) -> Array {
    let places = elimination.positions().flatten().map(|place| place as i64).collect();
    Array::I64(Data::from_vec(&[elimination.entries(), 2], places))
}

/// An operation that is neither a parameter nor a constant and has no body.
pub(super) fn operation<X>(
    op: &Op<X>,
    operands: &[PrintedOperand<'_>],
    constants: &mut Constants,
) -> PrintedExpression {
    match op {
        Op::Sparse(op) => {
            let pattern = constants.expression(&entries(&op.elimination));
            apply(&format!("{} {}", op.name(), pattern.at(Precedence::Atom)), operands)
        }
        Op::Unary(op) => unary(*op, operands),
        Op::Binary(op) => binary(*op, operands),
        Op::Compare(op) => compare(*op, operands),
        Op::Select => call("select", elementwise(operands, 1..3)),
        Op::View(map) => view(map, &operands[0].expression),
        Op::Accumulate(map) => mapped("accumulate", map.source(), map, &operands[0].expression),
        Op::Gather => {
            let (array, indices) = (&operands[0].expression, &operands[1..]);
            let (text, depth) = listed(indices);
            let depth = depth.max(array.depth_at(Precedence::Atom));
            // If all positions are constant, it is a view.
            let element =
                indices.iter().all(|index| index.ty.rank() == 0) && indices.iter().any(|index| index.uniform.is_none());
            if element {
                PrintedExpression::new(format!("{}[{text}]", array.at(Precedence::Atom)), Precedence::Atom, depth)
            } else {
                PrintedExpression::new(
                    format!("gather {} [{text}]", array.at(Precedence::Atom)),
                    Precedence::Application,
                    depth,
                )
            }
        }
        Op::Scatter(extents) => {
            let (updates, indices) = (&operands[0].expression, &operands[1..]);
            let (text, depth) = listed(indices);
            let text = format!("scatter {:?} {} [{text}]", &extents[..], updates.at(Precedence::Atom));
            PrintedExpression::new(text, Precedence::Application, depth.max(updates.depth_at(Precedence::Atom)))
        }
        Op::ScatterSet => {
            let (target, updates, indices) = (&operands[0].expression, &operands[1].expression, &operands[2..]);
            let (text, depth) = listed(indices);
            let text = format!("scatter_set {} {} [{text}]", target.at(Precedence::Atom), updates.at(Precedence::Atom));
            let depth = depth.max(target.depth_at(Precedence::Atom)).max(updates.depth_at(Precedence::Atom));
            PrintedExpression::new(text, Precedence::Application, depth)
        }
        Op::Parameter(_)
        | Op::Constant(_)
        | Op::Output(_)
        | Op::Scan(_)
        | Op::Branch(_)
        | Op::Sweeps(_)
        | Op::Custom(_)
        | Op::Extra(_) => unreachable!("written by the writer of bodies"),
        op => apply(&head(op), operands),
    }
}
