//! Compiled functions on a device, and trees of arrays that are there.

use super::arguments::{argument_place, check_structure};
use super::compiled::Compiled;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::opencl::{DeviceArray, OpenCl};
use crate::error::{Error, Result};
use crate::tensor::{Family, Outline, Tree};
use std::fmt;
use std::sync::Arc;

/// A tree of arrays in a device's memory: the result of a program there, or its argument.
///
/// Clones are handles on the same elements, which nothing changes.
pub struct OnDevice<F: Family> {
    arrays: Vec<DeviceArray>,
    like: Arc<F::At<Concrete>>,
}

impl<F: Family> Clone for OnDevice<F> {
    fn clone(&self) -> Self {
        OnDevice { arrays: self.arrays.clone(), like: self.like.clone() }
    }
}

/// The types of the arrays, and where they are.
impl<F: Family> fmt::Debug for OnDevice<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types = self.arrays.iter().map(|array| array.ty().to_string());
        f.debug_list().entries(types).finish()
    }
}

impl<F: Family> OnDevice<F> {
    /// The arrays, in the order of the tree.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]))?;
    /// assert_eq!(x.arrays()[0].ty().to_string(), "f64[2]");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn arrays(&self) -> &[DeviceArray] {
        &self.arrays
    }

    /// Waits until the tree's arrays are there: until they are uploaded, or until the run is done that results in them.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]))?;
    /// let squares = square.call_on_device(&x)?;
    /// squares.wait()?;
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the driver says that something of it was not.
    #[track_caller]
    pub fn wait(&self) -> Result<()> {
        for array in &self.arrays {
            array.wait()?;
        }
        Ok(())
    }

    /// The tree on the host. Waits for the computation of its arrays, but not for later launches. Transfers of all arrays are
    /// started before the first is waited for.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]))?;
    /// assert_eq!(square.call_on_device(&x)?.download()?.to_vec(), [9.0, 16.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the driver does not bring the elements, or the host has no memory for them.
    #[track_caller]
    pub fn download(&self) -> Result<F::At<Concrete>> {
        let arrays = DeviceArray::download_all(&self.arrays)?;
        Ok(F::rebuild::<Concrete, Concrete>(&self.like, &mut arrays.into_iter()))
    }
}

/// Arguments on a device: a reference to one tree, or a tuple of references.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a program with arguments of family `{In}` takes on a device",
    label = "trees on a device, as `upload` makes them",
    note = "of one argument `program.call_on_device(&x)`, of several `program.call_on_device((&x, &y))`, each from \
            `program.upload(&..)?`; arrays of the host are arguments of `call`"
)]
pub trait DeviceArguments<In: Family> {
    /// The arrays, in their order.
    fn arrays(&self) -> Vec<DeviceArray>;

    /// Appends the outline of all arguments.
    fn outline(&self, outline: &mut Outline);
}

impl<In: Family> DeviceArguments<In> for &OnDevice<In> {
    fn arrays(&self) -> Vec<DeviceArray> {
        self.arrays.clone()
    }

    fn outline(&self, outline: &mut Outline) {
        self.like.outline(outline);
    }
}

/// Arguments on a device after a first one of family `First`: `()`, a reference to one tree, or a tuple of references. See
/// [`Compiled::update`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what follows a program's state on a device",
    label = "trees on a device, as `upload` makes them",
    note = "of one argument `program.update(&mut state, &x)`, of several `program.update(&mut state, (&x, &y))`, each from \
            `program.upload(&..)?`, and of none `program.update(&mut state, ())`"
)]
pub trait DeviceRest<First: Family> {
    /// The structure of all arguments.
    type All: Family;

    /// The arrays, in their order.
    fn arrays(&self) -> Vec<DeviceArray>;

    /// Appends the outline of all arguments; `first` appends the outline of the first one.
    fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline);
}

impl<First: Family> DeviceRest<First> for () {
    type All = First;
    fn arrays(&self) -> Vec<DeviceArray> {
        Vec::new()
    }

    fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline) {
        first(outline);
    }
}

impl<First: Family, A: Family> DeviceRest<First> for &OnDevice<A>
where
    (First, A): Family,
{
    type All = (First, A);
    fn arrays(&self) -> Vec<DeviceArray> {
        self.arrays.clone()
    }

    fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline) {
        outline.part(0, first);
        outline.part(1, |outline| self.like.outline(outline));
    }
}

macro_rules! tuples {
    ($(($($family:ident $position:tt),+)),+) => {$(
        impl<$($family: Family),+> DeviceArguments<($($family,)+)> for ($(&OnDevice<$family>,)+)
        where
            ($($family,)+): Family,
        {
            fn arrays(&self) -> Vec<DeviceArray> {
                [$(&self.$position.arrays[..]),+].concat()
            }

            fn outline(&self, outline: &mut Outline) {
                $(outline.part($position, |outline| self.$position.like.outline(outline));)+
            }
        }

        // Where there are no tuples of one more, this is for none.
        impl<First: Family, $($family: Family),+> DeviceRest<First> for ($(&OnDevice<$family>,)+)
        where
            (First, $($family,)+): Family,
        {
            type All = (First, $($family,)+);
            fn arrays(&self) -> Vec<DeviceArray> {
                [$(&self.$position.arrays[..]),+].concat()
            }

            fn outline(&self, first: &dyn Fn(&mut Outline), outline: &mut Outline) {
                outline.part(0, first);
                $(outline.part(1 + $position, |outline| self.$position.like.outline(outline));)+
            }
        }
    )+};
}

tuples!(
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
);

