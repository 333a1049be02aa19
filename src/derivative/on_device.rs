//! Staged functions compiled for a device.

use super::staged::checked_arguments;
use crate::concrete::Concrete;
use crate::engine::Engine;
use crate::engine::opencl::{DeviceArray, OpenCl, Program};
use crate::error::Result;
use crate::simplify::fold_constants;
use crate::tensor::{Args, Family, Outline, Tree};
use crate::term::Body;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A staged function as kernels on a device: from a tree of family `In` to one of family `Out`.
///
/// Calling it takes `&self`, from any thread.
pub struct CompiledForDevice<In: Family, Out: Family> {
    program: Program,
    body: Arc<Body>,
    output: Arc<Out::At<Concrete>>,
    outline: Outline,
    input: PhantomData<fn(In)>,
}

/// A tree of arrays in a device's memory: what a program results in there, and takes.
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
    pub fn arrays(&self) -> &[DeviceArray] {
        &self.arrays
    }

    /// The tree on the host, once all that was launched before is done.
    ///
    /// # Errors
    ///
    /// When the driver does not bring the elements, or the host has no memory for them.
    #[track_caller]
    pub fn download(&self) -> Result<F::At<Concrete>> {
        let mut arrays = Vec::with_capacity(self.arrays.len());
        for array in &self.arrays {
            arrays.push(array.download()?);
        }
        Ok(F::rebuild::<Concrete, Concrete>(&self.like, &mut arrays.into_iter()))
    }
}

/// Arguments on a device: a reference to one tree, or a tuple of references.
pub trait DeviceArguments<In: Family> {
    /// The arrays, in their order.
    fn arrays(&self) -> Vec<DeviceArray>;
}

impl<In: Family> DeviceArguments<In> for &OnDevice<In> {
    fn arrays(&self) -> Vec<DeviceArray> {
        self.arrays.clone()
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

impl Engine for OpenCl {
    type Compiled<In: Family, Out: Family> = CompiledForDevice<In, Out>;

    #[track_caller]
    fn compile<In: Family, Out: Family>(
        self,
        body: Arc<Body>,
        output: Out::At<Concrete>,
        outline: Outline,
    ) -> Result<CompiledForDevice<In, Out>> {
        let program = Program::new(&fold_constants(&body), &self)?;
        Ok(CompiledForDevice { program, body, output: Arc::new(output), outline, input: PhantomData })
    }
}

impl<In: Family, Out: Family> CompiledForDevice<In, Out> {
    /// Runs the program on arrays of the host's: uploads them, and downloads the results.
    ///
    /// # Errors
    ///
    /// When the arguments have another structure, or an array another element type or shape, than the function was staged
    /// for, and when the device has no memory.
    #[track_caller]
    pub fn call<X: Args<Concrete, Family = In>>(&self, arguments: X) -> Result<Out::At<Concrete>> {
        let arguments = checked_arguments(arguments, &self.outline, &self.body)?;
        let mut given = Vec::with_capacity(arguments.len());
        for argument in &arguments {
            given.push(self.program.upload(argument)?);
        }
        self.results(self.program.run(&given)?).download()
    }

    /// Runs the program on trees on its device, where the result stays.
    ///
    /// # Errors
    ///
    /// When an array has another element type or shape than the function was staged for or is on another device, and when
    /// there is no memory.
    #[track_caller]
    pub fn call_on_device<X: DeviceArguments<In>>(&self, arguments: X) -> Result<OnDevice<Out>> {
        Ok(self.results(self.program.run(&arguments.arrays())?))
    }

    fn results(&self, arrays: Vec<DeviceArray>) -> OnDevice<Out> {
        OnDevice { arrays, like: self.output.clone() }
    }

    /// Has a tree written to the device's memory.
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
        let like = crate::tensor::duplicate(tree);
        Ok(OnDevice { arrays, like: Arc::new(like) })
    }

    /// The kernels.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

impl<In: Family, Out: Family> fmt::Display for CompiledForDevice<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.program, f)
    }
}

/// The kernels, as they are displayed.
impl<In: Family, Out: Family> fmt::Debug for CompiledForDevice<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
