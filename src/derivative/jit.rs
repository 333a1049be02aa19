//! Functions that are staged and compiled when they are first called with arguments of some types.

use super::compiled::Compiled;
use super::staged::{Function, stage};
use crate::concrete::Concrete;
use crate::engine::cpu::Cpu;
use crate::error::Result;
use crate::shape::Type;
use crate::staged::Staged;
use crate::tensor::{Args, Family, Outline, Tree};
use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many programs a [`Jit`] keeps: those that were used last.
pub const KEPT_PROGRAMS: usize = 64;

/// The quantity that a [`Jit`] computes of its function.
///
/// Implemented by [`Value`], [`Gradient`] and [`ValueAndGradient`].
pub trait Wanted<In: Family, Out: Family, First: Family>: 'static {
    /// The type of the result.
    type Result: Family<At<Concrete>: Send + Sync>;
    /// The program for it.
    ///
    /// # Errors
    ///
    /// When the function has no gradient.
    fn of(function: Function<In, Out, First>) -> Result<Function<In, Self::Result, First>>;
}

/// The function itself.
#[derive(Clone, Copy, Debug)]
pub struct Value;

/// Its gradient with respect to the first argument.
#[derive(Clone, Copy, Debug)]
pub struct Gradient;

/// Both.
#[derive(Clone, Copy, Debug)]
pub struct ValueAndGradient;

impl<In: Family, Out: Family<At<Concrete>: Send + Sync>, First: Family> Wanted<In, Out, First> for Value {
    type Result = Out;
    fn of(function: Function<In, Out, First>) -> Result<Function<In, Out, First>> {
        Ok(function)
    }
}

impl<In: Family, Out: Family, First: Family<At<Concrete>: Send + Sync>> Wanted<In, Out, First> for Gradient {
    type Result = First;
    #[track_caller]
    fn of(function: Function<In, Out, First>) -> Result<Function<In, First, First>> {
        function.grad()
    }
}

impl<In: Family, Out: Family, First: Family> Wanted<In, Out, First> for ValueAndGradient
where
    (Out, First): Family<At<Concrete>: Send + Sync>,
{
    type Result = (Out, First);
    #[track_caller]
    fn of(function: Function<In, Out, First>) -> Result<Function<In, (Out, First), First>> {
        function.value_and_grad()
    }
}

/// The family of the first argument, with respect to which derivatives are taken.
type FirstOf<X> = <<X as Args<Concrete>>::First as Tree<Concrete>>::Family;
/// The family of the result of a program wanted of a function to trees `Y`.
type ResultOf<X, Y, W> = <W as Wanted<<X as Args<Concrete>>::Family, <Y as Tree<Staged>>::Family, FirstOf<X>>>::Result;

/// A program, and the arguments that it is for.
struct KeptProgram {
    first: TypeId,
    outline: Outline,
    types: Vec<Type>,
    /// A [`Compiled`].
    program: Arc<dyn Any + Send + Sync>,
}

/// A function that is staged and compiled when it is first called with arguments of some structure, element types and shapes:
/// see [`jit`].
pub struct Jit<F, T, Y, W = Value> {
    function: F,
    options: Cpu,
    /// In order of last use, the most recent one last.
    kept: Mutex<Vec<KeptProgram>>,
    types: PhantomData<fn(&T) -> (Y, W)>,
}

/// The function as one that is staged and compiled when it is first called with arguments of some structure, element types
/// and shapes; later calls with such arguments run the program. It is called by `&self`, from any thread.
///
/// The [`KEPT_PROGRAMS`] most recently used programs are kept. A program depends on the arguments' types only: plain Rust
/// values that the function captures, and fields marked `#[tree(skip)]`, are those of the call for which it was made.
///
/// [`Jit::grad`] and [`Jit::value_and_grad`] are such functions again; and a function that takes derivatives itself,
/// `jit(|x: &Vector<_, f64>| grad(f, x))`, is like any other. A closure states the type of its parameter, since there is no
/// argument yet from which it could be told. In a struct it is a [`JitFn`](crate::derivative::JitFn).
///
/// ```
/// use deltaray::prelude::*;
///
/// fn loss<A: Algebra>((w, x): &(Vector<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
///     x.dot(w).powi(2).sum()
/// }
/// # fn main() -> deltaray::Result<()> {
/// let loss = jit(loss).value_and_grad();
/// let w = Vector::from(vec![1.0, 2.0]);
/// for rows in [1, 2, 2] {
///     let (value, slope) = loss.call((&w, &ones((rows, 2))))?;
///     assert_eq!((value.item(), slope.to_vec()), (9.0 * rows as f64, vec![6.0 * rows as f64; 2]));
/// }
/// assert_eq!(loss.programs(), 2);
/// # Ok(())
/// # }
/// ```
pub fn jit<F, T, Y>(function: F) -> Jit<F, T, Y>
where
    T: Tree<Staged>,
    Y: Tree<Staged>,
    F: Fn(&T) -> Y,
{
    Jit { function, options: Cpu::default(), kept: Mutex::default(), types: PhantomData }
}

