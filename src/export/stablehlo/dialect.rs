//! The operations of StableHLO: one method for each, which knows its syntax and its result type.

use super::writer::{Handle, ModuleWriter, dense, list, names, tensor, types};
use crate::concrete::Array;
use crate::error::Result;
use crate::operation::{Comparison, Reduction, StableHlo};
use crate::shape::{Axes, DType, Shape, Type, Value, size};

/// Positions in brackets.
fn positions<T: ToString>(items: &[T]) -> String {
    list(items, |item| item.to_string())
}

/// A row of attributes, without the empty ones.
fn dimensions(attributes: &[(&str, &[usize])]) -> String {
    let present = attributes.iter().filter(|(_, axes)| !axes.is_empty());
    list(present, |(name, axes)| format!("{name} = [{}]", positions(axes)))
}

/// Which axes of operands a gather or scatter indexes, by index arrays whose positions are the first axes of the read or written
/// elements; the other axes come after them, in their order.
pub(super) struct Indexing {
    /// The rank of the index arrays.
    pub(super) positions: usize,
    /// The axis that each of them indexes.
    pub(super) indexed: Axes,
    /// The number of axes that are not indexed.
    pub(super) whole: usize,
}

impl Indexing {
    /// The outer axes, as many as there are index arrays.
    pub(super) fn outer(positions: usize, indexed: usize, whole: usize) -> Indexing {
        Indexing { positions, indexed: (0..indexed).collect(), whole }
    }

    fn window(&self) -> Vec<usize> {
        (self.positions..self.positions + self.whole).collect()
    }

    fn dropped(&self) -> Axes {
        let mut axes = self.indexed.clone();
        axes.sort_unstable();
        axes
    }
}

impl StableHlo for ModuleWriter {
    type Value = Handle;

    fn dtype(&self, a: &Handle) -> DType {
        a.ty.dtype
    }

    fn elementwise(&mut self, operation: &str, operands: &[&Handle]) -> Handle {
        let ty = operands[0].ty.clone();
        let text = format!("stablehlo.{operation} {} : {}", names(operands), tensor(&ty));
        self.define(ty, &text)
    }

    fn special(&mut self, operation: &str, operands: &[&Handle]) -> Handle {
        let ty = operands[0].ty.clone();
        let text = format!("chlo.{operation} {} : {} -> {}", names(operands), types(operands), tensor(&ty));
        self.define(ty, &text)
    }

    fn compare(&mut self, comparison: Comparison, a: &Handle, b: &Handle) -> Handle {
        let kind = match a.ty.dtype {
            DType::F32 | DType::F64 => "FLOAT",
            DType::I32 | DType::I64 => "SIGNED",
            DType::Bool => "UNSIGNED",
        };
        let ty = Type { dtype: DType::Bool, shape: a.ty.shape.clone() };
        let (operands, result) = (types(&[a, b]), tensor(&ty));
        let text = format!(
            "stablehlo.compare {}, {}, {kind} : ({operands}) -> {result}",
            comparison.direction(),
            names(&[a, b])
        );
        self.define(ty, &text)
    }

    fn select(&mut self, mask: &Handle, yes: &Handle, no: &Handle) -> Handle {
        let text = format!("stablehlo.select {} : {}", names(&[mask, yes, no]), types(&[mask, yes]));
        self.define(yes.ty.clone(), &text)
    }

    fn number(&mut self, like: &Handle, x: f64) -> Handle {
        let value = Value::from_f64(like.ty.dtype, x);
        self.splat(value, &like.ty.shape)
    }

    fn convert(&mut self, a: &Handle, dtype: DType) -> Handle {
        if a.ty.dtype == dtype {
            return a.clone();
        }
        let ty = Type { dtype, shape: a.ty.shape.clone() };
        self.converted("convert", a, "", ty)
    }
}

impl ModuleWriter {
    /// A constant of one value.
    pub(super) fn splat(&mut self, value: Value, shape: &[usize]) -> Handle {
        self.constant(&Array::full(shape, value))
    }

    /// A whole number in each element.
    pub(super) fn filled(&mut self, dtype: DType, shape: &[usize], x: i64) -> Handle {
        self.splat(Value::from_i64(dtype, x), shape)
    }

    /// Zeros, or `false`.
    pub(super) fn zeros(&mut self, ty: &Type) -> Handle {
        self.filled(ty.dtype, &ty.shape, 0)
    }