impl<In: Family, Out: Family> Compiled<In, Out, OpenCl> {
    /// Runs the program on arguments whose outline that writes; errors say where in them an array of another type is.
    #[track_caller]
    fn run_checked(&self, arguments: &[DeviceArray], write: impl FnOnce(&mut Outline)) -> Result<Vec<DeviceArray>> {
        check_structure(&self.outline, write)?;
        self.run(arguments)
    }

    /// The same of arguments whose structure is known to be right.
    #[track_caller]
    fn run(&self, arguments: &[DeviceArray]) -> Result<Vec<DeviceArray>> {
        self.program.run(arguments).map_err(|error| match error {
            Error::Argument { position, expected, found, place, .. } if position < self.body.parameters => {
                let (position, path) = argument_place(&self.outline, &self.names, position);
                Error::Argument { position, path, expected, found, place }
            }
            error => error,
        })
    }

    /// Runs the program on trees on its device, where the result stays.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]))?;
    /// let twice = square.call_on_device(&square.call_on_device(&x)?)?;
    /// assert_eq!(twice.download()?.to_vec(), [81.0, 256.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the arguments have another structure, or an array another element type or shape, than the function was staged for
    /// or is on another device, and when there is no memory.
    #[track_caller]
    pub fn call_on_device<X: DeviceArguments<In>>(&self, arguments: X) -> Result<OnDevice<Out>> {
        Ok(self.results(self.run_checked(&arguments.arrays(), |outline| arguments.outline(outline))?))
    }

    /// Runs a program that takes the state and `rest` and results in the next state, and replaces `state` by it. Derivatives
    /// and training steps are such programs: `parameters = step(parameters, batch)`.
    ///
    /// Nothing leaves the device. The memory of the old state, if nobody else holds it, is where later results are: after the
    /// second step none is asked of the device any more.
    ///
    /// `rest` is `()`, a reference to one tree on the device, or a tuple of references. See
    /// [`Compiled::update_with`] for programs with other results, a loss for instance.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// fn step<A: Algebra>((w, x): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
    ///     w - 0.25 * grad(|w: &Vector<_, f64>| (w - x.lift()).powi(2).sum(), w)
    /// }
    /// # fn main() -> deltaray::Result<()> {
    /// let (w, x) = (Vector::from(vec![0.0, 16.0]), Vector::from(vec![8.0, 8.0]));
    /// let program = stage(step, (&w, &x))?.compile(OpenCl::default())?;
    /// let (mut w, x) = (program.upload(&w)?, program.upload(&x)?);
    /// for _ in 0..3 {
    ///     program.update(&mut w, &x)?;
    /// }
    /// assert_eq!(w.download()?.to_vec(), [7.0, 9.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Compiled::call_on_device`]; the state is as it was then.
    #[track_caller]
    pub fn update<R: DeviceRest<Out, All = In>>(&self, state: &mut OnDevice<Out>, rest: R) -> Result<()> {
        *state = self.results(self.run_after(state, rest)?);
        Ok(())
    }

    /// Runs the program on a state and the arguments after it.
    #[track_caller]
    fn run_after<S: Family, R: DeviceRest<S>>(&self, state: &OnDevice<S>, rest: R) -> Result<Vec<DeviceArray>> {
        let first = |outline: &mut Outline| state.like.outline(outline);
        let arguments = [&state.arrays[..], &rest.arrays()].concat();
        self.run_checked(&arguments, |outline| rest.outline(&first, outline))
    }

    fn results(&self, arrays: Vec<DeviceArray>) -> OnDevice<Out> {
        OnDevice { arrays, like: self.output.clone() }
    }

    /// Writes a tree to the device's memory: an argument of [`Compiled::call_on_device`] and the like.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]))?;
    /// assert_eq!(x.download()?.to_vec(), [3.0, 4.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    #[track_caller]
    pub fn upload<T: Tree<Concrete>>(&self, tree: &T) -> Result<OnDevice<T::Family>> {
        let mut arrays = Vec::new();
        for array in tree.leaves() {
            arrays.push(self.program.upload(&array)?);
        }
        // The structure alone is kept: the elements are on the device.
        let mut empty = arrays.iter().map(|array| Array::zeros(array.ty()));
        let like = T::Family::rebuild::<Concrete, Concrete>(tree, &mut empty);
        Ok(OnDevice { arrays, like: Arc::new(like) })
    }
}

impl<In: Family, State: Family, Others: Family> Compiled<In, (State, Others), OpenCl> {
    /// As [`Compiled::update`], for a program with other results in addition to the next state, which stay on the
    /// device too.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let step = stage(|x: &Vector<_, f64>| (x * 0.5, x.sum()), &zeros(2))?.compile(OpenCl::default())?;
    /// let mut x = step.upload(&Vector::from(vec![4.0, 8.0]))?;
    /// let sum = step.update_with(&mut x, ())?;
    /// assert_eq!((x.download()?.to_vec(), sum.download()?.item()), (vec![2.0, 4.0], 12.0));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Compiled::update`].
    #[track_caller]
    pub fn update_with<R: DeviceRest<State, All = In>>(
        &self,
        state: &mut OnDevice<State>,
        rest: R,
    ) -> Result<OnDevice<Others>> {
        let mut arrays = self.run_after(state, rest)?;
        let others = arrays.split_off(arrays.len() - self.output.1.types().len());
        let like = |arrays: &[DeviceArray]| arrays.iter().map(|array| Array::zeros(array.ty())).collect::<Vec<_>>();
        let first = State::rebuild::<Concrete, Concrete>(&self.output.0, &mut like(&arrays).into_iter());
        let second = Others::rebuild::<Concrete, Concrete>(&self.output.1, &mut like(&others).into_iter());
        *state = OnDevice { arrays, like: Arc::new(first) };
        Ok(OnDevice { arrays: others, like: Arc::new(second) })
    }
}