impl<F, T, Y, W> Jit<F, T, Y, W> {
    /// The same function, with programs that are compiled in this way from now on.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let square = jit(|x: &Vector<_, f64>| x.powi(2)).on(Cpu::default().threads(1));
    /// assert_eq!(square.call(&Vector::from(vec![3.0, 4.0]))?.to_vec(), [9.0, 16.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn on(self, options: Cpu) -> Jit<F, T, Y, W> {
        Jit { options, kept: Mutex::default(), ..self }
    }

    fn wanting<V>(self) -> Jit<F, T, Y, V> {
        Jit { function: self.function, options: self.options, kept: Mutex::default(), types: PhantomData }
    }

    /// The same with its function in a box, so that its type can be named: [`JitFn`](crate::derivative::JitFn).
    ///
    /// ```
    /// use deltaray::derivative::JitFn;
    /// use deltaray::prelude::*;
    ///
    /// type Measure = JitFn<fn(Vector<Concrete, f64>) -> Scalar<Concrete, f64>>;
    ///
    /// let sum = jit(|x: &Vector<_, f64>| x.abs().sum()).boxed();
    /// let measures: [Measure; 2] = [sum, jit(|x: &Vector<_, f64>| x.max_all()).boxed()];
    /// let x = Vector::from(vec![4.0, -3.0]);
    /// assert_eq!((measures[0].call(&x)?.item(), measures[1].call(&x)?.item()), (7.0, 4.0));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    #[allow(clippy::type_complexity)]
    pub fn boxed(self) -> Jit<Box<dyn Fn(&T) -> Y + Send + Sync>, T, Y, W>
    where
        F: Fn(&T) -> Y + Send + Sync + 'static,
    {
        let Jit { function, options, kept, types } = self;
        Jit { function: Box::new(function), options, kept, types }
    }

    /// The number of programs that are kept, [`KEPT_PROGRAMS`] at most: one for each combination of argument types.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let sum = jit(|x: &Vector<_, f64>| x.sum());
    /// for length in [2, 3, 3] {
    ///     sum.call(&ones(length))?;
    /// }
    /// assert_eq!(sum.programs(), 2);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn programs(&self) -> usize {
        self.kept().len()
    }

    /// Forgets all programs: the next call makes a new one.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let sum = jit(|x: &Vector<_, f64>| x.sum());
    /// sum.call(&ones(2))?;
    /// sum.clear();
    /// assert_eq!(sum.programs(), 0);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn clear(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, Vec<KeptProgram>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F, T, Y> Jit<F, T, Y> {
    /// The gradient with respect to the first argument, a tree like it, as such a function. Calls are errors where the function
    /// does not result in one float without axes.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let slope = jit(|x: &Vector<_, f64>| x.powi(2).sum()).grad();
    /// assert_eq!(slope.call(&Vector::from(vec![1.0, 2.0]))?.to_vec(), [2.0, 4.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn grad(self) -> Jit<F, T, Y, Gradient> {
        self.wanting()
    }

    /// The value, and its gradient with respect to the first argument, as such a function. Calls are errors where the function
    /// does not result in one float without axes.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let loss = jit(|x: &Vector<_, f64>| x.powi(2).sum()).value_and_grad();
    /// let (value, slope) = loss.call(&Vector::from(vec![1.0, 2.0]))?;
    /// assert_eq!((value.item(), slope.to_vec()), (5.0, vec![2.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn value_and_grad(self) -> Jit<F, T, Y, ValueAndGradient> {
        self.wanting()
    }
}

