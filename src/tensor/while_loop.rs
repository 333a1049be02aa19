//! Loops that end when a condition does not hold any more, and loops that keep little of their steps.

use crate::affine::AffineMap;
use crate::algebra::{Algebra, StoredFunction};
use crate::array::ReportedAt;
use crate::shape::size;
use crate::tensor::associative::unstacked;
use crate::tensor::scan::Untyped;
use crate::tensor::structure::stack_arrays;
use crate::tensor::tree::check_same_trees;
use crate::tensor::{Family, R0, Sliced, Stacked, Tensor, Tree, duplicate, hollow, refuse};
use crate::term::{Checkpoints, Steps, Sweeps, advance_by};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

/// How many bytes [`while_loop`] may keep of its steps for a derivative; beyond, it keeps snapshots.
pub const WHILE_LOOP_BYTES: usize = 1 << 30;

/// Applies a step to a value as long as a condition holds for it, and returns the first value for which it does not. The step
/// keeps the shapes.
///
/// ```
/// # use deltaray::prelude::*;
/// let power = while_loop(scalar(1.0), |x: &Scalar<Concrete, f64>| x.lt(100.0), |x| x * 2.0);
/// assert_eq!(power.item(), 128.0);
/// ```
///
/// The closures may use whatever arrays they capture. An eager algebra runs them as often as the loop needs; a staged one runs
/// them once and keeps the loop, whose number of steps is found when the program runs. In a `build` the loop goes on until it
/// has ended for every element. Forward and reverse derivatives exist whatever the number of steps. Those of a staged program
/// keep at most [`WHILE_LOOP_BYTES`] of the steps and recompute the others: see [`Checkpoints::while_loop`] to choose.
///
/// Where the condition always holds, the loop never ends.
///
/// # Panics
///
/// When the step changes the structure or shapes of the value; staged, that is recorded instead.
#[track_caller]
pub fn while_loop<A: Algebra, C: Tree<A>>(
    carry: C,
    condition: impl Fn(&C) -> Tensor<A, bool, R0>,
    step: impl Fn(C) -> C,
) -> C {
    let place = Location::caller();
    match traced(&carry, &condition, &step, Checkpoints::Bytes(WHILE_LOOP_BYTES), place) {
        Some(last) => last,
        None => {
            let (like, mut carry) = (hollow(&carry), carry);
            while holds::<A>(&condition(&carry)) {
                carry = checked(&like, carry, &step, place);
            }
            carry
        }
    }
}

fn holds<A: Algebra>(condition: &Tensor<A, bool, R0>) -> bool {
    A::holds(condition.array()).expect("an eager algebra knows the value of a condition")
}

/// One step, which is given its value. If the value that it passes on is not like this, that is reported, and the result is a
/// placeholder.
fn checked<A: Algebra, C: Tree<A>>(like: &C, carry: C, step: &dyn Fn(C) -> C, place: &'static Location<'static>) -> C {
    let after = step(carry);
    match check_same_trees(like, &after) {
        Ok(()) => after,
        Err(problem) => {
            let problem = format!("what a step is given and what it passes on differ: {problem}");
            let placeholders = refuse::<A>("while_loop", problem, &like.types(), place);
            C::Family::rebuild::<A, A>(like, &mut placeholders.into_iter())
        }
    }
}

/// The loop as a term, in a staged algebra.
fn traced<A: Algebra, C: Tree<A>>(
    carry: &C,
    condition: &dyn Fn(&C) -> Tensor<A, bool, R0>,
    step: &dyn Fn(C) -> C,
    checkpoints: Checkpoints,
    place: &'static Location<'static>,
) -> Option<C> {
    let mut both = |arrays: Vec<A::Array>| {
        let before = C::Family::rebuild::<A, A>(carry, &mut arrays.into_iter());
        let mut results = vec![condition(&before).into_array()];
        results.extend(checked(carry, before, step, place).leaves());
        results
    };
    let (closed, captures) = A::trace_body(&carry.types(), false, &mut both)?;
    let first = carry.leaves();
    let body = closed.with_results(&closed.results[1..]).into();
    let steps = Steps::While(closed.with_results(&closed.results[..1]).into());
    let sweeps = Sweeps::single(steps, body, (first.len(), 0), false, checkpoints);
    let _place = ReportedAt::place(ReportedAt::or(place));
    let last = A::sweeps_source(sweeps, first.into_iter().chain(captures).collect());
    Some(C::Family::rebuild::<A, A>(carry, &mut last.into_iter()))
}

