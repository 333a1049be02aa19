//! How a sum of a product is computed: which factors make up the operands of a contraction, and which wait outside.

use super::product::{Factor, LabelledProduct, set};
use crate::affine::AffineMap;
use crate::operation::{Binary, Contraction, Label, Labels, Reduction, Unary};
use crate::shape::{Axes, Shape, Value, sort_by_rank};
use crate::simplify::Simplifier;
use crate::simplify::views_of::view;
use crate::term::{NodeId, Op};

/// Products with more different sets of labels are left alone.
const CLASSES: usize = 6;

/// Where a factor or mask is multiplied in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FactorPlace {
    /// After the sum.
    Outside,
    /// Into the left operand.
    Left,
    /// Into the right operand.
    Right,
}

/// The factors with one set of labels.
struct FactorClass {
    set: u32,
    factors: Vec<Factor>,
}

/// A choice of places.
#[derive(Clone)]
struct ContractionPlan {
    classes: Vec<FactorPlace>,
    masks: Vec<FactorPlace>,
    /// Additions and multiplications.
    cost: u128,
    /// Elements of products that are stored for an operand.
    stored: u128,
}

/// The sum of a product over all labels that the result lacks, computed in the cheapest way; `None` where no way is known.
///
/// Every node that is added has fewer labels or fewer factors than the sum, or is a contraction of bare operands.
pub fn rewrite(arena: &mut Simplifier, product: LabelledProduct, result: &[Label]) -> Option<NodeId> {
    let mut classes: Vec<FactorClass> = Vec::new();
    for factor in &product.factors {
        let set = factor.set();
        match classes.iter_mut().find(|class| class.set == set) {
            Some(class) => class.factors.push(factor.clone()),
            None => classes.push(FactorClass { set, factors: vec![factor.clone()] }),
        }
    }
    let kept = set(result);
    let plan = choose(&product, &classes, kept)?;
    let mut sides: [Vec<Factor>; 3] = Default::default();
    for (class, &place) in classes.into_iter().zip(&plan.classes) {
        sides[place as usize].extend(class.factors);
    }
    let [mut outside, mut left, mut right] = sides;
    // A product of arrays of the same labels is a contraction too: its array of products is not needed.
    if right.is_empty() && left.len() > 1 {
        right.extend(left.pop());
    }
    let summing = Summing { product: &product, result, kept };
    let masks = |place: FactorPlace| -> Vec<Factor> {
        let placed = product.masks.iter().zip(&plan.masks).filter(|&(_, &other)| other == place);
        placed.map(|(mask, _)| mask.clone()).collect()
    };
    let core = match (left.is_empty(), right.is_empty()) {
        (true, _) => None,
        (false, true) => {
            let operand = summing.operand(arena, left, &masks(FactorPlace::Left));
            let sum = summing.sum_labels(arena, operand, !kept);
            Some(summing.signed(arena, sum))
        }
        (false, false) => {
            let left = summing.operand(arena, left, &masks(FactorPlace::Left));
            let right = summing.operand(arena, right, &masks(FactorPlace::Right));
            Some(summing.contract(arena, left, right))
        }
    };
    let core_is_signed = core.is_some();
    outside.extend(core);
    let mut whole = summing.operand(arena, outside, &masks(FactorPlace::Outside));
    if !core_is_signed {
        whole = summing.signed(arena, whole);
    }
    // Labels that no factor has are summed by counting.
    let seen = product.factors.iter().chain(&product.masks).fold(0, |set, factor| set | factor.set());
    let times = product.size(!kept & !seen);
    if times != 1 {
        let dtype = arena.ty(whole.node).dtype;
        let shape = arena.ty(whole.node).shape.clone();
        let times = match dtype.is_float() {
            true => Value::from_f64(dtype, times as f64),
            // Modulo a power of two, as all integer arithmetic.
            false => Value::from_i64(dtype, times as i64),
        };
        let times = arena.full(&shape, times);
        whole.node = arena.add(Op::Binary(Binary::Mul), &[whole.node, times]);
    }
    Some(summing.spread(arena, &whole, result))
}

/// The cheapest choice of places; at equal cost the one that stores least, and one with a contraction.
fn choose(product: &LabelledProduct, classes: &[FactorClass], kept: u32) -> Option<ContractionPlan> {
    if classes.len() > CLASSES || classes.is_empty() {
        return None;
    }
    let order = |plan: &ContractionPlan| (plan.cost, plan.stored, !plan.classes.contains(&FactorPlace::Right));
    let mut best: Option<ContractionPlan> = None;
    for code in 0..3usize.pow(classes.len() as u32) {
        let mut rest = code;
        let places: Vec<FactorPlace> = classes
            .iter()
            .map(|_| {
                let place = [FactorPlace::Outside, FactorPlace::Left, FactorPlace::Right][rest % 3];
                rest /= 3;
                place
            })
            .collect();
        // The sides are interchangeable: the first class inside is on the left.
        if places.iter().find(|&&place| place != FactorPlace::Outside) == Some(&FactorPlace::Right) {
            continue;
        }
        let Some(plan) = price(product, classes, kept, places) else { continue };
        if best.as_ref().is_none_or(|best| order(&plan) < order(best)) {
            best = Some(plan);
        }
    }
    best
}

