//! The meaning of operations on whole arrays, read off their definitions.

use super::matrix;
use super::scalar::{self, add, replaces, replaces_position};
use super::sparse;
use super::{Cell, Plain, Watch, positions, run, signed};
use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Extreme, Order, Reduction};
use deltaray::operation::Binary;
use deltaray::shape::{DType, Shape, Type};
use deltaray::term::{Body, Extension, Op, Steps, Sweeps};
use std::rc::Rc;

/// The outputs of an operation.
pub(super) fn apply<X: Extension>(op: &Op<X>, args: &[Rc<Plain>], watch: &mut Watch) -> Vec<Rc<Plain>> {
    let one = |plain: Plain| vec![Rc::new(plain)];
    let first = args.first();
    let a = || &**first.expect("an operand");
    match op {
        Op::Parameter(_) | Op::Output(_) => unreachable!("handled by the caller"),
        Op::Constant(array) => one(Plain::of(array)),
        Op::Iota(n) => {
            one(Plain { ty: Type::new(DType::I64, &[*n]), cells: (0..*n as i64).map(Cell::Whole).collect() })
        }
        Op::Unary(op) => {
            let dtype = a().ty.dtype;
            one(Plain {
                ty: a().ty.clone(),
                cells: a().cells.iter().map(|&x| scalar::unary(*op, dtype, x, watch)).collect(),
            })
        }
        Op::Binary(op) => {
            let dtype = a().ty.dtype;
            let pairs = a().cells.iter().zip(&args[1].cells);
            one(Plain {
                ty: a().ty.clone(),
                cells: pairs.map(|(&x, &y)| scalar::binary(*op, dtype, x, y, watch)).collect(),
            })
        }
        Op::Compare(op) => {
            let pairs = a().cells.iter().zip(&args[1].cells);
            one(Plain {
                ty: Type::new(DType::Bool, &a().ty.shape),
                cells: pairs.map(|(&x, &y)| scalar::compare(*op, x, y, watch)).collect(),
            })
        }
        Op::Select => {
            let sides = args[1].cells.iter().zip(&args[2].cells);
            let cells = a().cells.iter().zip(sides).map(|(c, (&yes, &no))| if c.truth() { yes } else { no });
            one(Plain { ty: args[1].ty.clone(), cells: cells.collect() })
        }
        Op::Cast(dtype) => one(Plain {
            ty: Type::new(*dtype, &a().ty.shape),
            cells: a().cells.iter().map(|&x| scalar::cast(x, *dtype, watch)).collect(),
        }),
        Op::View(map) => {
            let cells = positions(map.result()).iter().map(|j| a().read(&source_position(map, j))).collect();
            one(Plain { ty: Type::new(a().ty.dtype, map.result()), cells })
        }
        Op::Accumulate(map) => {
            let mut sum = Plain::zeros(&Type::new(a().ty.dtype, map.source()));
            for (at, j) in positions(map.result()).iter().enumerate() {
                add_at(&mut sum, &source_position(map, j), a().cells[at], watch);
            }
            one(sum)
        }
        Op::Reshape(shape) => one(Plain { ty: Type::new(a().ty.dtype, shape), cells: a().cells.clone() }),
        Op::Concatenate(axis) => one(concatenate(*axis, args)),
        Op::Gather => one(gather(a(), &args[1..])),
        Op::Scatter(extents) => one(scatter(a(), &args[1..], extents, watch)),
        Op::ScatterSet => one(scatter_set(a(), &args[1], &args[2..])),
        Op::Reduce(op, axes) => one(reduce(*op, a(), axes, watch)),
        Op::ArgReduce(op, axis) => one(arg_reduce(*op, a(), *axis, watch)),
        Op::ArgSort(order, axis) => one(arg_sort(*order, a(), *axis, watch)),
        Op::Contract(spec) => one(contract(spec, a(), &args[1], watch)),
        Op::Matrix(op) => one(matrix::apply(*op, args, watch)),
        Op::Sparse(op) => one(sparse::apply(op, args, watch)),
        Op::Scan(scan) => {
            let mut carries: Vec<Rc<Plain>> = args[..scan.carries].to_vec();
            let inputs = &args[scan.carries..scan.carries + scan.inputs];
            let captures = &args[scan.carries + scan.inputs..];
            let mut outputs: Vec<Plain> = scan
                .body
                .result_types()
                .skip(scan.carries)
                .map(|ty| {
                    let mut stacked = ty.clone();
                    stacked.shape.insert(0, scan.length);
                    Plain::zeros(&stacked)
                })
                .collect();
            for step in 0..scan.length {
                let at = if scan.reverse { scan.length - 1 - step } else { step };
                let mut arguments = carries.clone();
                arguments.extend(inputs.iter().map(|input| Rc::new(slice(input, at))));
                arguments.extend(captures.iter().cloned());
                let mut results = run(&scan.body, arguments, watch);
                for (output, result) in outputs.iter_mut().zip(results.drain(scan.carries..)) {
                    let size = result.cells.len();
                    output.cells[at * size..(at + 1) * size].copy_from_slice(&result.cells);
                }
                carries = results;
            }
            carries.into_iter().chain(outputs.into_iter().map(Rc::new)).collect()
        }
        Op::Sweeps(sweeps) => go_over(sweeps, args, watch),
        Op::Branch(branch) => {
            // Both sides run: other pipelines may compute both, and the watch must see them.
            let then = run(&branch.then, args[1..].to_vec(), watch);
            let otherwise = run(&branch.otherwise, args[1..].to_vec(), watch);
            if a().cells[0].truth() { then } else { otherwise }
        }
        Op::Custom(custom) => run(&custom.value, args.to_vec(), watch),
        Op::Alias | Op::Mark => vec![args[0].clone()],
        Op::Extra(extra) => {
            let build = extra.as_build();
            one(build_elements(&build.extents, &build.body, args, watch))
        }
        other => panic!("the reference lacks {other:?}"),
    }
}