/// The value of a function at a point. Reverse derivatives keep only the point and the function's captures, and run the
/// function again.
///
/// ```
/// # use deltaray::prelude::*;
/// let x = Vector::from([1.0, 2.0]);
/// let slope = grad(|x| checkpoint(x, |x| x.powi(2) * 3.0).sum(), &x);
/// assert_eq!(slope.to_vec(), [6.0, 12.0]);
/// ```
///
/// A program's derivative holds the intermediate values that it needs from the time they are computed; those of `f` are held
/// only while the derivative of `f` is computed. Values and derivatives are those of `f(x)`. The function may be run several
/// times, so it must do the same each time.
#[track_caller]
pub fn checkpoint<A: Algebra, X: Tree<A>, Y: Tree<A>>(x: &X, f: impl Fn(&X) -> Y + 'static) -> Y {
    let rebuild = |like: &X, arrays: Vec<A::Array>| X::Family::rebuild::<A, A>(like, &mut arrays.into_iter());
    let at = x.leaves();
    let mut value: Option<Y> = None;
    let traced = A::trace_body(&x.types(), true, &mut |arrays| value.insert(f(&rebuild(x, arrays))).leaves());
    let results = match traced {
        Some((closed, captures)) => {
            // A loop of one step that carries nothing: its results are outputs, with an axis of extent 1.
            let body = closed.with_parameters_captured();
            let sweeps = Sweeps::single(Steps::Count(1), body.into(), (0, 0), false, Checkpoints::All);
            let stacks = A::sweeps_source(sweeps, at.into_iter().chain(captures).collect());
            unstacked::<A>(stacks)
        }
        None => {
            // The kept function has no use for the point, only for its structure.
            let like = Rc::new(duplicate(x));
            let seen: Rc<RefCell<Option<Y>>> = Rc::new(RefCell::new(None));
            // The first run gives the structure; a later run's value must not be held.
            let (result, wanted) = (seen.clone(), Cell::new(true));
            let function: StoredFunction<A> = Rc::new(move |arrays| {
                let value = f(&X::Family::rebuild::<A, A>(&like, &mut arrays.into_iter()));
                let leaves = value.leaves();
                if wanted.replace(false) {
                    *result.borrow_mut() = Some(value);
                }
                leaves
            });
            let results = A::recompute(&function, at);
            value = seen.borrow_mut().take();
            results
        }
    };
    let like = value.expect("the function was run");
    Y::Family::rebuild::<A, A>(&like, &mut results.into_iter())
}

/// One step of an eager loop: the carries, and the position of the slices, to the carries and the outputs.
type EagerStep<A> = Rc<dyn Fn(Vec<<A as Algebra>::Array>, usize) -> Vec<<A as Algebra>::Array>>;

/// Runs steps `from..to` of an eager loop and keeps as little of them as the checkpoints ask for. Gives the carries, then the
/// outputs of every step.
fn run<A: Algebra>(
    step: &EagerStep<A>,
    carries: Vec<A::Array>,
    (mut from, to): (usize, usize),
    checkpoints: Checkpoints,
) -> Vec<A::Array> {
    let (count, mut carries, mut rows) = (carries.len(), carries, Vec::new());
    let mut snapshots = match checkpoints {
        Checkpoints::Snapshots(snapshots) => snapshots,
        _ => 1,
    };
    while from < to {
        let (length, inside) = match checkpoints {
            Checkpoints::Every(steps) if to - from > steps => (steps, Checkpoints::All),
            Checkpoints::Snapshots(_) if to - from > 1 => {
                (advance_by(to - from, snapshots), Checkpoints::Snapshots(snapshots))
            }
            _ => {
                carries = step(carries, from);
                rows.extend(carries.split_off(count));
                from += 1;
                continue;
            }
        };
        snapshots = snapshots.saturating_sub(1);
        let (again, range) = (step.clone(), (from, from + length));
        let function: StoredFunction<A> = Rc::new(move |carries| run::<A>(&again, carries, range, inside));
        carries = A::recompute(&function, carries);
        rows.extend(carries.split_off(count));
        from += length;
    }
    carries.extend(rows);
    carries
}

