//! `if` and `else`: of arrays [`cond`], of `bool` Rust's own.

use crate::algebra::Algebra;
use crate::tensor::{Element, Float, R0, Rank, Tensor, Tree, cond, duplicate, full, scalar};
use std::cell::RefCell;

/// The condition of an `if`.
pub struct Condition<C>(pub C);

impl Condition<bool> {
    /// The value of the side taken.
    #[track_caller]
    pub fn choose<T, F: FnOnce(bool) -> T>(self, sides: F) -> T {
        sides(self.0)
    }

    /// One of two literals.
    pub fn choose_literal<T>(self, yes: T, no: T) -> T {
        if self.0 { yes } else { no }
    }

    /// The assigned variables, after the side taken.
    #[track_caller]
    pub fn choose_assigned<C, F: FnOnce(bool, C) -> C>(self, carry: C, sides: F) -> C {
        sides(self.0, carry)
    }
}

impl<A: Algebra, E: Element, R: Rank> Condition<Tensor<A, E, R>> {
    /// The value of the side that is taken, as [`cond`] chooses.
    #[track_caller]
    pub fn choose<T: Tree<A>, F>(self, sides: F) -> T
    where
        E: TruthValue,
        R: OneValue,
        F: FnOnce(bool) -> T + ForBothSides,
    {
        Condition(&self.0).choose(sides)
    }

    /// One of two literals, as an array.
    #[track_caller]
    pub fn choose_literal<T: Element>(self, yes: T, no: T) -> Tensor<A, T, R0>
    where
        E: TruthValue,
        R: OneValue,
    {
        Condition(&self.0).choose_literal(yes, no)
    }

    /// The assigned variables, after the side taken, chosen like [`cond`].
    #[track_caller]
    pub fn choose_assigned<C: AssignedBySides<A>, F>(self, carry: C, sides: F) -> C
    where
        E: TruthValue,
        R: OneValue,
        F: FnOnce(bool, C) -> C + ForBothSides,
    {
        Condition(&self.0).choose_assigned(carry, sides)
    }
}

impl<A: Algebra, E: Element, R: Rank> Condition<&Tensor<A, E, R>> {
    /// The value of the side that is taken, as [`cond`] chooses.
    #[track_caller]
    pub fn choose<T: Tree<A>, F>(self, sides: F) -> T
    where
        E: TruthValue,
        R: OneValue,
        F: FnOnce(bool) -> T + ForBothSides,
    {
        let condition: Tensor<A, bool, R0> = Tensor::wrap(self.0.array().clone());
        let again = sides.again();
        cond(condition, || again(true), || sides(false))
    }

    /// One of two literals, as an array.
    #[track_caller]
    pub fn choose_literal<T: Element>(self, yes: T, no: T) -> Tensor<A, T, R0>
    where
        E: TruthValue,
        R: OneValue,
    {
        self.choose(|side| if side { scalar(yes) } else { scalar(no) })
    }

    /// The assigned variables, after the side taken, chosen like [`cond`].
    #[track_caller]
    pub fn choose_assigned<C: AssignedBySides<A>, F>(self, carry: C, sides: F) -> C
    where
        E: TruthValue,
        R: OneValue,
        F: FnOnce(bool, C) -> C + ForBothSides,
    {
        let condition: Tensor<A, bool, R0> = Tensor::wrap(self.0.array().clone());
        // Where one side is run the arrays are its own, so that it writes into them where they are.
        let known = A::holds(condition.array()).is_some();
        let carry = RefCell::new(Some(carry));
        let given = || match known {
            true => carry.take().expect("one side is run"),
            false => duplicate(carry.borrow().as_ref().expect("nothing takes it")),
        };
        let again = sides.again();
        cond(condition, || again(true, given()), || sides(false, given()))
    }
}

/// The variables that the blocks of an `if` assign when its condition is an array.
#[diagnostic::on_unimplemented(
    message = "an `if` whose condition is an array assigns `{Self}`, and chooses between arrays only",
    note = "begin with an array, `let mut s = scalar(0.0);`, or `zeros(n)`; structs have `#[derive(Tree)]`",
    note = "which block is taken is known only when the program runs: plain values can't depend on it"
)]
pub trait AssignedBySides<A: Algebra>: Tree<A> {}

#[diagnostic::do_not_recommend]
impl<A: Algebra, T: Tree<A>> AssignedBySides<A> for T {}

/// The element type of a condition.
#[diagnostic::on_unimplemented(
    message = "`if` chooses by a truth value, and this is an array of `{Self}`",
    label = "an array of `{Self}`, not of `bool`",
    note = "compare it: `if x > 0.0 {{ .. }}`, `if x != 0.0 {{ .. }}`"
)]
pub trait TruthValue: Element {}

impl TruthValue for bool {}

/// The rank of a condition.
#[diagnostic::on_unimplemented(
    message = "`if` chooses by one truth value, and this array has an axis (`{Self}`)",
    label = "one value for each element",
    note = "element by element `mask.select(a, b)` chooses; one value of all are `mask.all()` and `mask.any()`"
)]
pub trait OneValue: Rank {}

impl OneValue for R0 {}