/// A loop of several sweeps, with everything kept.
fn go_over<X: Extension>(sweeps: &Sweeps<X>, args: &[Rc<Plain>], watch: &mut Watch) -> Vec<Rc<Plain>> {
    let captures = &args[sweeps.captures()..];
    let mut count = match &sweeps.steps {
        Steps::Count(count) => Some(*count),
        Steps::While(_) => None,
    };
    let mut kept: Vec<Vec<Vec<Rc<Plain>>>> = Vec::new();
    let mut results = Vec::new();
    for (number, sweep) in sweeps.sweeps.iter().enumerate() {
        let (carries, inputs) = sweeps.operands(number);
        let mut carries = args[carries].to_vec();
        // By step, the kept values and the outputs.
        let mut rows: Vec<(usize, Vec<Rc<Plain>>, Vec<Rc<Plain>>)> = Vec::new();
        loop {
            match (count, &sweeps.steps) {
                (Some(count), _) if rows.len() == count => break,
                (None, Steps::While(condition)) => {
                    let arguments = carries.iter().chain(captures).cloned().collect();
                    if !run(condition, arguments, watch)[0].cells[0].truth() {
                        break;
                    }
                }
                _ => {}
            }
            let step = if number.is_multiple_of(2) { rows.len() } else { count.expect("counted") - 1 - rows.len() };
            let at = if sweeps.reverse { count.expect("no condition") - 1 - step } else { step };
            let mut arguments = carries;
            arguments.extend(args[inputs.clone()].iter().map(|input| Rc::new(slice(input, at))));
            arguments.extend(sweep.reads.iter().map(|&(from, position)| kept[from][step][position].clone()));
            arguments.extend(captures.iter().cloned());
            carries = run(&sweep.body, arguments, watch);
            let mut row = carries.split_off(sweep.carries);
            let written = row.split_off(sweep.keeps);
            rows.push((at, row, written));
        }
        count = Some(rows.len());
        results.extend(carries);
        for (output, ty) in sweep.body.result_types().skip(sweep.carries + sweep.keeps).enumerate() {
            let mut stacked = ty.clone();
            stacked.shape.insert(0, rows.len());
            let mut stack = Plain::zeros(&stacked);
            for (at, _, written) in &rows {
                let cells = &written[output].cells;
                stack.cells[at * cells.len()..(at + 1) * cells.len()].copy_from_slice(cells);
            }
            results.push(Rc::new(stack));
        }
        if !number.is_multiple_of(2) {
            rows.reverse();
        }
        kept.push(rows.into_iter().map(|(_, row, _)| row).collect());
    }
    results
}

fn build_elements<X: Extension>(extents: &Shape, body: &Body<X>, captures: &[Rc<Plain>], watch: &mut Watch) -> Plain {
    let element = body.result_types().next().expect("a build's body has one result");
    let mut shape = extents.clone();
    shape.extend_from_slice(&element.shape);
    let mut cells = Vec::new();
    for position in positions(extents) {
        let index = |&at: &usize| Rc::new(Plain { ty: Type::scalar(DType::I64), cells: vec![Cell::Whole(at as i64)] });
        let arguments = position.iter().map(index).chain(captures.iter().cloned()).collect();
        cells.extend_from_slice(&run(body, arguments, watch)[0].cells);
    }
    Plain { ty: Type { dtype: element.dtype, shape }, cells }
}