/// The bytes of arrays' elements.
fn bytes<A: Algebra>(arrays: &[A::Array]) -> usize {
    let bytes = |array: &A::Array| size(&A::shape(array)).saturating_mul(A::dtype(array).bytes());
    arrays.iter().map(bytes).fold(0, usize::saturating_add)
}

impl Checkpoints {
    /// Converts a bound in bytes to snapshots of these carries, for an eager algebra, which does not know what a step keeps.
    fn of_steps<A: Algebra>(self, carries: &[A::Array]) -> Checkpoints {
        match self {
            Checkpoints::Bytes(bound) => Checkpoints::Snapshots((bound / bytes::<A>(carries).max(1)).max(1)),
            other => other,
        }
    }

    /// With numbers of at least 1.
    fn at_least_one(self) -> Checkpoints {
        match self {
            Checkpoints::Every(0) => Checkpoints::Every(1),
            Checkpoints::Snapshots(0) => Checkpoints::Snapshots(1),
            other => other,
        }
    }

    /// As [`crate::tensor::scan`]. A reverse derivative keeps the values that these checkpoints ask for and recomputes the
    /// others. Forward derivatives keep nothing in any case.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// let product = |x: &Vector<_, f64>| Checkpoints::Every(2).scan(scalar(1.0), x, 3, |product, x| (product * x, ())).0;
    /// assert_eq!(grad(product, &x).to_vec(), [6.0, 3.0, 2.0]);
    /// ```
    ///
    /// An eager algebra may run the closure again when the derivative is computed, so it must do the same each time, and own
    /// its captures. For [`Checkpoints::Bytes`] an eager algebra makes as many snapshots as fit.
    ///
    /// # Panics
    ///
    /// As [`crate::tensor::scan`].
    #[track_caller]
    pub fn scan<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>>(
        self,
        carry: C,
        inputs: &X,
        n: usize,
        step: impl Fn(C, X::Slice) -> (C, Y) + 'static,
    ) -> (C, Y::Stack) {
        self.scan_directed("scan", carry, inputs, n, step)
    }

    /// As [`Checkpoints::scan`], from the last slice to the first.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let x = Vector::from([1.0, 2.0, 3.0]);
    /// let (_, after) = Checkpoints::Every(2).scan_reverse(scalar(0.0), &x, 3, |sum: Scalar<_, f64>, x| (&sum + x, sum));
    /// assert_eq!(after.to_vec(), [5.0, 3.0, 0.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`crate::tensor::scan`].
    #[track_caller]
    pub fn scan_reverse<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>>(
        self,
        carry: C,
        inputs: &X,
        n: usize,
        step: impl Fn(C, X::Slice) -> (C, Y) + 'static,
    ) -> (C, Y::Stack) {
        self.scan_directed("scan_reverse", carry, inputs, n, step)
    }

