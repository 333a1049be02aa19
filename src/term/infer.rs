//! The shape rules: what an operation results in, or why its operands do not fit. Every instance and pass asks here.

use crate::algebra::{Extreme, Reduction};
use crate::shape::{DType, Shape, Type, size};
use crate::term::body::Body;
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

/// The type of an operation's one output, given those of its operands.
///
/// # Errors
///
/// As [`outputs`].
pub fn output<X: Extension>(op: &Op<X>, operands: &[&Type]) -> Result<Type, String> {
    let mut types = types(op, operands)?;
    debug_assert_eq!(types.len(), 1);
    Ok(types.remove(0))
}

fn same_shape(a: &Type, b: &Type) -> Result<(), String> {
    if a.shape == b.shape { Ok(()) } else { Err(format!("shapes {:?} and {:?} differ", &a.shape[..], &b.shape[..])) }
}

fn same_type(a: &Type, b: &Type) -> Result<(), String> {
    same_shape(a, b)?;
    if a.dtype == b.dtype { Ok(()) } else { Err(format!("element types {} and {} differ", a.dtype, b.dtype)) }
}

fn arity(operands: &[&Type], expected: usize) -> Result<(), String> {
    if operands.len() == expected { Ok(()) } else { Err(format!("takes {expected} operands, not {}", operands.len())) }
}

fn axis_of(ty: &Type, axis: usize) -> Result<(), String> {
    if axis < ty.rank() { Ok(()) } else { Err(format!("there is no axis {axis} in shape {:?}", &ty.shape[..])) }
}