/// Where a map reads for a position of its result.
fn source_position(map: &AffineMap, at: &[usize]) -> Vec<i64> {
    (0..map.source().len())
        .map(|row| {
            let moved: i64 = at.iter().enumerate().map(|(column, &j)| map.coefficient(row, column) * j as i64).sum();
            map.offset(row) + moved
        })
        .collect()
}

fn add_at(sum: &mut Plain, position: &[i64], x: Cell, watch: &mut Watch) {
    if let Some(place) = sum.place(position) {
        sum.cells[place] = add(sum.ty.dtype, sum.cells[place], x, watch);
    }
}

fn slice(array: &Plain, at: usize) -> Plain {
    let mut ty = array.ty.clone();
    ty.shape.remove(0);
    let size = ty.size();
    Plain { cells: array.cells[at * size..(at + 1) * size].to_vec(), ty }
}

fn concatenate(axis: usize, parts: &[Rc<Plain>]) -> Plain {
    let mut ty = parts[0].ty.clone();
    ty.shape[axis] = parts.iter().map(|part| part.ty.shape[axis]).sum();
    let cells = positions(&ty.shape)
        .iter()
        .map(|position| {
            let mut position = signed(position);
            let mut part = 0;
            while position[axis] >= parts[part].ty.shape[axis] as i64 {
                position[axis] -= parts[part].ty.shape[axis] as i64;
                part += 1;
            }
            parts[part].read(&position)
        })
        .collect();
    Plain { ty, cells }
}

/// The position that index arrays state at one of their own places.
fn indexed(indices: &[Rc<Plain>], at: usize) -> Vec<i64> {
    indices.iter().map(|index| index.cells[at].whole()).collect()
}

fn gather(a: &Plain, indices: &[Rc<Plain>]) -> Plain {
    let places = indices.first().map(|index| index.ty.shape.clone()).unwrap_or_default();
    let rest = Shape::from_slice(&a.ty.shape[indices.len()..]);
    let mut cells = Vec::new();
    for at in 0..positions(&places).len() {
        for inner in positions(&rest) {
            let mut position = indexed(indices, at);
            position.extend(signed(&inner));
            cells.push(a.read(&position));
        }
    }
    let mut shape = places;
    shape.extend(rest);
    Plain { ty: Type { dtype: a.ty.dtype, shape }, cells }
}

fn scatter(updates: &Plain, indices: &[Rc<Plain>], extents: &[usize], watch: &mut Watch) -> Plain {
    let places = indices.first().map(|index| index.ty.shape.clone()).unwrap_or_default();
    let rest = Shape::from_slice(&updates.ty.shape[places.len()..]);
    let mut shape = Shape::from_slice(extents);
    shape.extend(rest.clone());
    let mut sum = Plain::zeros(&Type { dtype: updates.ty.dtype, shape });
    let mut next = updates.cells.iter();
    for at in 0..positions(&places).len() {
        for inner in positions(&rest) {
            let mut position = indexed(indices, at);
            position.extend(signed(&inner));
            add_at(&mut sum, &position, *next.next().expect("an update for each place"), watch);
        }
    }
    sum
}

fn scatter_set(target: &Plain, updates: &Plain, indices: &[Rc<Plain>]) -> Plain {
    let places = indices.first().map(|index| index.ty.shape.clone()).unwrap_or_default();
    let rest = Shape::from_slice(&updates.ty.shape[places.len()..]);
    let mut result = Plain { ty: target.ty.clone(), cells: target.cells.clone() };
    let mut next = updates.cells.iter();
    for at in 0..positions(&places).len() {
        for inner in positions(&rest) {
            let mut position = indexed(indices, at);
            position.extend(signed(&inner));
            let update = *next.next().expect("an update for each place");
            if let Some(place) = result.place(&position) {
                result.cells[place] = update;
            }
        }
    }
    result
}

