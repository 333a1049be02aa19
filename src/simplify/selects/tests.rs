use crate::operation::{Binary, Unary};
use crate::shape::{DType, Type, Value};
use crate::simplify::testing::{Program, simplified};
use crate::term::{NodeId, Op};

/// Masks a and b, arrays c and d.
fn types() -> [Type; 4] {
    [DType::Bool, DType::Bool, DType::F64, DType::F64].map(|dtype| Type::new(dtype, &[8]))
}

fn form(write: impl Fn(&mut Program, &[NodeId]) -> NodeId) -> String {
    simplified(&types(), write)
}

fn truth(p: &mut Program, value: bool) -> NodeId {
    p.constant(&[8], Value::Bool(value))
}

#[test]
fn decided_selections_keep_a_mark() {
    let constant = |value| {
        form(move |p, ids| {
            let mask = truth(p, value);
            p.select(mask, ids[2], ids[3])
        })
    };
    assert_eq!(constant(true), "Mark(c)");
    assert_eq!(constant(false), "Mark(d)");
    let guard = form(|p, ids| {
        let (mask, zero) = (truth(p, true), p.number(ids[2], 0.0));
        let marked = p.select(mask, ids[2], zero);
        let once = p.graph.add(Op::Mark, &[marked]);
        p.graph.add(Op::Mark, &[once])
    });
    assert_eq!(guard, "Mark(c)");
    assert_eq!(form(|p, ids| p.select(ids[0], ids[2], ids[2])), "c");
}

#[test]
fn masks_are_combined() {
    let zero = |p: &mut Program, ids: &[NodeId]| p.number(ids[2], 0.0);
    let negated = form(|p, ids| {
        let mask = p.unary(Unary::Not, ids[0]);
        p.select(mask, ids[2], ids[3])
    });
    assert_eq!(negated, "select(a, d, c)");
    let twice = form(|p, ids| {
        let inner = p.select(ids[0], ids[2], ids[3]);
        let other = p.select(ids[0], ids[3], ids[2]);
        p.select(ids[0], inner, other)
    });
    assert_eq!(twice, "c");
    let nested = form(|p, ids| {
        let zero = zero(p, ids);
        let inner = p.select(ids[1], ids[2], zero);
        p.select(ids[0], inner, zero)
    });
    assert_eq!(nested, "select(and(a, b), c, 0)");
    let sum = form(|p, ids| {
        let zero = zero(p, ids);
        let (x, y) = (p.select(ids[0], ids[2], zero), p.select(ids[0], ids[3], zero));
        p.binary(Binary::Add, x, y)
    });
    assert_eq!(sum, "select(a, add(c, d), 0)");
    let sign = form(|p, ids| {
        let zero = zero(p, ids);
        let (x, y) = (p.select(ids[0], ids[2], zero), p.select(ids[0], ids[3], zero));
        let x = p.unary(Unary::Neg, x);
        p.binary(Binary::Add, x, y)
    });
    assert_eq!(sign, "select(a, sub(d, c), 0)");
}

#[test]
fn truth_values() {
    let choice = |yes, no| {
        form(move |p, ids| {
            let (yes, no) = (truth(p, yes), truth(p, no));
            p.select(ids[0], yes, no)
        })
    };
    assert_eq!(choice(true, false), "a");
    assert_eq!(choice(false, true), "not(a)");
    let and = form(|p, ids| {
        let no = truth(p, false);
        p.select(ids[0], ids[1], no)
    });
    assert_eq!(and, "and(a, b)");
    let or = form(|p, ids| {
        let yes = truth(p, true);
        p.select(ids[0], yes, ids[1])
    });
    assert_eq!(or, "or(a, b)");
}
