//! The passes, each with wrong rules.

use super::algebra::{Mutated, Wrong, seeded};
use super::random::arrays::full;
use super::random::derivatives::{direction, gradient, only_floats};
use super::random::stages::Stages;
use super::rewrite::{self, Place, Rewrite, needless_for, operations, rewritten};
use super::rules::{In, WRONG_RULES, redundant};
use deltaray::affine::AffineMap;
use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program;
use deltaray::dual::{Dual, DualArray, jvp, vjp};
use deltaray::dual::{Tangent, TangentArray};
use deltaray::operation::{Binary, Unary};
use deltaray::simplify::{simplify, simplify_replacing};
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Build, Op, interpret_source};
use deltaray::vectorise::{push_reads, vectorise};
use std::collections::HashSet;

/// The quantity that a pipeline computes of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Its results.
    Values,
    /// The gradient of the sum of all float results.
    Gradient,
    /// The tangents of the results along [`direction`].
    Tangents,
}

/// Runs a program, with the rule as it should be or with the wrong one.
type Run = Box<dyn Fn(&Stages<'_>, &[Array], bool) -> Vec<Array> + Send + Sync>;

/// A pipeline with a wrong rule in one of its passes.
pub struct Mutant {
    /// The pass.
    pub pass: &'static str,
    /// The mistake.
    pub rule: String,
    /// The quantity that the pipeline computes.
    pub kind: Kind,
    /// Computes it, wrongly if told to.
    pub run: Run,
}

/// All wrong rules.
pub fn mutants() -> Vec<Mutant> {
    let mut list = List(Vec::new());
    vectorised(&mut list);
    pushed(&mut list);
    simplified(&mut list);
    transposed(&mut list);
    derived(&mut list);
    symbolic(&mut list);
    interpreted(&mut list);
    list.0
}

struct List(Vec<Mutant>);

impl List {
    fn push(
        &mut self,
        pass: &'static str,
        rule: &str,
        kind: Kind,
        run: impl Fn(&Stages<'_>, &[Array], bool) -> Vec<Array> + Send + Sync + 'static,
    ) {
        self.0.push(Mutant { pass, rule: rule.into(), kind, run: Box::new(run) });
    }
}

/// A function that rewrites a node.
type Node = fn(&Body<Build>, u32) -> Option<(Op<Build>, Vec<u32>)>;

/// Runs the program with nodes rewritten, as a bulk program.
fn run_rewritten(body: &Body, inputs: &[Array], place: &Place, rewrite: Rewrite<'_>) -> Vec<Array> {
    interpret::<Concrete>(&vectorise(&rewritten(&body.widen(), place, rewrite)), inputs.to_vec())
}

/// Vectorising a build in which one operation is replaced by another has the effect of a wrong rule for that operation.
fn vectorised(list: &mut List) {
    const RULES: &[(&str, Node)] = &[
        ("a gather's index arrays in reverse order", rewrite::turn_gather),
        ("a selection's sides exchanged", rewrite::turn_select),
        ("a conditional's sides exchanged", rewrite::turn_branch),
        ("the variables of a build exchanged", rewrite::exchange_variables),
        ("operands exchanged", rewrite::exchange),
    ];
    for &(name, rule) in RULES {
        list.push("vectorise", name, Kind::Values, move |stages, inputs, wrong| {
            if !wrong {
                return interpret::<Concrete>(stages.vectorised(), inputs.to_vec());
            }
            let source = rewritten(stages.source, &Place::InBuilds, &rule);
            interpret::<Concrete>(&vectorise(&source), inputs.to_vec())
        });
    }
}

fn maps(body: &Body) -> HashSet<&AffineMap> {
    let maps = operations(body).into_iter().filter_map(|(op, _)| match op {
        Op::View(map) => Some(map),
        _ => None,
    });
    maps.collect()
}

/// How many operations are of a kind.
fn count(body: &Body, kind: fn(&Op) -> bool) -> usize {
    operations(body).into_iter().filter(|(op, _)| kind(op)).count()
}

/// Mistakes in the nodes that pushing reads added to a program.
fn pushed(list: &mut List) {
    type Added = fn(&Body) -> bool;
    const RULES: &[(&str, Added, Node)] = &[
        ("no guards", |before| count(before, |op| *op == Op::Select) == 0, rewrite::drop_mask),
        ("guards the wrong way round", |before| count(before, |op| *op == Op::Select) == 0, rewrite::turn_select),
    ];
    for &(name, added, rule) in RULES {
        list.push("push_reads", name, Kind::Values, move |stages, inputs, wrong| {
            let before = stages.vectorised();
            let place = if wrong && added(before) { Place::Everywhere } else { Place::Nowhere };
            run_rewritten(&push_reads(before), inputs, &place, &rule)
        });
    }
    list.push("push_reads", "moved reads shifted by one", Kind::Values, |stages, inputs, wrong| {
        let before = stages.vectorised();
        let known = maps(before);
        let rule = |body: &Body<Build>, at| match &body.node(at).op {
            Op::View(map) if wrong && !known.contains(map) => rewrite::shift_view(body, at),
            _ => None,
        };
        run_rewritten(&push_reads(before), inputs, &Place::Everywhere, &rule)
    });
    list.push("push_reads", "reads of operands exchanged", Kind::Values, |stages, inputs, wrong| {
        let before = stages.vectorised();
        let known = maps(before);
        let rule = |body: &Body<Build>, at| {
            let read = |&arg: &u32| matches!(&body.node(arg).op, Op::View(map) if !known.contains(map));
            if wrong && body.node(at).args.iter().any(read) { rewrite::exchange(body, at) } else { None }
        };
        run_rewritten(&push_reads(before), inputs, &Place::Everywhere, &rule)
    });
}

/// Rules replaced by wrong ones, and mistakes in the results of the passes `sums` and `prune`.
fn simplified(list: &mut List) {
    for &(name, what, rule, place) in WRONG_RULES {
        let replaced = move |wrong: bool| wrong.then_some((name, rule));
        if place != In::Gradients {
            list.push("simplify", &format!("{name}: {what}"), Kind::Values, move |stages, inputs, wrong| {
                let simple = match place {
                    In::Redundant => simplify_replacing(&redundant(stages.vectorised()), replaced(wrong)),
                    _ => simplify_replacing(stages.vectorised(), replaced(wrong)),
                };
                interpret::<Concrete>(&simple, inputs.to_vec())
            });
            continue;
        }
        list.push("simplify", &format!("{name}: {what}"), Kind::Gradient, move |stages, inputs, wrong| {
            run_gradient(stages, inputs, |reverse| simplify_replacing(reverse, replaced(wrong)))
        });
    }
    const SUMS: &[(&str, Node)] =
        &[("sums: parts in reverse order", rewrite::turn_parts), ("sums: a part forgotten", forget_part)];
    for &(name, rule) in SUMS {
        list.push("simplify", name, Kind::Gradient, move |stages, inputs, wrong| {
            run_gradient(stages, inputs, |reverse| {
                let joined = |op: &Op| matches!(op, Op::Concatenate(_));
                let place = if wrong && count(reverse, joined) == 0 { Place::Everywhere } else { Place::Nowhere };
                vectorise(&rewritten(&simplify(reverse).widen(), &place, &rule))
            })
        });
    }
    const PRUNE: &[(&str, Node)] = &[
        ("prune: outputs renumbered wrongly", rewrite::next_output),
        ("prune: carries renumbered wrongly", rewrite::exchange_carries),
    ];
    for &(name, rule) in PRUNE {
        list.push("simplify", name, Kind::Gradient, move |stages, inputs, wrong| {
            run_gradient(stages, inputs, |reverse| {
                let operands = |body: &Body| -> usize {
                    operations(body).into_iter().filter(|(op, _)| op.is_multiple()).map(|(_, operands)| operands).sum()
                };
                let simple = simplify(reverse);
                let pruned = wrong && operands(&simple) < operands(reverse);
                let place = if pruned { Place::Everywhere } else { Place::Nowhere };
                vectorise(&rewritten(&simple.widen(), &place, &rule))
            })
        });
    }
}

/// The first part of a concatenation in place of the last.
fn forget_part(body: &Body<Build>, at: u32) -> Option<(Op<Build>, Vec<u32>)> {
    let node = body.node(at);
    if !matches!(node.op, Op::Concatenate(_)) {
        return None;
    }
    let mut args = node.args.to_vec();
    *args.last_mut()? = args[0];
    Some((node.op.clone(), args))
}

/// Runs a pass's result for the program of values and gradient.
fn run_gradient(stages: &Stages<'_>, inputs: &[Array], pass: impl Fn(&Body) -> Body) -> Vec<Array> {
    let mut arguments = inputs.to_vec();
    arguments.extend(stages.source.result_types().map(|ty| full(ty, 1.0)));
    let results = interpret::<Concrete>(&pass(stages.reverse()), arguments);
    only_floats(results[stages.source.results().len()..].to_vec())
}

/// Dual arrays of bulk programs, loops rolled, over arrays that do one thing wrong while Delta is transposed.
fn transposed(list: &mut List) {
    let mut push = |pass: &'static str, name: &str, wrong: Wrong| {
        list.push(pass, name, Kind::Gradient, move |stages, inputs, seed| {
            let run =
                |at: Vec<DualArray<Mutated<Concrete>>>| interpret::<Dual<Mutated<Concrete>>>(stages.vectorised(), at);
            let (values, pullback) = vjp::<Mutated<Concrete>>(&run, inputs.to_vec());
            let ones = values.iter().map(|value| value.dtype().is_float().then(|| full(&value.ty(), 1.0)));
            only_floats(seeded(if seed { wrong } else { Wrong::Nothing }, || pullback(ones.collect())))
        });
    };
    push("transpose", "a sum keeps the first cotangent", Wrong::DropsAddend);
    push("transpose", "adding at positions forgets the others", Wrong::ForgetsTarget);
    push("transpose", "view: adds one further", Wrong::ShiftsAccumulate);
    push("transpose", "accumulate, sum: read one further", Wrong::ShiftsView);
    push("transpose", "gather: index arrays in reverse order", Wrong::TurnsScatter);
    push("transpose", "gather: adds one further", Wrong::ShiftsScatter);
    push("transpose", "contract: axes in reverse order", Wrong::TurnsContraction);
    push("transpose", "select: the other side", Wrong::TurnsSelect);
    push("transpose", "masked product: factor forgotten", Wrong::ForgetsFactor);
    push("loops", "backward loop in the same direction", Wrong::TurnsScan);
    push("loops", "sweeps in the other direction", Wrong::TurnsSweeps);
    push("loops", "last residual in the other direction", Wrong::TurnsLastInput);
    push("loops", "first carried cotangent forgotten", Wrong::ForgetsCarry);
    push("loops", "elements put back one further", Wrong::PutsBackFurther);
    push("loops", "elements put back of the step after", Wrong::PutsBackLater);
    push("loops", "backward conditional on the other side", Wrong::TurnsBranch);
}

/// Dual arrays in which one operation has the derivative of another.
fn derived(list: &mut List) {
    let mut push = |name: &str, wrong: Wrong| {
        list.push("rules", name, Kind::Gradient, move |stages, inputs, seed| {
            let run = |at: Vec<DualArray<Concrete>>| interpret_source::<Mutated<Dual<Concrete>>>(stages.source, at);
            let work = || gradient::<Concrete>(&run, inputs.to_vec());
            only_floats(seeded(if seed { wrong } else { Wrong::Nothing }, work))
        });
    };
    push("tanh moves as sin", Wrong::DerivativeOfUnary(Unary::Tanh, Unary::Sin));
    push("sin moves as tanh", Wrong::DerivativeOfUnary(Unary::Sin, Unary::Tanh));
    push("a product moves as a sum", Wrong::DerivativeOfBinary(Binary::Mul, Binary::Add));
    push("a difference moves as a sum", Wrong::DerivativeOfBinary(Binary::Sub, Binary::Add));
    push("max moves as min", Wrong::DerivativeOfBinary(Binary::Max, Binary::Min));
    push("a selection moves as the other side", Wrong::DerivativeOfOtherSide);
    push("the largest moves as the smallest", Wrong::DerivativeOfOtherExtreme);
}

/// Mistakes in the nodes of derivative programs that the values do not need.
fn symbolic(list: &mut List) {
    const RULES: &[(&str, Node)] = &[
        ("an addend is dropped", rewrite::drop_addend),
        ("reads one further", rewrite::shift_view),
        ("a selection's sides exchanged", rewrite::turn_select),
        ("a loop in the other direction", rewrite::turn_scan),
        ("a loop's operands exchanged", rewrite::exchange_captures),
        ("another output of a loop", rewrite::next_output),
    ];
    for &(name, rule) in RULES {
        list.push("symbolic transpose", name, Kind::Gradient, move |stages, inputs, wrong| {
            run_gradient(stages, inputs, |reverse| derivative_rewritten(stages, reverse, wrong, &rule))
        });
    }
    for &(name, rule) in &RULES[..3] {
        list.push("symbolic tangents", name, Kind::Tangents, move |stages, inputs, wrong| {
            let bulk = stages.bulk();
            let forward = program::jvp(bulk, bulk.arity()).expect("well-formed programs can be differentiated");
            let mut arguments = inputs.to_vec();
            arguments.extend(directions(inputs));
            let program = derivative_rewritten(stages, &forward, wrong, &rule);
            only_floats(interpret::<Concrete>(&program, arguments)[bulk.results().len()..].to_vec())
        });
    }
}

fn derivative_rewritten(stages: &Stages<'_>, body: &Body, wrong: bool, rule: Rewrite<'_>) -> Body {
    let mut places = needless_for(body, stages.source.results().len());
    places.iter_mut().for_each(|place| *place &= wrong);
    vectorise(&rewritten(&body.widen(), &Place::At(places), rule))
}

/// An array for each input: a random direction, zeros for those that are no floats.
fn directions(inputs: &[Array]) -> Vec<Array> {
    let drawn = direction(inputs, 1);
    drawn.into_iter().zip(inputs).map(|(drawn, input)| drawn.unwrap_or_else(|| full(&input.ty(), 0.0))).collect()
}

/// The tangents by arrays with tangents.
pub fn tangents(stages: &Stages<'_>, inputs: &[Array]) -> Vec<Array> {
    let run = |at: Vec<TangentArray<Concrete>>| interpret_source::<Tangent<Concrete>>(stages.source, at);
    let (values, pushed) = jvp::<Concrete>(&run, inputs.to_vec(), direction(inputs, 1));
    let or_zeros = |(tangent, value): (Option<Array>, &Array)| tangent.unwrap_or_else(|| full(&value.ty(), 0.0));
    only_floats(pushed.into_iter().zip(&values).map(or_zeros).collect())
}

/// The interpretation of bulk programs, with buffers reused wrongly.
fn interpreted(list: &mut List) {
    list.push("interpret", "a buffer overwritten before its last use", Kind::Values, |stages, inputs, wrong| {
        let body = stages.bulk().widen();
        let body = if wrong { rewrite::overwritten(&body) } else { body };
        interpret::<Concrete>(&vectorise(&body), inputs.to_vec())
    });
    list.push("interpret", "another output of a loop", Kind::Values, |stages, inputs, wrong| {
        let place = if wrong { Place::Everywhere } else { Place::Nowhere };
        run_rewritten(stages.bulk(), inputs, &place, &rewrite::next_output)
    });
    let mut push = |name: &str, wrong: Wrong| {
        list.push("interpret", name, Kind::Values, move |stages, inputs, seed| {
            let work = || interpret::<Mutated<Concrete>>(stages.vectorised(), inputs.to_vec());
            seeded(if seed { wrong } else { Wrong::Nothing }, work)
        });
    };
    push("in the right operand's buffer, operands exchanged", Wrong::ExchangesInPlace);
    push("in the left operand's buffer, operands exchanged", Wrong::ExchangesWhereUnique);
}