    /// A rank-0 `i64`.
    pub(super) fn position(&mut self, x: usize) -> Handle {
        self.filled(DType::I64, &[], x as i64)
    }

    /// A known array.
    pub(super) fn constant(&mut self, array: &Array) -> Handle {
        let ty = array.ty();
        let text = format!("stablehlo.constant {} : {}", dense(array), tensor(&ty));
        self.define(ty, &text)
    }

    /// The position along an axis, as `i64`.
    pub(super) fn iota(&mut self, shape: &[usize], axis: usize) -> Handle {
        let ty = Type::new(DType::I64, shape);
        let text = format!("stablehlo.iota dim = {axis} : {}", tensor(&ty));
        self.define(ty, &text)
    }

    /// Another type with an operation that takes one operand, written with the types of both.
    fn converted(&mut self, operation: &str, a: &Handle, attributes: &str, ty: Type) -> Handle {
        let text = format!("stablehlo.{operation} {}{attributes} : ({}) -> {}", a.name, tensor(&a.ty), tensor(&ty));
        self.define(ty, &text)
    }

    /// Another shape of the same size.
    pub(super) fn reshape(&mut self, a: &Handle, shape: &[usize]) -> Handle {
        if a.ty.shape[..] == *shape {
            return a.clone();
        }
        let ty = Type::new(a.ty.dtype, shape);
        self.converted("reshape", a, "", ty)
    }

    /// Axis `j` of the result is axis `permutation[j]` of the operand.
    pub(super) fn transpose(&mut self, a: &Handle, permutation: &[usize]) -> Handle {
        if permutation.iter().enumerate().all(|(at, &axis)| at == axis) {
            return a.clone();
        }
        let shape: Shape = permutation.iter().map(|&axis| a.ty.shape[axis]).collect();
        let text = format!(", dims = [{}]", positions(permutation));
        self.converted("transpose", a, &text, Type { dtype: a.ty.dtype, shape })
    }

    /// Axis `r` of the operand is axis `axes[r]` of the result, ascending; along others the operand is repeated.
    pub(super) fn broadcast(&mut self, a: &Handle, shape: &[usize], axes: &[usize]) -> Handle {
        if a.ty.shape[..] == *shape {
            return a.clone();
        }
        let text = format!(", dims = [{}]", positions(axes));
        self.converted("broadcast_in_dim", a, &text, Type::new(a.ty.dtype, shape))
    }

    /// For each axis, the positions from the first to before the second, by steps.
    pub(super) fn slice(&mut self, a: &Handle, ranges: &[(usize, usize, usize)]) -> Handle {
        let whole = ranges.iter().zip(&a.ty.shape).all(|(&(start, end, step), &extent)| {
            let one = extent == 1 && end == 1;
            start == 0 && end == extent && (step == 1 || one)
        });
        if whole {
            return a.clone();
        }
        let shape: Shape = ranges.iter().map(|&(start, end, step)| (end - start).div_ceil(step)).collect();
        let ty = Type { dtype: a.ty.dtype, shape };
        let range = |&(start, end, step): &(usize, usize, usize)| match step {
            1 => format!("{start}:{end}"),
            _ => format!("{start}:{end}:{step}"),
        };
        let (operand, result) = (tensor(&a.ty), tensor(&ty));
        let text = format!("stablehlo.slice {} [{}] : ({operand}) -> {result}", a.name, list(ranges, range));
        self.define(ty, &text)
    }

    /// The other way round along some axes.
    pub(super) fn reverse(&mut self, a: &Handle, axes: &[usize]) -> Handle {
        if axes.is_empty() {
            return a.clone();
        }
        let text = format!("stablehlo.reverse {}, dims = [{}] : {}", a.name, positions(axes), tensor(&a.ty));
        self.define(a.ty.clone(), &text)
    }

    /// So many zeros before, after and between the elements along each axis.
    pub(super) fn pad(&mut self, a: &Handle, zeros: &[(usize, usize, usize)]) -> Handle {
        if zeros.iter().all(|&amounts| amounts == (0, 0, 0)) {
            return a.clone();
        }
        let extent = |(&extent, &(low, high, between)): (&usize, &(usize, usize, usize))| {
            low + high + extent + extent.saturating_sub(1) * between
        };
        let ty = Type { dtype: a.ty.dtype, shape: a.ty.shape.iter().zip(zeros).map(extent).collect() };
        let zero = self.zeros(&Type::scalar(a.ty.dtype));
        let text = format!(
            "stablehlo.pad {}, low = [{}], high = [{}], interior = [{}] : ({}) -> {}",
            names(&[a, &zero]),
            list(zeros, |amounts| amounts.0.to_string()),
            list(zeros, |amounts| amounts.1.to_string()),
            list(zeros, |amounts| amounts.2.to_string()),
            types(&[a, &zero]),
            tensor(&ty),
        );
        self.define(ty, &text)
    }

