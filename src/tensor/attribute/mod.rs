//! Functions that code rewritten by `#[differentiable]` calls: the same syntax for arrays and for plain Rust values, told apart
//! by types.
//!
//! The attribute knows tokens and no types. Where arrays need other code than plain values it writes a call that exists for
//! both: an inherent method for arrays, and a trait method for everything else, which the compiler finds second. So values
//! other than arrays keep their meaning in Rust.

mod assign;
mod cast;
mod choose;
mod compare;
mod lift;
mod literal;
mod names;
mod number;
mod operand;
mod own;
mod read;
mod rolled;
mod truth;
mod value;

pub use assign::{AssignByRust, AssignedInParts};
pub use cast::{Cast, CastByRust, CastTo, CastValue};
pub use choose::{
    AssignedBySides, ChangesNothing, Condition, ConditionOfAnotherType, ForBothSides, FromLiteral, IsCondition,
    OneValue, PlainCondition, PlainLoopCondition, TruthValue, side,
};
pub use compare::{CompareByRust, Compared};
pub use lift::{
    ByClone, ByCopy, ByReference, Entered, Entrance, Forward, Kept, Lift, Linear, OfReference, OfSlice, OfTree, Passed,
    Referred, Reverse, Second,
};
pub use literal::{ExtremeOfNumber, Literal, LiteralExtreme};
pub use names::entered;
pub(crate) use names::{ItemNames, listening};
pub use number::TakenByNumber;
pub use operand::{Used, UsedArray, UsedCopy, UsedReference};
pub use own::{Owned, OwnedByClone, OwnedByTree, OwnedTree};
pub use read::{CountedFromTheEnd, FromTheEnd, IndexByRust, OutOfPlace, Place, Read};
pub use rolled::{Carried, Ends, MovingRange, Steps, rolled};
pub use truth::{AfterBool, Truth, TruthOfAnotherType};
pub use value::{Iterated, IteratedByElement, IteratedByRust, Matched, MatchedByLiteral, MatchedByRust};
