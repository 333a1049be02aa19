//! Properties of programs that are no comparison with a known result.

use super::check::{Finding, Scale, Subject, compare, magnitude, stage, with_ones};
use crate::random::arrays::{floats, full, numbers};
use crate::random::derivatives::{
    Form, direction, forward_over_reverse, inner, only_floats, or_zeros, pushed, reverse_over_reverse, symbolic_second,
    symbolic_tangents,
};
use deltaray::algebra::{Algebra, Reduction};
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program;
use deltaray::dual::{self, DualArray, Tangent, TangentArray};
use deltaray::operation::Binary;
use deltaray::shape::{DType, Type};
use deltaray::staged::{self, Staged, StagedArray};
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Branch, NodeId, Op, Scan};
use std::sync::Arc;

/// A property.
pub struct Law {
    /// Its name in failures.
    pub name: &'static str,
    /// Whether it is about derivatives.
    pub of_derivatives: bool,
    /// Whether it holds around points where the program is smooth.
    pub of_smooth: bool,
    /// Whether it is about second derivatives.
    pub of_second: bool,
    /// Whether it runs the program element by element.
    pub element_by_element: bool,
    /// Whether it runs no program, so that it is judged of those that take long too.
    pub of_texts: bool,
    /// Judges.
    pub judge: fn(&Subject<'_>) -> Finding,
}

const TEXT: Law = Law {
    name: "staging again",
    of_derivatives: false,
    of_smooth: false,
    of_second: false,
    element_by_element: false,
    of_texts: false,
    judge: same_text,
};

/// All laws.
pub const ALL: [Law; 11] = [
    TEXT,
    Law { name: "simplifying twice", judge: idempotent, ..TEXT },
    Law { name: "operations", judge: no_more_operations, ..TEXT },
    Law { name: "tangents", of_derivatives: true, judge: tangents, ..TEXT },
    Law { name: "size of the gradient", of_texts: true, judge: small_gradient, ..TEXT },
    Law { name: "linearised", of_derivatives: true, judge: linearised, ..TEXT },
    Law { name: "eager tangents", of_derivatives: true, element_by_element: true, judge: eager_tangents, ..TEXT },
    Law { name: "adjoint", of_derivatives: true, judge: adjoint, ..TEXT },
    Law { name: "eager adjoint", of_derivatives: true, element_by_element: true, judge: eager_adjoint, ..TEXT },
    Law { name: "differences", of_derivatives: true, of_smooth: true, judge: differences, ..TEXT },
    Law { name: "second derivatives", of_derivatives: true, of_second: true, judge: second_derivatives, ..TEXT },
];

/// Staging again, and printing again, gives the same text.
fn same_text(subject: &Subject<'_>) -> Finding {
    let (text, again) = (subject.source.to_string(), stage(subject.row).to_string());
    if text != again || text != subject.source.to_string() {
        return Err(format!("two texts:\n{text}{again}"));
    }
    let again = program::bulk(&stage(subject.row));
    if subject.bulk.to_string() != again.to_string() {
        return Err(format!("two bulk texts:\n{}{again}", subject.bulk));
    }
    let gradient = subject.tidied.to_string();
    let again =
        program::tidy(&program::vjp(&again, again.arity()).expect("well-formed programs can be differentiated"));
    if gradient == again.to_string() { Ok(()) } else { Err(format!("two gradients:\n{gradient}{again}")) }
}

/// A simplified program is a fixed point, by its text, the order of nodes left out.
fn idempotent(subject: &Subject<'_>) -> Finding {
    for once in [&subject.bulk, &subject.tidied] {
        let twice = program::tidy(once);
        let (once, twice) = (in_order_of_use(once), in_order_of_use(&twice));
        if once != twice && once.to_string() != twice.to_string() {
            return Err(format!("once:\n{once}twice:\n{twice}"));
        }
    }
    Ok(())
}

/// A program with its nodes in the order in which its results need them, in loops and branches too.
fn in_order_of_use(body: &Body) -> Body {
    let arity = body.arity();
    let mut place: Vec<Option<NodeId>> = vec![None; body.nodes().len()];
    let mut nodes = body.nodes()[..arity].to_vec();
    (0..arity).for_each(|at| place[at] = Some(at as NodeId));
    let mut open: Vec<NodeId> = body.results().iter().rev().copied().collect();
    while let Some(&next) = open.last() {
        let node = body.node(next);
        let before = open.len();
        if place[next as usize].is_none() {
            open.extend(node.args.iter().rev().filter(|&&arg| place[arg as usize].is_none()));
        }
        if open.len() > before {
            continue;
        }
        open.pop();
        if place[next as usize].is_none() {
            let mut node = node.clone();
            for arg in &mut node.args {
                *arg = place[*arg as usize].expect("operands come first");
            }
            match &mut node.op {
                Op::Scan(scan) => {
                    let body = Arc::new(in_order_of_use(&scan.body));
                    *scan = Arc::new(Scan { body, ..(**scan).clone() });
                }
                Op::Sweeps(sweeps) => {
                    *sweeps = Arc::new(sweeps.map_bodies(|body| Arc::new(in_order_of_use(body))));
                }
                Op::Branch(branch) => {
                    let [then, otherwise] =
                        [&branch.then, &branch.otherwise].map(|side| Arc::new(in_order_of_use(side)));
                    *branch = Arc::new(Branch { then, otherwise });
                }
                Op::Custom(custom) => *custom = Arc::new(custom.map(|body| Arc::new(in_order_of_use(body)))),
                _ => {}
            }
            place[next as usize] = Some(nodes.len() as NodeId);
            nodes.push(node);
        }
    }
    let results = body.results().iter().map(|&id| place[id as usize].expect("results are needed")).collect();
    Body::new(body.parameters(), body.captures(), nodes, results).expect("an order in which operands come first")
}

/// The bulk program computes no more than the source, apart from guards.
fn no_more_operations(subject: &Subject<'_>) -> Finding {
    let (source, bulk) = (subject.source.cost().float_operations, subject.bulk.cost().float_operations);
    let (factor, more) = subject.row.overhead;
    if bulk <= source.saturating_mul(factor).saturating_add(more) {
        return Ok(());
    }
    Err(format!("{bulk} float operations instead of {source}:\n{}", subject.bulk))
}

fn close(what: &str, (a, around): (f64, f64), (b, other): (f64, f64), scale: &Scale) -> Finding {
    if scale.close(a, b, around.max(other)) { Ok(()) } else { Err(format!("{what}: {a} and {b}")) }
}

/// Values and then tangents of a function on arrays with tangents.
fn with_tangents(
    run: &dyn Fn(Vec<TangentArray<Concrete>>) -> Vec<TangentArray<Concrete>>,
    subject: &Subject<'_>,
    along: &[Option<Array>],
) -> Vec<Array> {
    let (mut values, tangents) = pushed(run, &subject.row.inputs, along);
    values.extend(tangents);
    values
}

fn bulk_tangents(subject: &Subject<'_>, along: &[Option<Array>]) -> Vec<Array> {
    with_tangents(&|inputs| interpret::<Tangent<Concrete>>(&subject.bulk, inputs), subject, along)
}

/// Values and tangents by the symbolic forward derivative, as staged and simplified, are those by tangent arrays.
fn tangents(subject: &Subject<'_>) -> Finding {
    let along = direction(&subject.row.inputs, 1);
    let expected = bulk_tangents(subject, &along);
    for (name, found) in symbolic_tangents(&subject.bulk, &subject.row.inputs, &along) {
        compare(&expected, &found, &subject.scale).map_err(|problem| format!("{name}: {problem}"))?;
    }
    Ok(())
}

/// The program of the sum of all float results and its gradient has at most 5 times as many nodes as the program of the sum,
/// and 20 more; nodes of bodies count.
fn small_gradient(subject: &Subject<'_>) -> Finding {
    let types: Vec<Type> = subject.row.inputs.iter().map(Array::ty).collect();
    let source = staged::stage(&types, |variables| vec![sum_of_floats(subject.row.program.staged(variables))])
        .unwrap_or_else(|error| panic!("{error}"));
    let sum = program::bulk(&source);
    let gradient = program::value_and_gradient(&sum, types.len()).expect("well-formed programs can be differentiated");
    let gradient = program::tidy(&gradient);
    let (nodes, more) = (sum.node_count(), gradient.node_count());
    if more <= 5 * nodes + 20 { Ok(()) } else { Err(format!("{nodes} nodes, gradient {more}:\n{sum}\n{gradient}")) }
}

fn sum_of_floats(arrays: Vec<StagedArray>) -> StagedArray {
    let zero = Staged::constant(full(&Type::scalar(DType::F64), 0.0));
    let floats = arrays.into_iter().filter(|array| array.ty().dtype.is_float());
    floats.fold(zero, |sum, array| {
        let axes: Vec<usize> = (0..array.ty().rank()).collect();
        let part = Staged::cast(Staged::reduce(Reduction::Sum, array, &axes), DType::F64);
        Staged::binary(Binary::Add, sum, part)
    })
}

/// The program of values and residuals, and the linear program of tangents, give values and tangents.
fn linearised(subject: &Subject<'_>) -> Finding {
    let inputs = &subject.row.inputs;
    let along = direction(inputs, 9);
    let expected = bulk_tangents(subject, &along);
    let (computing, tangents) =
        program::linearize(&subject.bulk, inputs.len()).expect("well-formed programs can be differentiated");
    assert!(computing.is_well_formed() && tangents.is_well_formed(), "the programs are not well-formed");
    let mut found = interpret::<Concrete>(&computing, inputs.clone());
    let residuals = found.split_off(subject.bulk.results().len());
    let arguments = or_zeros(&along, inputs).into_iter().chain(residuals).collect();
    found.extend(interpret::<Concrete>(&tangents, arguments));
    compare(&expected, &found, &subject.scale)
}

/// Tangents of the function as written equal those of the bulk program.
fn eager_tangents(subject: &Subject<'_>) -> Finding {
    let along = direction(&subject.row.inputs, 1);
    let eager = with_tangents(&|inputs| subject.row.program.tangent(inputs), subject, &along);
    compare(&eager, &bulk_tangents(subject, &along), &subject.scale)
}

/// ⟨c, J d⟩ = ⟨Jᵀ c, d⟩, of programs.
fn adjoint(subject: &Subject<'_>) -> Finding {
    let inputs = &subject.row.inputs;
    let along = direction(inputs, 2);
    let (_, pushed) = pushed(&|at| interpret::<Tangent<Concrete>>(&subject.bulk, at), inputs, &along);
    let cotangents = or_zeros(&direction(&pushed, 3), &pushed);
    let arguments = [inputs.clone(), cotangents.clone()].concat();
    let pulled = interpret::<Concrete>(&subject.tidied, arguments).split_off(pushed.len());
    let along = or_zeros(&along, inputs);
    close("⟨c, J d⟩ and ⟨Jᵀ c, d⟩", inner(&cotangents, &pushed), inner(&pulled, &along), &subject.scale)
}

/// The same for the function as written.
fn eager_adjoint(subject: &Subject<'_>) -> Finding {
    let row = subject.row;
    let along = direction(&row.inputs, 4);
    let (_, forward) = pushed(&|inputs| row.program.tangent(inputs), &row.inputs, &along);
    let seeds = direction(&forward, 5);
    let run = |inputs: Vec<DualArray<Concrete>>| row.program.dual(inputs);
    let (_, pullback) = dual::vjp::<Concrete>(&run, row.inputs.clone());
    let pulled = pullback(seeds.clone());
    let (seeds, along) = (or_zeros(&seeds, &forward), or_zeros(&along, &row.inputs));
    close("⟨c, J d⟩ and ⟨Jᵀ c, d⟩", inner(&seeds, &forward), inner(&pulled, &along), &subject.scale)
}

/// Five-point differences along two directions.
fn differences(subject: &Subject<'_>) -> Finding {
    let inputs = &subject.row.inputs;
    let count = subject.bulk.results().len();
    let gradient = interpret::<Concrete>(&subject.tidied, with_ones(subject.row, &subject.bulk));
    let gradient = &gradient[count..];
    for seed in [6, 7] {
        let along = or_zeros(&direction(inputs, seed), inputs);
        let value = |step: f64| -> f64 {
            let moved = inputs.iter().zip(&along).map(|(input, along)| {
                if !input.dtype().is_float() {
                    return input.clone();
                }
                let elements: Vec<f64> = numbers(input).iter().zip(numbers(along)).map(|(x, d)| x + step * d).collect();
                floats(&input.ty(), &elements)
            });
            let results = match subject.row.large {
                true => interpret::<Concrete>(&subject.bulk, moved.collect()),
                false => subject.row.program.plain(moved.collect()),
            };
            only_floats(results).iter().flat_map(numbers).sum()
        };
        let slope = |h: f64| (value(-2.0 * h) - 8.0 * value(-h) + 8.0 * value(h) - value(2.0 * h)) / (12.0 * h);
        let (coarse, fine) = (slope(2e-3), slope(1e-3));
        let (expected, around) = inner(gradient, &along);
        // The difference between the two steps estimates the error of the coarse one, which is 16 times that of the fine one.
        let tolerance = 1e-7 * (1.0 + around) + 1e-10 * subject.scale.largest + (coarse - fine).abs();
        if (coarse - fine).abs() > 1e-3 * (1.0 + around) {
            return Err(format!("the differences {coarse} and {fine} do not settle; the derivative is {expected}"));
        }
        if (fine - expected).abs() > tolerance {
            return Err(format!("the derivative along a direction is {expected}, but differences give {fine}"));
        }
    }
    Ok(())
}

/// The Hessian of the sum of all float results, times a direction, by dual arrays of arrays with tangents, by dual arrays
/// of dual arrays, by the symbolic forward and the symbolic reverse derivative of the symbolic gradient.
fn second_derivatives(subject: &Subject<'_>) -> Finding {
    let inputs = &subject.row.inputs;
    let along = direction(inputs, 8);
    let expected = forward_over_reverse(Form::Bulk(&subject.bulk), inputs, &along);
    let scale = Scale { largest: subject.scale.largest.max(magnitude(&expected)), ..subject.scale };
    let same = |name: &str, found: Vec<Array>| {
        compare(&expected, &only_floats(found), &scale).map_err(|problem| format!("{name}: {problem}"))
    };
    same("dual arrays of dual arrays", reverse_over_reverse(Form::Bulk(&subject.bulk), inputs, &along))?;
    let first = &subject.tidied;
    let results = first.results().len();
    same("jvp(tidy(vjp(bulk)))", symbolic_second(first, inputs, &along))?;
    let reverse = program::vjp(first, inputs.len()).expect("well-formed programs can be differentiated");
    let mut arguments = with_ones(subject.row, &subject.bulk);
    // No cotangents for the values, and the direction for the gradient.
    let values = &first.results()[..subject.bulk.results().len()];
    arguments.extend(values.iter().map(|&id| full(first.node(id).ty(), 0.0)));
    arguments.extend(or_zeros(&along, inputs));
    let found = interpret::<Concrete>(&program::tidy(&reverse), arguments);
    same("vjp(tidy(vjp(bulk)))", found[results..].to_vec())
}
