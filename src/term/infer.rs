//! The shape rules: the types of an operation's results, or the reason that its operands do not fit. Every instance and pass
//! asks here.

use crate::shape::{DType, Type};
use crate::term::op::Body;
use crate::term::op::{Extension, Op};
use smallvec::{SmallVec, smallvec};

/// The types of an operation's outputs.
pub type Types = SmallVec<[Type; 1]>;

/// The types of the outputs, given all outputs of each operand.
///
/// # Errors
///
/// A sentence that says which operands do not fit, with their types.
pub fn outputs<X: Extension>(op: &Op<X>, operands: &[&[Type]]) -> Result<Types, String> {
    if let Op::Output(position) = op {
        let [types] = operands else { return Err(format!("takes 1 operand, not {}", operands.len())) };
        return match types.get(*position) {
            Some(ty) => Ok(smallvec![ty.clone()]),
            None => Err(format!("there is no output {position}, only {}", types.len())),
        };
    }
    let mut singles: SmallVec<[&Type; 4]> = SmallVec::new();
    for types in operands {
        match types {
            [ty] => singles.push(ty),
            _ => return Err("an operand with several outputs was used as one array".into()),
        }
    }
    types(op, &singles)
}

/// The type of an operation's one output, from its operands' types.
///
/// # Errors
///
/// As [`outputs`].
pub fn output<X: Extension>(op: &Op<X>, operands: &[&Type]) -> Result<Type, String> {
    let mut types = types(op, operands)?;
    debug_assert_eq!(types.len(), 1);
    Ok(types.remove(0))
}

/// Whether a body has so many proper parameters, and takes values of these types for them and its captures.
pub(super) fn signature<X: Extension>(
    what: &str,
    body: &Body<X>,
    parameters: usize,
    expected: &[Type],
) -> Result<(), String> {
    if body.arity() != expected.len() {
        return Err(format!("the {what} takes {} values, not {}", body.arity(), expected.len()));
    }
    for (position, ty) in expected.iter().enumerate() {
        if body.parameter_type(position) != ty {
            let declared = body.parameter_type(position);
            return Err(format!("the {what} takes {declared} at position {position}, not {ty}"));
        }
    }
    if body.parameters != parameters {
        return Err(format!("the {what} has {} parameters, not {parameters}, before its captures", body.parameters));
    }
    Ok(())
}

fn types<X: Extension>(op: &Op<X>, operands: &[&Type]) -> Result<Types, String> {
    let one = |ty: Type| -> Result<Types, String> { Ok(smallvec![ty]) };
    match op {
        Op::Parameter(_) => Err("a parameter's type is given, not inferred".into()),
        Op::Constant(array) if operands.is_empty() => one(array.ty()),
        Op::Constant(_) => Err(format!("takes 0 operands, not {}", operands.len())),
        Op::Scan(scan) => {
            if operands.len() < scan.carries.saturating_add(scan.inputs) {
                return Err(format!("takes {} carries and {} inputs", scan.carries, scan.inputs));
            }
            if scan.body.parameters != scan.carries + scan.inputs {
                return Err(format!(
                    "the loop's body takes {} parameters for {} carries and {} inputs",
                    scan.body.parameters, scan.carries, scan.inputs
                ));
            }
            let mut expected: Vec<Type> = operands.iter().map(|&ty| ty.clone()).collect();
            for input in &mut expected[scan.carries..scan.carries + scan.inputs] {
                if input.shape.first() != Some(&scan.length) {
                    return Err(format!("an input of shape {:?} in a loop of {} steps", &input.shape[..], scan.length));
                }
                input.shape.remove(0);
            }
            signature("loop's body", &scan.body, scan.body.parameters, &expected)?;
            let mut types: Types = scan.body.result_types().cloned().collect();
            if types.len() < scan.carries {
                return Err(format!("the loop's body returns {} values for {} carries", types.len(), scan.carries));
            }
            for (carry, ty) in types[..scan.carries].iter().enumerate() {
                if *ty != *operands[carry] {
                    return Err(format!("carry {carry} is {} before a step and {ty} after it", operands[carry]));
                }
            }
            for output in &mut types[scan.carries..] {
                output.shape.insert(0, scan.length);
            }
            Ok(types)
        }
        Op::Branch(branch) => {
            let Some((condition, captures)) = operands.split_first() else { return Err("takes a condition".into()) };
            if **condition != Type::scalar(DType::Bool) {
                return Err(format!("the condition is a rank-0 bool, not {condition}"));
            }
            let expected: Vec<Type> = captures.iter().map(|&ty| ty.clone()).collect();
            signature("first side", &branch.then, 0, &expected)?;
            signature("second side", &branch.otherwise, 0, &expected)?;
            let types: Types = branch.then.result_types().cloned().collect();
            let others: Types = branch.otherwise.result_types().cloned().collect();
            if types != others {
                return Err(format!("the sides result in {:?} and {:?}", &types[..], &others[..]));
            }
            Ok(types)
        }
        Op::Custom(custom) => {
            let inputs: Vec<Type> = operands.iter().map(|&ty| ty.clone()).collect();
            signature("function", &custom.value, inputs.len(), &inputs)?;
            let results: Vec<Type> = custom.value.result_types().cloned().collect();
            if custom.vjp.is_none() && custom.jvp.is_none() {
                return Err("has no derivative rule".into());
            }
            let rules = [("vjp rule", &custom.vjp, &results, &inputs), ("jvp rule", &custom.jvp, &inputs, &results)];
            for (name, rule, given, expected) in rules {
                let Some(rule) = rule else { continue };
                let taken = [&inputs[..], &results, given].concat();
                signature(name, rule, taken.len(), &taken)?;
                if !rule.result_types().eq(expected) {
                    let found: Vec<&Type> = rule.result_types().collect();
                    return Err(format!("the {name} results in {found:?} instead of {expected:?}"));
                }
            }
            Ok(results.into())
        }
        Op::Sweeps(sweeps) => sweeps.output_types(operands),
        Op::Output(_) => Err("takes an operand with several outputs".into()),
        Op::Extra(extra) => {
            let build = extra.as_build();
            let mut expected = vec![Type::scalar(DType::I64); build.extents.len()];
            expected.extend(operands.iter().map(|&ty| ty.clone()));
            signature("build's body", &build.body, build.extents.len(), &expected)?;
            let mut results = build.body.result_types();
            let (Some(element), None) = (results.next(), results.next()) else {
                return Err("a build's body has one result".into());
            };
            let mut shape = build.extents.clone();
            shape.extend_from_slice(&element.shape);
            one(Type { dtype: element.dtype, shape })
        }
        op => op.ask(|operation| operation.output(operands)).expect("an operation without a sub-program").and_then(one),
    }
}

#[cfg(test)]
mod tests;
