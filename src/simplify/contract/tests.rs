use crate::affine::AffineMap;
use crate::operation::{Binary, Comparison, Contraction, Unary};
use crate::shape::{DType, Type, Value};
use crate::simplify::testing::{RuleProgram, simplified, simplified_finite};
use crate::term::{NodeId, Op};

const I: usize = 3;
const J: usize = 4;
const K: usize = 5;

fn matrices(dtype: DType) -> [Type; 2] {
    [Type::new(dtype, &[I, K]), Type::new(dtype, &[K, J])]
}

/// The naive triple build: both operands repeated to [i, j, k].
fn operands(p: &mut RuleProgram, ids: &[NodeId]) -> (NodeId, NodeId) {
    let a = p.spread(ids[0], &[I, J, K], &[0, 2]);
    let b = p.spread(ids[1], &[I, J, K], &[2, 1]);
    (a, b)
}

#[test]
fn the_naive_triple_build_is_one_contraction() {
    for dtype in [DType::F64, DType::F32, DType::I64] {
        let form = simplified(&matrices(dtype), |p, ids| {
            let (a, b) = operands(p, ids);
            let product = p.mul(a, b);
            p.sum(product, &[2])
        });
        assert_eq!(form, "contract{ij,jk->ik}(a, b)");
        let swapped = simplified(&matrices(dtype), |p, ids| {
            let (a, b) = operands(p, ids);
            let product = p.mul(b, a);
            p.sum(product, &[2])
        });
        assert_eq!(swapped, form);
    }
    let other_order = simplified(&matrices(DType::F64), |p, ids| {
        let a = p.spread(ids[0], &[K, J, I], &[2, 0]);
        let b = p.spread(ids[1], &[K, J, I], &[0, 1]);
        let product = p.mul(a, b);
        let sum = p.sum(product, &[0]);
        p.transpose(sum, &[1, 0])
    });
    assert_eq!(other_order, "contract{ij,jk->ik}(a, b)");
    let transposed = simplified(&[Type::new(DType::F64, &[K, I]), Type::new(DType::F64, &[K, J])], |p, ids| {
        let a = p.spread(ids[0], &[I, J, K], &[2, 0]);
        let b = p.spread(ids[1], &[I, J, K], &[2, 1]);
        let product = p.mul(a, b);
        p.sum(product, &[2])
    });
    assert_eq!(transposed, "contract{ij,ik->jk}(a, b)");
}

#[test]
fn a_mask_moves_into_the_operand_that_has_its_labels() {
    let form = simplified_finite(&matrices(DType::F64), |p, ids| {
        let (a, b) = operands(p, ids);
        let (rows, inner) = (p.graph.add(Op::Iota(I), &[]), p.graph.add(Op::Iota(K), &[]));
        let (rows, inner) = (p.spread(rows, &[I, K], &[0]), p.spread(inner, &[I, K], &[1]));
        let mask = p.compare(Comparison::LessEqual, inner, rows);
        let mask = p.spread(mask, &[I, J, K], &[0, 2]);
        let product = p.mul(a, b);
        let zero = p.number(product, 0.0);
        let masked = p.select(mask, product, zero);
        p.sum(masked, &[2])
    });
    assert_eq!(
        form,
        "contract{ij,jk->ik}(select(le(view{[i, j] -> [j]}(iota(5)), view{[i, j] -> [i]}(iota(3))), a, 0), b)"
    );
    // A mask that neither operand has the labels of stays where it is.
    let types = [Type::new(DType::F64, &[I, K]), Type::new(DType::F64, &[K, J]), Type::new(DType::Bool, &[I, J, K])];
    let form = simplified(&types, |p, ids| {
        let (a, b) = operands(p, ids);
        let product = p.mul(a, b);
        let zero = p.number(product, 0.0);
        let masked = p.select(ids[2], product, zero);
        p.sum(masked, &[2])
    });
    assert!(form.starts_with("sum[2](select(c, mul("), "{form}");
}

