use super::*;
use crate::algebra::Algebra;
use crate::operation::{Binary, Unary};
use crate::shape::DType;
use crate::term::Op;

fn scalar() -> Type {
    Type::scalar(DType::F64)
}

#[test]
fn sharing_survives_host_lets() {
    let body = stage(&[scalar()], |mut x| {
        let mut y = x.remove(0);
        for _ in 0..10_000 {
            y = Staged::binary(Binary::Add, y.clone(), y);
        }
        vec![y]
    })
    .unwrap();
    assert_eq!(body.nodes.len(), 10_001);
}

#[test]
fn what_does_not_depend_on_the_index_is_captured() {
    let body = stage(&[scalar()], |x| {
        let (inner, captures) = Staged::trace_body(&[Type::scalar(DType::I64)], false, &mut |i| {
            let outside = Staged::unary(Unary::Exp, x[0].clone());
            vec![Staged::binary(Binary::Mul, outside, Staged::cast(i[0].clone(), DType::F64))]
        })
        .expect("staged");
        assert_eq!(captures.len(), 1);
        vec![Staged::build(Build { extents: [5].into_iter().collect(), body: inner }, captures)]
    })
    .unwrap();
    assert!(body.nodes.iter().any(|node| node.op == Op::Unary(Unary::Exp)));
    assert_eq!(body.nodes.len(), 3);
}

#[test]
fn an_index_outside_its_build_is_an_error() {
    let mut escaped = None;
    let result = stage(&[scalar()], |x| {
        let (inner, captures) = Staged::trace_body(&[Type::scalar(DType::I64)], false, &mut |i| {
            escaped = Some(i[0].clone());
            vec![i[0].clone()]
        })
        .expect("staged");
        Staged::build(Build { extents: [5].into_iter().collect(), body: inner }, captures);
        let escaped = Staged::cast(escaped.clone().unwrap(), DType::F64);
        vec![Staged::binary(Binary::Add, x[0].clone(), escaped)]
    });
    assert!(matches!(result, Err(crate::Error::Scope { .. })), "{result:?}");
    let result = stage(&[scalar()], |_| vec![escaped.clone().unwrap()]);
    assert!(matches!(result, Err(crate::Error::Scope { .. })), "{result:?}");
}

#[test]
fn a_panicking_closure_closes_its_scopes() {
    let caught = std::panic::catch_unwind(|| {
        stage(&[scalar()], |_| {
            Staged::trace_body(&[Type::scalar(DType::I64)], false, &mut |_| panic!("user code"));
            Vec::new()
        })
    });
    assert!(caught.is_err());
    assert!(stage(&[scalar()], |x| x).is_ok());
}

#[test]
fn deep_terms_drop_without_recursion() {
    let body = stage(&[scalar()], |mut x| {
        let mut y = x.remove(0);
        for _ in 0..1_000_000 {
            y = Staged::unary(Unary::Sin, y);
        }
        vec![y]
    })
    .unwrap();
    assert_eq!(body.nodes.len(), 1_000_001);
}