/// The cost of a choice, in additions and multiplications; `None` where it is not possible.
fn price(
    product: &LabelledProduct,
    classes: &[FactorClass],
    kept: u32,
    places: Vec<FactorPlace>,
) -> Option<ContractionPlan> {
    let (mut cost, mut stored) = (0u128, 0u128);
    let mut add = |amount: u128| cost = cost.saturating_add(amount);
    let mut sets = [0u32; 3];
    let mut used = [false; 3];
    for place in [FactorPlace::Outside, FactorPlace::Left, FactorPlace::Right] {
        // Small factors are multiplied first.
        let mut own: Vec<&FactorClass> =
            classes.iter().zip(&places).filter(|&(_, &other)| other == place).map(|(class, _)| class).collect();
        sort_by_rank(&mut own, |class| product.rank(class.set));
        for class in own {
            if place == FactorPlace::Outside && class.set & !kept != 0 {
                return None;
            }
            let side = place as usize;
            sets[side] |= class.set;
            if std::mem::replace(&mut used[side], true) {
                let size = product.size(sets[side]);
                add(size);
                if place != FactorPlace::Outside {
                    stored = stored.saturating_add(size);
                }
            }
        }
    }
    let [_, left, right] = sets;
    let inner = (left | right) & kept;
    // A mask goes where it costs least among the places that have its labels. Outside it may have the result's labels.
    let mut masks = Vec::new();
    for mask in &product.masks {
        let set = mask.set();
        let outside = inner | sets[0] | set;
        let candidates = [
            (used[1] && set & !left == 0).then(|| (product.size(left), FactorPlace::Left)),
            (used[2] && set & !right == 0).then(|| (product.size(right), FactorPlace::Right)),
            (set & !kept == 0).then(|| (product.size(outside), FactorPlace::Outside)),
        ];
        let (size, place) = candidates.into_iter().flatten().min_by_key(|&(size, _)| size)?;
        add(size);
        masks.push(place);
    }
    if !used[2] && places.iter().filter(|&&place| place == FactorPlace::Left).count() > 1 {
        return None;
    }
    if used[2] {
        let (own_left, own_right) = (left & !right & !kept, right & !left & !kept);
        if own_left != 0 {
            add(product.size(left));
        }
        if own_right != 0 {
            add(product.size(right));
        }
        let terms = product.size((left & !own_left) | (right & !own_right));
        add(terms);
        if left & right & !kept != 0 {
            add(terms);
        }
    } else if left & !kept != 0 {
        add(product.size(left));
    }
    if used[0] && used[1] {
        add(product.size(sets[0] | inner));
    }
    Some(ContractionPlan { classes: places, masks, cost, stored })
}

/// A sum of a product over the labels that the result lacks.
struct Summing<'a> {
    product: &'a LabelledProduct,
    result: &'a [Label],
    kept: u32,
}