impl<F, T, Y, W> Jit<F, T, Y, W>
where
    T: Tree<Staged>,
    Y: Tree<Staged>,
    F: Fn(&T) -> Y,
{
    /// Runs the program for arguments of these types, and makes it first if it is not kept. The result is a tree as the
    /// function gives it, or, for a gradient, one like the first argument.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let product = jit(|(x, y): &(Vector<_, f64>, Vector<_, f64>)| (x * y).sum());
    /// assert_eq!(product.call((&ones(2), &ones(2)))?.item(), 2.0);
    /// assert_eq!(product.call((&ones(3), &ones(3)))?.item(), 3.0);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`stage`], [`Function::compile`] and [`Compiled::call`]; and for a gradient, when the function does not result in one
    /// float without axes. The next call retries after an error.
    #[track_caller]
    pub fn call<X>(&self, arguments: X) -> Result<<ResultOf<X, Y, W> as Family>::At<Concrete>>
    where
        X: Args<Concrete, Family = T::Family>,
        W: Wanted<T::Family, Y::Family, FirstOf<X>>,
    {
        self.compiled(&arguments)?.call(arguments)
    }

    /// As [`Jit::call`], into the arrays of `output`: see [`Compiled::call_into`].
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let square = jit(|x: &Vector<_, f64>| x.powi(2));
    /// let mut y = zeros(2);
    /// square.call_into(&Vector::from(vec![3.0, 4.0]), &mut y)?;
    /// assert_eq!(y.to_vec(), [9.0, 16.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Jit::call`] and [`Compiled::call_into`].
    #[track_caller]
    pub fn call_into<X>(&self, arguments: X, output: &mut <ResultOf<X, Y, W> as Family>::At<Concrete>) -> Result<()>
    where
        X: Args<Concrete, Family = T::Family>,
        W: Wanted<T::Family, Y::Family, FirstOf<X>>,
    {
        self.compiled(&arguments)?.call_into(arguments, output)
    }

    /// The program for arguments of these types, which is made if there is none: to update arrays in place by
    /// [`Compiled::update`], or to look at.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let halve = jit(|x: &Vector<_, f64>| x * 0.5);
    /// let mut x = Vector::from(vec![4.0, 8.0]);
    /// let program = halve.compiled(&&x)?;
    /// program.update(&mut x, ())?;
    /// program.update(&mut x, ())?;
    /// assert_eq!(x.to_vec(), [1.0, 2.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Jit::call`].
    #[track_caller]
    #[allow(clippy::type_complexity)]
    pub fn compiled<X>(&self, arguments: &X) -> Result<Arc<Compiled<T::Family, ResultOf<X, Y, W>>>>
    where
        X: Args<Concrete, Family = T::Family>,
        W: Wanted<T::Family, Y::Family, FirstOf<X>>,
    {
        let mut outline = Outline::default();
        arguments.outline(&mut outline);
        let (first, types) = (TypeId::of::<FirstOf<X>>(), arguments.types());
        let found = |kept: &mut Vec<KeptProgram>| found::<T::Family, ResultOf<X, Y, W>>(kept, first, &outline, &types);
        if let Some(program) = found(&mut self.kept()) {
            return Ok(program);
        }
        // Others may call meanwhile, and a panic of the function holds nothing up.
        let program = Arc::new(W::of(stage(&self.function, Like(arguments))?)?.compile(self.options.clone())?);
        let mut kept = self.kept();
        if let Some(program) = found(&mut kept) {
            return Ok(program);
        }
        if kept.len() >= KEPT_PROGRAMS {
            kept.remove(0);
        }
        kept.push(KeptProgram { first, outline, types, program: program.clone() });
        Ok(program)
    }
}

/// A program that is kept, which becomes the one that was used last.
fn found<In: Family, Out: Family<At<Concrete>: Send + Sync>>(
    kept: &mut Vec<KeptProgram>,
    first: TypeId,
    outline: &Outline,
    types: &[Type],
) -> Option<Arc<Compiled<In, Out>>> {
    let at = kept.iter().rposition(|kept| kept.first == first && kept.types == types && kept.outline == *outline)?;
    let found = kept.remove(at);
    let program = found.program.clone().downcast().ok();
    kept.push(found);
    program
}

/// Arguments by reference.
struct Like<'a, X>(&'a X);

impl<X: Args<Concrete>> Args<Concrete> for Like<'_, X> {
    type Family = X::Family;
    type First = X::First;
    fn first(&self) -> &X::First {
        self.0.first()
    }
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a crate::array::Array)) {
        self.0.visit(visitor);
    }
    fn outline(&self, outline: &mut Outline) {
        self.0.outline(outline);
    }
    fn rebuild<B: crate::algebra::Algebra>(
        &self,
        leaves: &mut dyn Iterator<Item = B::Array>,
    ) -> <Self::Family as Family>::At<B> {
        self.0.rebuild::<B>(leaves)
    }
}

impl<F, T, Y, W> fmt::Debug for Jit<F, T, Y, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jit")
            .field("options", &self.options)
            .field("programs", &self.programs())
            .finish_non_exhaustive()
    }
}