#[test]
fn factors_and_signs_between_go_where_they_are_cheapest() {
    let vector = Type::new(DType::F64, &[I]);
    let [a, b] = matrices(DType::F64);
    let form = simplified_finite(&[a.clone(), b.clone(), vector.clone()], |p, ids| {
        let (a, b) = operands(p, ids);
        let c = p.spread(ids[2], &[I, J, K], &[0]);
        let product = p.mul(c, b);
        let product = p.unary(Unary::Neg, product);
        let product = p.mul(product, a);
        p.sum(product, &[2])
    });
    // [i, j] is smaller than [i, k].
    assert_eq!(form, "mul(view{[i, j] -> [i]}(c), neg(contract{ij,jk->ik}(a, b)))");
    // A constant waits outside; a computed number stays with the factor that it multiplies.
    let form = simplified_finite(&[a.clone(), b.clone(), Type::scalar(DType::F64)], |p, ids| {
        let (a, b) = operands(p, ids);
        let c = p.spread(ids[2], &[I, J, K], &[]);
        let product = p.binary(Binary::KeepZero, a, c);
        let product = p.mul(product, b);
        let half = p.number(product, 0.5);
        let product = p.mul(half, product);
        p.sum(product, &[2])
    });
    assert_eq!(form, "mul(contract{ij,jk->ik}(keep_zero(a, view{[i, j] -> []}(c)), b), 0.5)");
}

/// Factors that rescale terms may keep them in range.
#[test]
fn computed_factors_stay_with_the_terms_that_they_rescale() {
    let types = [Type::new(DType::F64, &[I, J]), Type::scalar(DType::F64), Type::new(DType::F64, &[I])];
    let form = simplified_finite(&types, |p, ids| {
        let scale = p.spread(ids[1], &[I, J], &[]);
        let rescaled = p.mul(ids[0], scale);
        let square = p.mul(rescaled, rescaled);
        p.sum(square, &[0, 1])
    });
    let rescaled = "mul(a, view{[i, j] -> []}(b))";
    assert_eq!(form, format!("contract{{ij,ij->}}({rescaled}, {rescaled})"));
    let form = simplified_finite(&types, |p, ids| {
        let scale = p.spread(ids[2], &[I, J], &[0]);
        let rescaled = p.mul(ids[0], scale);
        p.sum(rescaled, &[1])
    });
    assert_eq!(form, "sum[1](mul(a, view{[i, j] -> [i]}(c)))");
    // In a sum along the factor's own axis it is a factor like others.
    let form = simplified_finite(&types, |p, ids| {
        let scale = p.spread(ids[2], &[I, J], &[0]);
        let rescaled = p.mul(ids[0], scale);
        p.sum(rescaled, &[0])
    });
    assert_eq!(form, "contract{ij,i->j}(a, c)");
    // A rescaled outer product needs no array of its elements.
    let types = [Type::new(DType::F64, &[I]), Type::new(DType::F64, &[J]), Type::scalar(DType::F64)];
    let form = simplified_finite(&types, |p, ids| {
        let (a, b) = (p.spread(ids[0], &[I, J], &[0]), p.spread(ids[1], &[I, J], &[1]));
        let product = p.mul(a, b);
        let scale = p.spread(ids[2], &[I, J], &[]);
        let product = p.mul(scale, product);
        p.sum(product, &[1])
    });
    assert_eq!(form, "mul(view{[i] -> []}(mul(c, sum[0](b))), a)");
}

#[test]
fn factors_that_may_be_infinite_stay_with_their_masks() {
    let form = simplified(&matrices(DType::F64), |p, ids| {
        let (a, b) = operands(p, ids);
        let root = p.unary(Unary::Recip, a);
        let product = p.binary(Binary::KeepZero, b, root);
        p.sum(product, &[2])
    });
    assert!(form.starts_with("sum[2](keep_zero("), "{form}");
    let form = simplified(&matrices(DType::F64), |p, ids| {
        let (a, b) = operands(p, ids);
        let root = p.unary(Unary::Ln, a);
        let product = p.mul(b, root);
        let zero = p.constant(&[I, J, K], Value::F64(0.0));
        let mask = p.compare(Comparison::Greater, a, zero);
        let product = p.select(mask, product, zero);
        p.sum(product, &[2])
    });
    assert!(form.starts_with("sum[2](select("), "{form}");
}