fn reduce(op: Reduction, a: &Plain, axes: &[usize], watch: &mut Watch) -> Plain {
    let dtype = a.ty.dtype;
    let kept: Vec<usize> = (0..a.ty.rank()).filter(|axis| !axes.contains(axis)).collect();
    let ty = Type { dtype, shape: kept.iter().map(|&axis| a.ty.shape[axis]).collect() };
    let mut result: Vec<Option<Cell>> = vec![None; ty.size()];
    let frame = Plain::zeros(&ty);
    for (at, position) in positions(&a.ty.shape).iter().enumerate() {
        let target: Vec<i64> = kept.iter().map(|&axis| position[axis] as i64).collect();
        let place = frame.place(&target).expect("inside");
        let x = a.cells[at];
        result[place] = Some(match (result[place], op) {
            (None, _) => x,
            (Some(y), Reduction::Sum) => add(dtype, y, x, watch),
            (Some(y), Reduction::Max) => {
                if replaces(true, y, x, watch) {
                    x
                } else {
                    y
                }
            }
            (Some(y), Reduction::Min) => {
                if replaces(false, y, x, watch) {
                    x
                } else {
                    y
                }
            }
        });
    }
    let empty = match (op, dtype) {
        (Reduction::Sum, _) => Cell::zero(dtype),
        (Reduction::Max, DType::F32 | DType::F64) => Cell::Float(f64::NEG_INFINITY, true),
        (Reduction::Min, DType::F32 | DType::F64) => Cell::Float(f64::INFINITY, true),
        (Reduction::Max, DType::I32) => Cell::Whole(i32::MIN as i64),
        (Reduction::Min, DType::I32) => Cell::Whole(i32::MAX as i64),
        (Reduction::Max, DType::I64) => Cell::Whole(i64::MIN),
        (Reduction::Min, DType::I64) => Cell::Whole(i64::MAX),
        (Reduction::Max, DType::Bool) => Cell::Whole(0),
        (Reduction::Min, DType::Bool) => Cell::Whole(1),
    };
    Plain { ty, cells: result.into_iter().map(|cell| cell.unwrap_or(empty)).collect() }
}

fn arg_reduce(op: Extreme, a: &Plain, axis: usize, watch: &mut Watch) -> Plain {
    let mut shape = a.ty.shape.clone();
    let extent = shape.remove(axis);
    let mut cells = Vec::new();
    for position in positions(&shape) {
        let mut best = 0;
        let at = |along: usize| {
            let mut position = signed(&position);
            position.insert(axis, along as i64);
            a.read(&position)
        };
        for along in 1..extent {
            if replaces_position(op == Extreme::Max, at(best), at(along), watch) {
                best = along;
            }
        }
        cells.push(Cell::Whole(best as i64));
    }
    Plain { ty: Type { dtype: DType::I64, shape }, cells }
}

/// By insertion: each position goes in front of those that it comes before.
fn arg_sort(order: Order, a: &Plain, axis: usize, watch: &mut Watch) -> Plain {
    let extent = a.ty.shape[axis];
    let mut lines = a.ty.shape.clone();
    lines[axis] = extent.min(1);
    let ty = Type { dtype: DType::I64, shape: a.ty.shape.clone() };
    let mut cells = vec![Cell::Whole(0); deltaray::shape::size(&ty.shape)];
    for position in positions(&lines) {
        let at = |along: usize| {
            let mut position = signed(&position);
            position[axis] = along as i64;
            a.read(&position)
        };
        let mut sorted: Vec<usize> = Vec::new();
        for along in 0..extent {
            let mut before =
                |&&other: &&usize| !replaces_position(order == Order::Descending, at(other), at(along), watch);
            let place = sorted.iter().rev().take_while(|other| !before(other)).count();
            sorted.insert(sorted.len() - place, along);
        }
        for (place, along) in sorted.into_iter().enumerate() {
            let mut position: Vec<usize> = position.to_vec();
            position[axis] = place;
            let flat = position.iter().zip(&ty.shape).fold(0, |flat, (&at, &extent)| flat * extent + at);
            cells[flat] = Cell::Whole(along as i64);
        }
    }
    Plain { ty, cells }
}

fn contract(spec: &Contraction, a: &Plain, b: &Plain, watch: &mut Watch) -> Plain {
    let dtype = a.ty.dtype;
    let shape = spec.shape(&a.ty.shape, &b.ty.shape);
    let mut summed: Vec<u8> = spec.left.iter().copied().filter(|label| !spec.result.contains(label)).collect();
    summed.dedup();
    let extents: Vec<usize> = summed.iter().map(|&label| spec.extent(label, &a.ty.shape, &b.ty.shape)).collect();
    let outer = positions(&shape);
    // Where there is nothing to compute, the summed axes may have any extent.
    let inner = if outer.is_empty() { Vec::new() } else { positions(&extents) };
    let cells = outer
        .iter()
        .map(|outer| {
            let mut sum = Cell::zero(dtype);
            for position in &inner {
                let value = |label: &u8| match spec.result.iter().position(|l| l == label) {
                    Some(axis) => outer[axis] as i64,
                    None => position[summed.iter().position(|l| l == label).expect("a summed label")] as i64,
                };
                let left: Vec<i64> = spec.left.iter().map(value).collect();
                let right: Vec<i64> = spec.right.iter().map(value).collect();
                let product = scalar::binary(Binary::Mul, dtype, a.read(&left), b.read(&right), watch);
                sum = add(dtype, sum, product, watch);
            }
            sum
        })
        .collect();
    Plain { ty: Type { dtype, shape }, cells }
}