fn index_arrays(indices: &[&Type]) -> Result<Shape, String> {
    let Some(first) = indices.first() else { return Ok(Shape::new()) };
    for index in indices {
        if index.dtype != DType::I64 {
            return Err(format!("index arrays are i64, not {}", index.dtype));
        }
        same_shape(first, index)?;
    }
    Ok(first.shape.clone())
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
        Op::Constant(array) => {
            arity(operands, 0)?;
            one(array.ty())
        }
        Op::Iota(n) => {
            arity(operands, 0)?;
            one(Type::new(DType::I64, &[*n]))
        }
        Op::Unary(op) => {
            arity(operands, 1)?;
            if !op.domain().accepts(operands[0].dtype) {
                return Err(format!("takes {}, not {}", op.domain().name(), operands[0].dtype));
            }
            one(operands[0].clone())
        }
        Op::Binary(op) => {
            arity(operands, 2)?;
            same_type(operands[0], operands[1])?;
            if !op.domain().accepts(operands[0].dtype) {
                return Err(format!("takes {}, not {}", op.domain().name(), operands[0].dtype));
            }
            one(operands[0].clone())
        }
        Op::Compare(_) => {
            arity(operands, 2)?;
            same_type(operands[0], operands[1])?;
            one(Type { dtype: DType::Bool, shape: operands[0].shape.clone() })
        }
        Op::Select => {
            arity(operands, 3)?;
            if operands[0].dtype != DType::Bool {
                return Err(format!("the mask is bool, not {}", operands[0].dtype));
            }
            same_shape(operands[0], operands[1])?;
            same_type(operands[1], operands[2])?;
            one(operands[1].clone())
        }
        Op::Cast(dtype) => {
            arity(operands, 1)?;
            one(Type { dtype: *dtype, shape: operands[0].shape.clone() })
        }
        Op::View(map) => {
            arity(operands, 1)?;
            if operands[0].shape[..] != *map.source() {
                return Err(format!("the view reads shape {:?}, not {:?}", map.source(), &operands[0].shape[..]));
            }
            one(Type::new(operands[0].dtype, map.result()))
        }
        Op::Accumulate(map) => {
            arity(operands, 1)?;
            if operands[0].shape[..] != *map.result() {
                return Err(format!("the map takes shape {:?}, not {:?}", map.result(), &operands[0].shape[..]));
            }
            one(Type::new(operands[0].dtype, map.source()))
        }
        Op::Reshape(shape) => {
            arity(operands, 1)?;
            // Sizes saturate, and then say nothing of shapes that differ.
            let known = size(shape) < usize::MAX || *shape == operands[0].shape;
            if size(shape) != operands[0].size() || !known {
                return Err(format!("sizes of shapes {:?} and {:?} differ", &operands[0].shape[..], &shape[..]));
            }
            one(Type { dtype: operands[0].dtype, shape: shape.clone() })
        }
        Op::Concatenate(axis) => {
            let Some(first) = operands.first() else { return Err("takes at least one part".into()) };
            axis_of(first, *axis)?;
            let mut shape = first.shape.clone();
            for part in &operands[1..] {
                if part.dtype != first.dtype {
                    return Err(format!("element types {} and {} differ", first.dtype, part.dtype));
                }
                let fits = part.rank() == first.rank()
                    && (0..shape.len()).all(|at| at == *axis || part.shape[at] == first.shape[at]);
                if !fits {
                    return Err(format!(
                        "shapes {:?} and {:?} differ in more than axis {axis}",
                        &first.shape[..],
                        &part.shape[..]
                    ));
                }
                let Some(extent) = shape[*axis].checked_add(part.shape[*axis]) else {
                    return Err(format!("parts of shapes {:?} and {:?} are too long", &shape[..], &part.shape[..]));
                };
                shape[*axis] = extent;
            }
            one(Type { dtype: first.dtype, shape })
        }
        Op::Gather => {
            let Some((array, indices)) = operands.split_first() else { return Err("takes an array".into()) };
            if indices.len() > array.rank() {
                return Err(format!("{} indices into shape {:?}", indices.len(), &array.shape[..]));
            }
            let mut shape = index_arrays(indices)?;
            shape.extend_from_slice(&array.shape[indices.len()..]);
            one(Type { dtype: array.dtype, shape })
        }
        Op::Scatter(extents) => {
            let Some((updates, indices)) = operands.split_first() else { return Err("takes updates".into()) };
            if indices.len() != extents.len() {
                return Err(format!("{} indices into axes {:?}", indices.len(), &extents[..]));
            }
            let positions = index_arrays(indices)?;
            if !updates.shape.starts_with(&positions) {
                return Err(format!(
                    "updates of shape {:?} at positions of shape {:?}",
                    &updates.shape[..],
                    &positions[..]
                ));
            }
            let mut shape = extents.clone();
            shape.extend_from_slice(&updates.shape[positions.len()..]);
            one(Type { dtype: updates.dtype, shape })
        }
        Op::ScatterSet => {
            let [target, updates, indices @ ..] = operands else { return Err("takes a target and updates".into()) };
            if updates.dtype != target.dtype {
                return Err(format!("updates of {} into {}", updates.dtype, target.dtype));
            }
            if indices.len() > target.rank() {
                return Err(format!("{} indices into shape {:?}", indices.len(), &target.shape[..]));
            }
            let mut written = index_arrays(indices)?;
            written.extend_from_slice(&target.shape[indices.len()..]);
            if updates.shape != written {
                return Err(format!(
                    "updates of shape {:?} into shape {:?}, of which the positions read shape {:?}",
                    &updates.shape[..],
                    &target.shape[..],
                    &written[..]
                ));
            }
            one((*target).clone())
        }
        Op::Reduce(reduction, axes) => {
            arity(operands, 1)?;
            for (at, &axis) in axes.iter().enumerate() {
                axis_of(operands[0], axis)?;
                if at > 0 && axes[at - 1] >= axis {
                    return Err(format!("axes {:?} are not ascending", &axes[..]));
                }
            }
            let _: &Reduction = reduction;
            let shape = (0..operands[0].rank())
                .filter(|axis| !axes.contains(axis))
                .map(|axis| operands[0].shape[axis])
                .collect();
            one(Type { dtype: operands[0].dtype, shape })
        }
        Op::ArgReduce(extreme, axis) => {
            arity(operands, 1)?;
            axis_of(operands[0], *axis)?;
            let _: &Extreme = extreme;
            let mut shape = operands[0].shape.clone();
            shape.remove(*axis);
            one(Type { dtype: DType::I64, shape })
        }
        Op::ArgSort(_, axis) => {
            arity(operands, 1)?;
            axis_of(operands[0], *axis)?;
            one(Type { dtype: DType::I64, shape: operands[0].shape.clone() })
        }
        Op::Contract(spec) => {
            arity(operands, 2)?;
            let (left, right) = (operands[0], operands[1]);
            if left.dtype != right.dtype {
                return Err(format!("element types {} and {} differ", left.dtype, right.dtype));
            }
            if left.dtype == DType::Bool {
                return Err("takes numbers, not bool".into());
            }
            let fits = left.rank() == spec.left.len()
                && right.rank() == spec.right.len()
                && spec.is_valid()
                && spec.left.iter().enumerate().all(|(axis, label)| {
                    spec.right
                        .iter()
                        .position(|l| l == label)
                        .is_none_or(|other| right.shape[other] == left.shape[axis])
                });
            if !fits {
                return Err(format!("shapes {:?} and {:?} don't fit", &left.shape[..], &right.shape[..]));
            }
            one(Type { dtype: left.dtype, shape: spec.shape(&left.shape, &right.shape) })
        }
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
        Op::Alias | Op::Mark => {
            arity(operands, 1)?;
            one(operands[0].clone())
        }
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
    }
}

#[cfg(test)]
mod tests;