#[test]
fn dots_and_batches() {
    let types = [Type::new(DType::F64, &[I, J]), Type::new(DType::F64, &[I, J])];
    let dot = |axes: &'static [usize]| {
        simplified(&types, move |p, ids| {
            let product = p.mul(ids[0], ids[1]);
            p.sum(product, axes)
        })
    };
    assert_eq!(dot(&[0, 1]), "contract{ij,ij->}(a, b)");
    assert_eq!(dot(&[1]), "contract{ij,ij->i}(a, b)");
    let square = simplified(&types, |p, ids| {
        let product = p.mul(ids[0], ids[0]);
        p.sum(product, &[0, 1])
    });
    assert_eq!(square, "contract{ij,ij->}(a, a)");
    // In the sum of an outer product nothing has the size of the outer product.
    let outer = simplified_finite(&[Type::new(DType::F64, &[I]), Type::new(DType::F64, &[J])], |p, ids| {
        let a = p.spread(ids[0], &[I, J], &[0]);
        let b = p.spread(ids[1], &[I, J], &[1]);
        let product = p.mul(a, b);
        p.sum(product, &[0, 1])
    });
    assert_eq!(outer, "mul(sum[0](a), sum[0](b))");
    let units = simplified(&[Type::new(DType::F64, &[I, 1, K]), Type::new(DType::F64, &[K])], |p, ids| {
        let b = p.spread(ids[1], &[I, 1, K], &[2]);
        let product = p.mul(ids[0], b);
        p.sum(product, &[2])
    });
    assert_eq!(units, "view{[i, j] -> [i]}(contract{ij,j->i}(view{[i, j] -> [i, 0, j]}(a), b))");
}

fn contract(p: &mut RuleProgram, left: &[u8], right: &[u8], result: &[u8], ids: &[NodeId]) -> NodeId {
    p.graph.add(Op::Contract(Contraction::new(left, right, result)), ids)
}

#[test]
fn a_contraction_absorbs_views_of_its_operands() {
    let types = matrices(DType::F64);
    let form = simplified(&types, |p, ids| {
        let transposed = p.transpose(ids[1], &[1, 0]);
        contract(p, &[7, 3], &[2, 3], &[2, 7], &[ids[0], transposed])
    });
    assert_eq!(form, "contract{ij,ki->jk}(b, a)");
    let slices = simplified(&types, |p, ids| {
        let slice = p.graph.add(Op::View(AffineMap::along(&[K, J], 1, 1, 1, 2)), &[ids[1]]);
        contract(p, &[0, 1], &[1, 2], &[0, 2], &[ids[0], slice])
    });
    assert_eq!(slices, "contract{ij,jk->ik}(a, view{[i, j] -> [i, j + 1]}(b))");
    let repeated = simplified_finite(&[Type::new(DType::F64, &[I, K]), Type::new(DType::F64, &[J])], |p, ids| {
        let b = p.spread(ids[1], &[K, J], &[1]);
        contract(p, &[0, 1], &[1, 2], &[0, 2], &[ids[0], b])
    });
    assert_eq!(repeated, "contract{i,j->ij}(sum[1](a), b)");
    let ones = simplified_finite(&types, |p, ids| {
        let two = p.number(ids[1], 2.0);
        contract(p, &[0, 1], &[1, 2], &[0, 2], &[ids[0], two])
    });
    assert_eq!(ones, "view{[i, j] -> [i]}(mul(sum[1](a), 2))");
    let elementwise = simplified(&types[..1], |p, ids| {
        let transposed = p.transpose(ids[0], &[1, 0]);
        contract(p, &[0, 1], &[1, 0], &[0, 1], &[ids[0], transposed])
    });
    assert_eq!(elementwise, "mul(a, a)");
    let signs = simplified(&types, |p, ids| {
        let (a, b) = (p.unary(Unary::Neg, ids[0]), p.unary(Unary::Neg, ids[1]));
        contract(p, &[0, 1], &[1, 2], &[0, 2], &[a, b])
    });
    assert_eq!(signs, "contract{ij,jk->ik}(a, b)");
}

#[test]
fn sums_of_contractions() {
    let form = simplified_finite(&matrices(DType::F64), |p, ids| {
        let product = contract(p, &[0, 1], &[1, 2], &[0, 2], ids);
        p.sum(product, &[1])
    });
    assert_eq!(form, "contract{ij,j->i}(a, sum[1](b))");
    let batched = [Type::new(DType::F64, &[2, I, K]), Type::new(DType::F64, &[2, K, J])];
    let form = simplified_finite(&batched, |p, ids| {
        let product = contract(p, &[0, 1, 2], &[0, 2, 3], &[0, 1, 3], ids);
        p.sum(product, &[0])
    });
    assert_eq!(form, "contract{ijk,ikl->jl}(a, b)");
}

#[test]
fn empty_sums() {
    let types = [Type::new(DType::F64, &[I, 0]), Type::new(DType::F64, &[0, J])];
    let contracted = simplified(&types, |p, ids| contract(p, &[0, 1], &[1, 2], &[0, 2], ids));
    let summed = simplified(&types, |p, ids| {
        let a = p.spread(ids[0], &[I, J, 0], &[0, 2]);
        let b = p.spread(ids[1], &[I, J, 0], &[2, 1]);
        let product = p.mul(a, b);
        p.sum(product, &[2])
    });
    let outer = simplified(&types, |p, ids| contract(p, &[0, 1], &[2, 3], &[0, 1, 2, 3], ids));
    for form in [contracted, summed, outer] {
        assert_eq!(form, "0");
    }
}