impl Summing<'_> {
    /// The product of factors, small ones first, under masks.
    fn operand(&self, arena: &mut Simplifier, mut factors: Vec<Factor>, masks: &[Factor]) -> Factor {
        sort_by_rank(&mut factors, |factor| self.product.rank(factor.set()));
        let product = factors.into_iter().reduce(|a, b| self.joined(arena, Op::Binary(Binary::Mul), &a, &b));
        let product = product.expect("an operand has a factor");
        let mask = masks.iter().cloned().reduce(|a, b| self.joined(arena, Op::Binary(Binary::And), &a, &b));
        let Some(mask) = mask else { return product };
        let labels = self.union(&product, &mask);
        let yes = self.spread(arena, &product, &labels);
        let mask = self.spread(arena, &mask, &labels);
        let ty = arena.ty(yes).clone();
        let zero = arena.full(&ty.shape, Value::from_i64(ty.dtype, 0));
        Factor { node: arena.add(Op::Select, &[mask, yes, zero]), labels }
    }

    /// An elementwise operation of two factors, along the labels of both.
    fn joined(&self, arena: &mut Simplifier, op: Op, a: &Factor, b: &Factor) -> Factor {
        let labels = self.union(a, b);
        let operands = [self.spread(arena, a, &labels), self.spread(arena, b, &labels)];
        Factor { node: arena.add(op, &operands), labels }
    }

    /// The labels of both, in the order of one of them if it has all.
    fn union(&self, a: &Factor, b: &Factor) -> Labels {
        let all = a.set() | b.set();
        if all == a.set() {
            a.labels.clone()
        } else if all == b.set() {
            b.labels.clone()
        } else {
            (0..self.product.extents.len() as Label).filter(|label| all >> label & 1 == 1).collect()
        }
    }

    /// A factor repeated along the labels that it lacks.
    fn spread(&self, arena: &mut Simplifier, factor: &Factor, labels: &[Label]) -> NodeId {
        let shape: Shape = labels.iter().map(|&label| self.product.extents[label as usize]).collect();
        let place = |label: &Label| labels.iter().position(|l| l == label).expect("a label of the wider array");
        let axes: Axes = factor.labels.iter().map(place).collect();
        let map = AffineMap::broadcast(&arena.ty(factor.node).shape, &shape, &axes);
        view(arena, factor.node, map)
    }

    /// The factor summed over its labels in a set.
    fn sum_labels(&self, arena: &mut Simplifier, factor: Factor, set: u32) -> Factor {
        let summed = |label: Label| set >> label & 1 == 1;
        let axes: Axes = (0..factor.labels.len()).filter(|&axis| summed(factor.labels[axis])).collect();
        let node = match axes.is_empty() {
            true => factor.node,
            false => arena.add(Op::Reduce(Reduction::Sum, axes), &[factor.node]),
        };
        Factor { node, labels: factor.labels.into_iter().filter(|&label| !summed(label)).collect() }
    }

    /// The factor under the product's sign.
    fn signed(&self, arena: &mut Simplifier, mut factor: Factor) -> Factor {
        if self.product.negative {
            factor.node = arena.add(Op::Unary(Unary::Neg), &[factor.node]);
        }
        factor
    }

    /// The sum of the product of two operands.
    fn contract(&self, arena: &mut Simplifier, left: Factor, right: Factor) -> Factor {
        let own = |a: &Factor, b: &Factor| a.set() & !b.set() & !self.kept;
        let (own_left, own_right) = (own(&left, &right), own(&right, &left));
        let mut left = self.sum_labels(arena, left, own_left);
        let mut right = self.sum_labels(arena, right, own_right);
        let all = left.set() | right.set();
        let summed = all & !self.kept;
        // The sign waits outside unless an operand is smaller than the result.
        let sizes = [left.set(), right.set(), all & self.kept].map(|set| self.product.size(set));
        let outside = sizes[2] <= sizes[0].min(sizes[1]);
        if !outside && sizes[0] <= sizes[1] {
            left = self.signed(arena, left);
        } else if !outside {
            right = self.signed(arena, right);
        }
        let whole = if summed == 0 && (all == left.set() || all == right.set()) {
            self.joined(arena, Op::Binary(Binary::Mul), &left, &right)
        } else {
            let labels: Labels = self.result.iter().copied().filter(|label| all >> label & 1 == 1).collect();
            contraction(arena, left, right, labels)
        };
        if outside { self.signed(arena, whole) } else { whole }
    }
}

/// The contraction of two operands, in an order that the result's labels decide, with labels numbered as they occur. Where
/// they don't, it is the other order only if that contraction exists already: an order by the operands' nodes would change
/// with every pass that numbers nodes anew.
fn contraction(arena: &mut Simplifier, left: Factor, right: Factor, result: Labels) -> Factor {
    let first = result.iter().find(|label| left.labels.contains(label) != right.labels.contains(label));
    let swapped = match first {
        Some(label) => right.labels.contains(label),
        None => {
            let op = Op::Contract(numbered(&right.labels, &left.labels, &result));
            arena.graph.find(&op, &[right.node, left.node]).is_some()
        }
    };
    let (left, right) = if swapped { (right, left) } else { (left, right) };
    let spec = numbered(&left.labels, &right.labels, &result);
    // The rules for contractions end here: nothing is left to strip from the operands. But an operand may be a scatter.
    Factor { node: arena.add_untried(Op::Contract(spec), &[left.node, right.node]), labels: result }
}

/// A contraction with its labels numbered as they occur.
fn numbered(left: &[Label], right: &[Label], result: &[Label]) -> Contraction {
    let mut names = Labels::new();
    for &label in left.iter().chain(right) {
        if !names.contains(&label) {
            names.push(label);
        }
    }
    let named = |labels: &[Label]| -> Labels {
        labels.iter().map(|label| names.iter().position(|l| l == label).expect("a label") as Label).collect()
    };
    Contraction::new(&named(left), &named(right), &named(result))
}