    /// Operands concatenated along an axis.
    pub(super) fn concatenate(&mut self, parts: &[&Handle], axis: usize) -> Handle {
        if let [part] = parts {
            return (*part).clone();
        }
        let mut ty = parts[0].ty.clone();
        ty.shape[axis] = parts.iter().map(|part| part.ty.shape[axis]).sum();
        let (operands, result) = (types(parts), tensor(&ty));
        let text = format!("stablehlo.concatenate {}, dim = {axis} : ({operands}) -> {result}", names(parts));
        self.define(ty, &text)
    }

    /// Reduces over axes.
    pub(super) fn reduce(&mut self, reduction: Reduction, a: &Handle, axes: &[usize]) -> Handle {
        if axes.is_empty() {
            return a.clone();
        }
        let dtype = a.ty.dtype;
        let (operation, start) = match (reduction, dtype) {
            (Reduction::Sum | Reduction::Max, DType::Bool) => ("or", Value::Bool(false)),
            (Reduction::Min, DType::Bool) => ("and", Value::Bool(true)),
            (Reduction::Sum, _) => ("add", Value::from_i64(dtype, 0)),
            (Reduction::Max, _) => ("maximum", Value::from_f64(dtype, f64::NEG_INFINITY)),
            (Reduction::Min, _) => ("minimum", Value::from_f64(dtype, f64::INFINITY)),
        };
        let start = self.splat(start, &[]);
        let shape: Shape = (0..a.ty.rank()).filter(|axis| !axes.contains(axis)).map(|axis| a.ty.shape[axis]).collect();
        let ty = Type { dtype, shape };
        let text = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{operation} across dimensions = [{}] : ({}) -> {}",
            a.name,
            start.name,
            positions(axes),
            types(&[a, &start]),
            tensor(&ty),
        );
        self.define(ty, &text)
    }

    /// The summed products of two operands, over pairs of axes. The result keeps the batch pairs first, and then the axes of
    /// each operand that are in no pair.
    pub(super) fn dot(&mut self, operands: [&Handle; 2], batch: [&[usize]; 2], summed: [&[usize]; 2]) -> Handle {
        let free = |side: usize| {
            let axes = 0..operands[side].ty.rank();
            axes.filter(move |axis| !batch[side].contains(axis) && !summed[side].contains(axis))
                .map(move |axis| operands[side].ty.shape[axis])
        };
        let shape: Shape =
            batch[0].iter().map(|&axis| operands[0].ty.shape[axis]).chain(free(0)).chain(free(1)).collect();
        let ty = Type { dtype: operands[0].ty.dtype, shape };
        let mut text = format!("stablehlo.dot_general {}", names(&operands));
        for (name, [left, right]) in [("batching_dims", batch), ("contracting_dims", summed)] {
            if !left.is_empty() || name == "contracting_dims" {
                text += &format!(", {name} = [{}] x [{}]", positions(left), positions(right));
            }
        }
        text += &format!(" : ({}) -> {}", types(&operands), tensor(&ty));
        self.define(ty, &text)
    }

    /// Reads at positions, each given as a row of indices. Positions outside are moved inside.
    pub(super) fn gather(&mut self, a: &Handle, indices: &Handle, indexing: &Indexing) -> Handle {
        let mut shape: Shape = indices.ty.shape[..indexing.positions].into();
        let is_whole = |&axis: &usize| !indexing.indexed.contains(&axis);
        shape.extend((0..a.ty.rank()).filter(is_whole).map(|axis| a.ty.shape[axis]));
        let ty = Type { dtype: a.ty.dtype, shape };
        let sizes = list(0..a.ty.rank(), |axis| if is_whole(&axis) { a.ty.shape[axis] } else { 1 }.to_string());
        let text = format!(
            "\"stablehlo.gather\"({}) <{{dimension_numbers = #stablehlo.gather<{}, index_vector_dim = {}>, slice_sizes = \
             array<i64: {sizes}>}}> : ({}) -> {}",
            names(&[a, indices]),
            dimensions(&[
                ("offset_dims", &indexing.window()),
                ("collapsed_slice_dims", &indexing.dropped()),
                ("start_index_map", &indexing.indexed),
            ]),
            indexing.positions,
            types(&[a, indices]),
            tensor(&ty),
        );
        self.define(ty, &text)
    }

    /// Adds at positions, each given as a row of indices; for booleans, or. Positions outside are ignored.
    pub(super) fn scatter(
        &mut self,
        target: &Handle,
        indices: &Handle,
        updates: &Handle,
        indexing: &Indexing,
        combine: impl FnOnce(&mut ModuleWriter, &[Handle]) -> Handle,
    ) -> Result<Handle> {
        let name = self.fresh();
        self.line(&format!(
            "{name} = \"stablehlo.scatter\"({}) <{{scatter_dimension_numbers = #stablehlo.scatter<{}, index_vector_dim = \
             {}>}}> ({{",
            names(&[target, indices, updates]),
            dimensions(&[
                ("update_window_dims", &indexing.window()),
                ("inserted_window_dims", &indexing.dropped()),
                ("scatter_dims_to_operand_dims", &indexing.indexed),
            ]),
            indexing.positions,
        ));
        let dtype = target.ty.dtype;
        self.block(&[Type::scalar(dtype), Type::scalar(dtype)], |writer, operands| {
            Ok(vec![combine(writer, operands)])
        })?;
        self.line(&format!("}}) : ({}) -> {}", types(&[target, indices, updates]), tensor(&target.ty)));
        Ok(Handle { name: name.into(), ty: target.ty.clone() })
    }

    /// A block with parameters, and its results.
    fn block(
        &mut self,
        parameters: &[Type],
        inside: impl FnOnce(&mut ModuleWriter, &[Handle]) -> Result<Vec<Handle>>,
    ) -> Result<()> {
        let parameters = self.parameters(parameters);
        self.line(&format!("^bb0({}):", list(&parameters, |value| format!("{}: {}", value.name, tensor(&value.ty)))));
        self.region(|writer| inside(writer, &parameters))
    }

    /// Sorts arrays of one shape together, along an axis, keeping the order of equal elements. The order compares two elements
    /// of each array: first those of the first array, then those of the second, and so on.
    pub(super) fn sort(
        &mut self,
        arrays: &[&Handle],
        axis: usize,
        before: impl FnOnce(&mut ModuleWriter, &[Handle]) -> Result<Vec<Handle>>,
    ) -> Result<Vec<Handle>> {
        let name = self.fresh();
        let (count, operands) = (arrays.len(), names(arrays));
        let attributes = format!("dimension = {axis} : i64, is_stable = true");
        self.line(&format!("{name}:{count} = \"stablehlo.sort\"({operands}) <{{{attributes}}}> ({{"));
        let elements: Vec<Type> =
            arrays.iter().flat_map(|array| [array, array]).map(|a| Type::scalar(a.ty.dtype)).collect();
        self.block(&elements, before)?;
        self.line(&format!("}}) : ({0}) -> ({0})", types(arrays)));
        let types: Vec<Type> = arrays.iter().map(|array| array.ty.clone()).collect();
        Ok(ModuleWriter::results(&name, &types))
    }

    /// Reduces arrays of one shape together along an axis: from an element of each and another of each to one of each,
    /// beginning with the given ones.
    pub(super) fn reduce_together(
        &mut self,
        arrays: &[&Handle],
        starts: &[&Handle],
        axis: usize,
        combine: impl FnOnce(&mut ModuleWriter, &[Handle]) -> Result<Vec<Handle>>,
    ) -> Result<Vec<Handle>> {
        let name = self.fresh();
        let operands = [arrays, starts].concat();
        let header = format!("\"stablehlo.reduce\"({}) <{{dimensions = array<i64: {axis}>}}>", names(&operands));
        self.line(&format!("{name}:{} = {header} ({{", arrays.len()));
        let elements: Vec<Type> = [starts, starts].concat().iter().map(|start| start.ty.clone()).collect();
        self.block(&elements, combine)?;
        let mut results: Vec<Type> = arrays.iter().map(|array| array.ty.clone()).collect();
        for ty in &mut results {
            ty.shape.remove(axis);
        }
        self.line(&format!("}}) : ({}) -> ({})", types(&operands), list(&results, tensor)));
        Ok(ModuleWriter::results(&name, &results))
    }

    /// One position along the outermost axis, which is removed.
    pub(super) fn read_outer(&mut self, a: &Handle, position: &Handle) -> Handle {
        let mut slice = a.ty.clone();
        slice.shape[0] = 1;
        let zero = self.position(0);
        let mut starts = vec![position];
        starts.resize(a.ty.rank(), &zero);
        let text = format!(
            "stablehlo.dynamic_slice {}, {}, sizes = [{}] : ({}, {}) -> {}",
            a.name,
            names(&starts),
            positions(&slice.shape),
            tensor(&a.ty),
            types(&starts),
            tensor(&slice),
        );
        let read = self.define(slice, &text);
        self.reshape(&read, &a.ty.shape[1..])
    }

    /// An array with one position along the outermost axis written over.
    pub(super) fn write_outer(&mut self, a: &Handle, slice: &Handle, position: &Handle) -> Handle {
        let mut shape = slice.ty.shape.clone();
        shape.insert(0, 1);
        let slice = self.reshape(slice, &shape);
        let zero = self.position(0);
        let mut starts = vec![position];
        starts.resize(a.ty.rank(), &zero);
        self.write_block(a, &slice, &starts)
    }

    /// An array with a block written over, which starts at these positions.
    pub(super) fn write_block(&mut self, a: &Handle, block: &Handle, starts: &[&Handle]) -> Handle {
        let operands = [&[a, block][..], starts].concat();
        let (types, result) = (types(&operands), tensor(&a.ty));
        let text = format!("stablehlo.dynamic_update_slice {} : ({types}) -> {result}", names(&operands));
        self.define(a.ty.clone(), &text)
    }

    /// The same values, as ones that differ from step to step of the loop around, if there is one.
    pub(super) fn held(&mut self, values: &[Handle]) -> Vec<Handle> {
        let Some(changing) = self.changing.last().cloned() else { return values.to_vec() };
        let name = self.fresh();
        let all: Vec<&Handle> = values.iter().chain([&changing]).collect();
        let (count, operands, types) = (all.len(), names(&all), types(&all));
        self.line(&format!("{name}:{count} = stablehlo.optimization_barrier {operands} : {types}"));
        let types: Vec<Type> = values.iter().map(|value| value.ty.clone()).collect();
        ModuleWriter::results(&name, &types)
    }

    /// Goes on with a state, of one value at least, while a condition of it holds. The first value changes in every step.
    pub(super) fn repeat(
        &mut self,
        state: &[Handle],
        condition: impl FnOnce(&mut ModuleWriter, &[Handle]) -> Result<Handle>,
        step: impl FnOnce(&mut ModuleWriter, &[Handle]) -> Result<Vec<Handle>>,
    ) -> Result<Vec<Handle>> {
        let name = self.fresh();
        let types: Vec<Type> = state.iter().map(|value| value.ty.clone()).collect();
        let current = self.parameters(&types);
        let starts = list(current.iter().zip(state), |(now, start)| format!("{} = {}", now.name, start.name));
        self.line(&format!("{name}:{} = stablehlo.while({starts}) : {}", state.len(), list(&types, tensor)));
        self.line("cond {");
        self.region(|writer| Ok(vec![condition(writer, &current)?]))?;
        self.line("} do {");
        self.changing.extend(current.first().cloned());
        self.region(|writer| step(writer, &current))?;
        self.changing.pop();
        self.line("}");
        Ok(ModuleWriter::results(&name, &types))
    }

    /// One of two regions, which result in values of these types.
    pub(super) fn choose(
        &mut self,
        condition: &Handle,
        results: &[Type],
        then: impl FnOnce(&mut ModuleWriter) -> Result<Vec<Handle>>,
        otherwise: impl FnOnce(&mut ModuleWriter) -> Result<Vec<Handle>>,
    ) -> Result<Vec<Handle>> {
        let name = self.fresh();
        self.line(&format!("{name}:{} = \"stablehlo.if\"({}) ({{", results.len(), condition.name));
        self.region(then)?;
        self.line("}, {");
        self.region(otherwise)?;
        self.line(&format!("}}) : ({}) -> ({})", tensor(&condition.ty), list(results, tensor)));
        Ok(ModuleWriter::results(&name, results))
    }

    /// Whether a type has no elements.
    pub(super) fn is_empty(ty: &Type) -> bool {
        size(&ty.shape) == 0
    }
}