#[test]
fn a_sum_of_a_view_of_a_contraction_reads_the_operands() {
    // The adjoint of windows: Σ_j (dt ⊗ x)[i + j, j], which reads outside too.
    let form = simplified_finite(&[Type::new(DType::F64, &[9]), Type::new(DType::F64, &[5])], |p, ids| {
        let outer = contract(p, &[0], &[1], &[0, 1], ids);
        let rows = [[1, 1].into_iter().collect(), [0, 1].into_iter().collect()];
        let view = p.graph.add(Op::View(AffineMap::new(&[9, 5], &[7, 5], &rows, &[0, 0])), &[outer]);
        p.sum(view, &[1])
    });
    assert_eq!(form, "contract{ij,j->i}(view{[i, j] -> [i + j]}(a), b)");
    // Summed labels of the contraction stay.
    let form = simplified_finite(&[Type::new(DType::F64, &[6, 2]), Type::new(DType::F64, &[2, J])], |p, ids| {
        let product = contract(p, &[0, 1], &[1, 2], &[0, 2], ids);
        let rows = [[1, -1].into_iter().collect(), [0, 1].into_iter().collect()];
        let view = p.graph.add(Op::View(AffineMap::new(&[6, J], &[5, J], &rows, &[2, 0])), &[product]);
        p.sum(view, &[1])
    });
    assert!(form.starts_with("contract{") && form.contains("[i, j, k] -> [i - j + 2, k]"), "{form}");
}

/// The elements of the factors that would meet the zeros may be infinite.
#[test]
fn a_sum_of_a_view_that_leaves_a_contraction_reads_the_operands_inside_only() {
    let squares = [Type::new(DType::F64, &[4, K]), Type::new(DType::F64, &[K, 4])];
    let diagonal = |p: &mut RuleProgram, ids: &[NodeId], rows: usize| {
        let product = contract(p, &[0, 1], &[1, 2], &[0, 2], ids);
        let coefficients = [[1, 0].into_iter().collect(), [1, 0].into_iter().collect()];
        p.graph.add(Op::View(AffineMap::new(&[4, 4], &[4, rows], &coefficients, &[0, 1])), &[product])
    };
    let form = simplified(&squares, |p, ids| {
        let view = diagonal(p, ids, 1);
        p.sum(view, &[0, 1])
    });
    assert_eq!(form, "contract{ij,ji->}(view{[i, j] -> [i, j]}(a), view{[i, j] -> [i, j + 1]}(b))");
    // An axis that is not summed is padded after the sum.
    let batched = [Type::new(DType::F64, &[3, 4]), Type::new(DType::F64, &[3, 4])];
    let form = simplified(&batched, |p, ids| {
        let product = contract(p, &[0, 1], &[0, 2], &[0, 1, 2], ids);
        let rows = [[1, 0], [0, 1], [0, 1]].map(|row| row.into_iter().collect());
        let view = p.graph.add(Op::View(AffineMap::new(&[3, 4, 4], &[5, 4], &rows, &[-1, 0, 1])), &[product]);
        p.sum(view, &[1])
    });
    assert!(form.starts_with("view{[i] -> [i - 1]}(contract{"), "{form}");
    // Integers have no infinity.
    let integers = squares.map(|ty| Type::new(DType::I64, &ty.shape));
    let form = simplified(&integers, |p, ids| {
        let view = diagonal(p, ids, 1);
        p.sum(view, &[0, 1])
    });
    assert!(form.starts_with("contract{ij,ji->}(a, "), "{form}");
}

/// The contraction may be needed anyway: `push_reads` knows whether it is.
#[test]
fn a_sum_of_a_part_of_a_contraction_leaves_the_contraction() {
    let form = simplified_finite(&matrices(DType::F64), |p, ids| {
        let product = contract(p, &[0, 1], &[1, 2], &[0, 2], ids);
        let part = p.graph.add(Op::View(AffineMap::along(&[I, J], 0, 0, 2, 2)), &[product]);
        p.sum(part, &[1])
    });
    assert_eq!(form, "sum[1](view{[i, j] -> [2*i, j]}(contract{ij,jk->ik}(a, b)))");
}
