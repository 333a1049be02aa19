use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Type, Value};
use crate::simplify::testing::{RuleProgram, simplified};
use crate::term::{NodeId, Op};

/// Masks a and b, arrays c and d.
fn types() -> [Type; 4] {
    [DType::Bool, DType::Bool, DType::F64, DType::F64].map(|dtype| Type::new(dtype, &[8]))
}

fn form(write: impl Fn(&mut RuleProgram, &[NodeId]) -> NodeId) -> String {
    simplified(&types(), write)
}

fn truth(p: &mut RuleProgram, value: bool) -> NodeId {
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
    let zero = |p: &mut RuleProgram, ids: &[NodeId]| p.number(ids[2], 0.0);
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

#[test]
fn complementary_selections_meet() {
    let sum = form(|p, ids| {
        let zero = zero_like(p, ids);
        let (yes, no) = (p.select(ids[0], ids[2], zero), p.select(ids[0], zero, ids[3]));
        p.binary(Binary::Add, no, yes)
    });
    assert_eq!(sum, "select(a, c, d)");
    let longer = form(|p, ids| {
        let zero = zero_like(p, ids);
        let (yes, no) = (p.select(ids[0], ids[2], zero), p.select(ids[0], zero, ids[2]));
        let rest = p.binary(Binary::Add, ids[3], no);
        p.binary(Binary::Add, yes, rest)
    });
    assert_eq!(longer, "add(d, c)");
    let same = form(|p, ids| {
        let zero = zero_like(p, ids);
        let (first, second) = (p.select(ids[0], ids[2], zero), p.select(ids[0], ids[3], zero));
        let other = p.select(ids[1], ids[3], zero);
        let sum = p.binary(Binary::Add, first, other);
        p.binary(Binary::Add, sum, second)
    });
    assert_eq!(same, "add(select(a, add(c, d), 0), select(b, d, 0))");
}

fn zero_like(p: &mut RuleProgram, ids: &[NodeId]) -> NodeId {
    p.number(ids[2], 0.0)
}

#[test]
fn a_view_of_positions_of_one_side() {
    let types = [Type::new(DType::F64, &[8]), Type::new(DType::F64, &[8])];
    let slice = |start: i64, count: usize| {
        simplified(&types, move |p, ids| {
            let iota = p.graph.add(Op::Iota(8), &[]);
            let five = p.constant(&[8], Value::I64(5));
            let mask = p.compare(Comparison::Less, iota, five);
            let whole = p.select(mask, ids[0], ids[1]);
            p.graph.add(Op::View(AffineMap::along(&[8], 0, start, 1, count)), &[whole])
        })
    };
    assert_eq!(slice(0, 5), "view{[i] -> [i]}(Mark(a))");
    assert_eq!(slice(5, 3), "view{[i] -> [i + 5]}(Mark(b))");
    // Outside it is 0, whatever the side is.
    assert_eq!(slice(-3, 8), "view{[i] -> [i - 3]}(Mark(a))");
    assert_eq!(slice(6, 9), "view{[i] -> [i + 6]}(Mark(b))");
    assert!(slice(4, 2).contains("select"));
}

#[test]
fn what_is_scattered_needs_no_mask_that_says_where() {
    let types = [(DType::I64, &[5][..]), (DType::F64, &[5, 2]), (DType::I64, &[5])];
    let types = types.map(|(dtype, shape)| Type::new(dtype, shape));
    let masked = |keys: usize, other: f64| {
        let form = simplified(&types, |p, ids| {
            let scatter = Op::Scatter([3].into_iter().collect());
            let sums = p.graph.add(scatter.clone(), &[ids[1], ids[0]]);
            let all = p.constant(&[5], Value::Bool(true));
            let filled = p.graph.add(scatter, &[all, ids[keys]]);
            let mask = p.spread(filled, &[3, 2], &[0]);
            let other = p.number(sums, other);
            p.select(mask, sums, other)
        });
        form.starts_with("select")
    };
    assert!(!masked(0, 0.0));
    assert!(masked(0, 1.0) && masked(2, 0.0));
}