    #[track_caller]
    fn scan_directed<A: Algebra, C: Tree<A>, X: Sliced<A>, Y: Stacked<A>>(
        self,
        name: &'static str,
        carry: C,
        inputs: &X,
        n: usize,
        step: impl Fn(C, X::Slice) -> (C, Y) + 'static,
    ) -> (C, Y::Stack) {
        let checkpoints = self.at_least_one();
        let (reverse, place) = (name == "scan_reverse", Location::caller());
        let mut untyped = Untyped::<A, C, X, Y>::new(name, place, carry, inputs);
        let sources = untyped.sources(n);
        let parameters = untyped.parameters(&sources);
        if let Some((closed, captures)) = A::trace_body(&parameters, false, &mut |arrays| untyped.step(arrays, &step)) {
            let first = untyped.carries();
            untyped.check_stacks(closed.result_types().skip(first.len()), n);
            let sizes = (first.len(), sources.len());
            let sweeps = Sweeps::single(Steps::Count(n), closed, sizes, reverse, checkpoints);
            let operands = first.into_iter().chain(sources).chain(captures).collect();
            return untyped.finish(A::sweeps_source(sweeps, operands));
        }
        let first = untyped.take_carries();
        if n == 0 {
            // One step on zeros, to see the types of its outputs.
            let slices = parameters[first.len()..].iter().map(A::zeros);
            let arguments = first.iter().cloned().chain(slices).collect();
            let outputs = untyped.step(arguments, &step).split_off(first.len());
            let empty = outputs.iter().map(|output| {
                let mut ty = A::type_of(output);
                ty.shape.insert(0, 0);
                A::zeros(&ty)
            });
            return untyped.finish(first.into_iter().chain(empty).collect());
        }
        let checkpoints = checkpoints.of_steps::<A>(&first);
        let untyped = Rc::new(untyped);
        let (count, inner) = (first.len(), untyped.clone());
        let one: EagerStep<A> = Rc::new(move |carries, at| {
            let position = if reverse { n - 1 - at } else { at };
            let mut arrays = carries;
            for source in &sources {
                arrays.push(A::view(source.clone(), &AffineMap::pick(&A::shape(source), 0, position as i64)));
            }
            inner.step(arrays, &step)
        });
        let mut results = run::<A>(&one, first, (0, n), checkpoints);
        let rows = results.split_off(count);
        let width = rows.len() / n;
        let _place = ReportedAt::place(place);
        for output in 0..width {
            let mut slices: Vec<A::Array> = (0..n).map(|at| rows[at * width + output].clone()).collect();
            if reverse {
                slices.reverse();
            }
            results.push(stack_arrays::<A>(slices));
        }
        untyped.finish(results)
    }

    /// As [`while_loop`]. A reverse derivative keeps the values that these checkpoints ask for and recomputes the others: see
    /// [`Checkpoints::scan`]. For snapshots an eager algebra counts the steps first, which runs all of them once more.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let squared = |x: &Scalar<_, f64>| Checkpoints::Snapshots(4).while_loop(x.clone(), |x| x.lt(10.0), |x| &x * &x);
    /// assert_eq!(grad(squared, &scalar(2.0)).item(), 32.0);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`while_loop`].
    #[track_caller]
    pub fn while_loop<A: Algebra, C: Tree<A>>(
        self,
        carry: C,
        condition: impl Fn(&C) -> Tensor<A, bool, R0> + 'static,
        step: impl Fn(C) -> C + 'static,
    ) -> C {
        let checkpoints = self.at_least_one();
        let place = Location::caller();
        if let Some(last) = traced(&carry, &condition, &step, checkpoints, place) {
            return last;
        }
        let (first, condition) = (carry.leaves(), Rc::new(condition));
        let like = Rc::new(hollow(&carry));
        drop(carry);
        let rebuild = |like: &C, arrays: Vec<A::Array>| C::Family::rebuild::<A, A>(like, &mut arrays.into_iter());
        let step = Rc::new(step);
        let counted = Rc::new(Cell::new(0));
        // At most so many steps; their number is returned separately.
        let some = |most: usize| -> StoredFunction<A> {
            let (like, step, condition, counted) = (like.clone(), step.clone(), condition.clone(), counted.clone());
            Rc::new(move |arrays| {
                let (mut carry, mut steps) = (rebuild(&like, arrays), 0);
                while steps < most && holds(&condition(&carry)) {
                    carry = checked(&*like, carry, &*step, place);
                    steps += 1;
                }
                counted.set(steps);
                carry.leaves()
            })
        };
        let last = match checkpoints.of_steps::<A>(&first) {
            Checkpoints::All => some(usize::MAX)(first),
            Checkpoints::Every(steps) => {
                let (stretch, mut arrays) = (some(steps), first);
                loop {
                    arrays = A::recompute(&stretch, arrays);
                    if counted.get() < steps {
                        break arrays;
                    }
                }
            }
            snapshots => {
                // The steps are counted on values that nothing keeps.
                drop(A::recompute(&some(usize::MAX), first.clone()));
                let (like, steps) = (like.clone(), counted.get());
                let one: EagerStep<A> =
                    Rc::new(move |arrays, _| checked(&*like, rebuild(&like, arrays), &*step, place).leaves());
                run::<A>(&one, first, (0, steps), snapshots)
            }
        };
        rebuild(&like, last)
    }
}