/// Blocks that are run for both sides.
#[diagnostic::on_unimplemented(
    message = "the blocks of an `if` whose condition is an array are both run, and a value is moved into them that can not be \
               copied",
    label = "in this function an `if` takes a value whose type has no `Clone`",
    note = "refer to it by `&`, or derive `Clone` for its struct"
)]
pub trait ForBothSides: Sized {
    /// The same blocks.
    fn again(&self) -> Self;
}

// Otherwise the compiler names the missing `Clone` alone, and not the reason for the bound.
#[diagnostic::do_not_recommend]
impl<F: Clone> ForBothSides for F {
    fn again(&self) -> F {
        self.clone()
    }
}

/// The closures of `cond`, which change none of their captures: a closure that captures by `&mut` can't be cloned.
#[diagnostic::on_unimplemented(
    message = "a closure of `cond` changes a variable from outside, or takes a value whose type has no `Clone`",
    label = "where the function is staged both closures run",
    note = "what a closure computes is what `cond` results in; an `if` by an array, `if c {{ y[0] = v; }}`, chooses between what \
            its blocks assign",
    note = "a value is referred to by `&`, or its struct derives `Clone`"
)]
pub trait ChangesNothing<T> {}

// References to closures that change something are no closures, so that the compiler does not propose one.
#[diagnostic::do_not_recommend]
impl<T, F: FnOnce() -> T + Clone> ChangesNothing<T> for F {}

/// A closure of `cond`.
pub fn side<T, F: FnOnce() -> T + ChangesNothing<T>>(closure: F) -> F {
    closure
}

/// A condition that is neither a `bool` nor an array of one.
#[diagnostic::on_unimplemented(
    message = "`if` chooses by a `bool` or a scalar of `bool`, not by `{Self}`",
    label = "not a condition",
    note = "compare it: `if x > 0.0 {{ .. }}`, `if n != 0 {{ .. }}`"
)]
pub trait IsCondition {}

impl IsCondition for bool {}

/// The error for a condition of another type.
pub trait ConditionOfAnotherType {
    /// The condition.
    type Of;
    /// There is no value.
    fn choose<T, F: FnOnce(bool) -> T>(self, sides: F) -> T
    where
        Self::Of: IsCondition;
    /// There is no value.
    fn choose_literal<T>(self, yes: T, no: T) -> T
    where
        Self::Of: IsCondition;
    /// There is no value.
    fn choose_assigned<T, F: FnOnce(bool, T) -> T>(self, carry: T, sides: F) -> T
    where
        Self::Of: IsCondition;
}

impl<C> ConditionOfAnotherType for Condition<C> {
    type Of = C;
    fn choose<T, F: FnOnce(bool) -> T>(self, sides: F) -> T
    where
        C: IsCondition,
    {
        sides(false)
    }
    fn choose_literal<T>(self, _: T, no: T) -> T
    where
        C: IsCondition,
    {
        no
    }
    fn choose_assigned<T, F: FnOnce(bool, T) -> T>(self, carry: T, _: F) -> T
    where
        C: IsCondition,
    {
        carry
    }
}

/// The condition of an `if` that is Rust's own, since its blocks are more than values.
#[diagnostic::on_unimplemented(
    message = "this `if` chooses by a `bool`, not by `{Self}`: its blocks do more than have a value",
    label = "an array has no value to branch on where the function is staged",
    note = "an array chooses between values, `x = if c {{ a }} else {{ b }};`, or between what is assigned, `if c {{ x = a; }}`, by \
            blocks that don't `return`, use `?`, `break` or call a macro; or `cond(c, || a, || b)`"
)]
pub trait PlainCondition {
    /// Whether it holds.
    fn holds(self) -> bool;
}

impl PlainCondition for bool {
    fn holds(self) -> bool {
        self
    }
}

/// The condition of a `while`, which is Rust's own.
#[diagnostic::on_unimplemented(
    message = "`while` goes on by a `bool`, not by `{Self}`",
    label = "an array has no value to go on by where the function is staged",
    note = "a loop that ends by the values of arrays is `while_loop(start, |x| condition, |x| next)`; one of a known number of \
            steps is `for t in rolled(0..n) {{ .. }}`"
)]
pub trait PlainLoopCondition {
    /// Whether it holds.
    fn holds(self) -> bool;
}

impl PlainLoopCondition for bool {
    fn holds(self) -> bool {
        self
    }
}

/// A literal at the end of one block of an `if`, which takes the form of the other block's value: an array, or a plain number.
#[diagnostic::on_unimplemented(
    message = "the literal of type `{L}` does not go with the other block of this `if`, `{Self}`",
    note = "a literal becomes a scalar of its type; an array of a shape is `full(shape, 0.0)`, or `zeros(shape)`"
)]
pub trait FromLiteral<L>: Sized {
    /// The literal, or a scalar of it.
    fn from_literal(literal: L) -> Self;
}

impl<T> FromLiteral<T> for T {
    fn from_literal(literal: T) -> T {
        literal
    }
}

impl<A: Algebra, E: Element> FromLiteral<E> for Tensor<A, E, R0> {
    fn from_literal(literal: E) -> Self {
        scalar(literal)
    }
}

impl<A: Algebra, E: Float> FromLiteral<i32> for Tensor<A, E, R0> {
    fn from_literal(literal: i32) -> Self {
        full((), E::from_number(f64::from(literal)))
    }
}
