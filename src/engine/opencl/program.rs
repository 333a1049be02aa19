//! Bulk programs as kernels on a device, and arrays that are there.

use super::OpenCl;
use super::code::Code;
use super::devices::Device;
use super::failure::{Outcome, Problem};
use super::kernels::Writer;
use super::launch::{Kernels, Launcher};
use super::memory::Place;
use super::shared::Shared;
use super::space::Space;
use crate::concrete::Array;
use crate::error::{Error, Result};
use crate::kernel::{Procedure, lower_unblocked};
use crate::shape::{DType, Type};
use crate::term::Body;
use crate::vectorise::push_gathers;
use ocl::core;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// An array in a device's memory.
///
/// Clones are handles on the same elements, which nothing changes.
#[derive(Clone, Debug)]
pub struct DeviceArray {
    ty: Type,
    place: Place,
    shared: Arc<Shared>,
}

impl DeviceArray {
    /// Element type and shape.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// The elements, once all that was launched before is done.
    ///
    /// # Errors
    ///
    /// When the driver does not bring them, or the host has no memory for them.
    #[track_caller]
    pub fn download(&self) -> Result<Array> {
        let place = Location::caller();
        let name = self.shared.device.to_string();
        self.shared.download(&self.ty, &self.place).map_err(|problem| problem.error(&name, "download", Some(place)))
    }
}

/// A bulk program, compiled for a device.
#[derive(Debug)]
pub struct Program {
    shared: Arc<Shared>,
    code: Code,
    kernels: Kernels,
    source: Arc<str>,
    result_types: Vec<Type>,
    /// The memory of a run. One program runs once at a time: its kernels hold their operands.
    space: Mutex<Option<Space>>,
}

/// Whether a procedure, or one inside of it, computes with `f64`.
fn has_doubles(procedure: &Procedure) -> bool {
    let is_double = |step: &crate::kernel::Step| match step {
        crate::kernel::Step::Nest(nest) => nest.values.iter().any(|(_, dtype)| *dtype == DType::F64),
        step => step.inner().iter().any(|inner| has_doubles(inner)),
    };
    procedure.buffers.iter().any(|buffer| buffer.ty.dtype == DType::F64) || procedure.steps.iter().any(is_double)
}

impl Program {
    /// Compiles a program.
    ///
    /// # Errors
    ///
    /// When there is no such device; it has no `f64`, which the program computes with; or the driver does not compile the
    /// kernels.
    #[track_caller]
    pub fn new(body: &Body, options: &OpenCl) -> Result<Program> {
        let mut all = Program::all([body], options)?;
        Ok(all.remove(0))
    }

    /// Compiles programs whose kernels are in one source, which is built once: a build takes most of a program's time to be
    /// made.
    ///
    /// # Errors
    ///
    /// As [`Program::new`].
    #[track_caller]
    pub fn all<'b>(bodies: impl IntoIterator<Item = &'b Body>, options: &OpenCl) -> Result<Vec<Program>> {
        let place = Location::caller();
        let device = options.chosen().map_err(|problem| problem.error("OpenCL", "compile", Some(place)))?;
        let name = device.to_string();
        let compiled = Program::compiled(bodies.into_iter(), &device, options);
        compiled.map_err(|problem| problem.error(&name, "compile", Some(place)))
    }

    fn compiled<'b>(
        bodies: impl Iterator<Item = &'b Body>,
        device: &Device,
        options: &OpenCl,
    ) -> Outcome<Vec<Program>> {
        let shared = Shared::of(device)?;
        let mut writer = Writer::new(options.limits(device), options.products.clone());
        let (mut doubles, mut codes) = (false, Vec::new());
        for body in bodies {
            let procedure = lower_unblocked(&push_gathers(body));
            doubles |= has_doubles(&procedure);
            let first = writer.kernels();
            let code = writer.procedure(procedure)?;
            codes.push((code, first..writer.kernels(), body.result_types().cloned().collect()));
        }
        if doubles && !device.has_doubles {
            let text = "it has no f64 (cl_khr_fp64), and the program computes with it: stage it for arrays of f32";
            return Err(Problem::Unsupported(text.into()));
        }
        let (source, names) = writer.finish(doubles);
        let source: Arc<str> = source.into();
        let built = if names.is_empty() { None } else { Some(shared.build(&source)?) };
        let program = |(code, own, result_types): (Code, Range<usize>, Vec<Type>)| {
            // A program has kernels of its own, since these hold their operands.
            let kernel = |name: &String| built.as_ref().map(|program| core::create_kernel(program, name)).transpose();
            let kernels = names[own.clone()].iter().map(kernel).collect::<std::result::Result<Option<_>, _>>()?;
            let kernels = Kernels { first: own.start, all: kernels.unwrap_or_default() };
            let (shared, source, space) = (shared.clone(), source.clone(), Mutex::default());
            Ok(Program { shared, code, kernels, source, result_types, space })
        };
        codes.into_iter().map(program).collect()
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// The kernels, in OpenCL C.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of kernels, those of loops and of both sides of conditionals counted once.
    pub fn kernels(&self) -> usize {
        self.kernels.all.len()
    }

    /// Has an array written to the device's memory.
    ///
    /// # Errors
    ///
    /// When there is no memory for it.
    #[track_caller]
    pub fn upload(&self, array: &Array) -> Result<DeviceArray> {
        let place = Location::caller();
        self.uploaded(array).map_err(|problem| self.error(problem, "upload", place))
    }

    fn uploaded(&self, array: &Array) -> Outcome<DeviceArray> {
        let (ty, shared) = (array.ty(), self.shared.clone());
        let place = shared.memory(ty.dtype, ty.size())?;
        shared.upload(array, &place)?;
        Ok(DeviceArray { ty, place, shared })
    }

    fn error(&self, problem: Problem, operation: &str, place: &Location<'_>) -> Error {
        problem.error(&self.shared.device.to_string(), operation, Some(place))
    }

    /// Runs the program on arrays of its parameters' types that are on its device, where the results stay. Nothing is waited
    /// for but what conditions of loops and branches result in.
    ///
    /// # Errors
    ///
    /// When an argument is of another type or on another device, and when there is no memory.
    #[track_caller]
    pub fn run(&self, arguments: &[DeviceArray]) -> Result<Vec<DeviceArray>> {
        let place = Location::caller();
        let expected = &self.code.procedure.buffers[..self.code.procedure.parameters];
        for position in 0..expected.len().max(arguments.len()) {
            let (wanted, found) = (expected.get(position), arguments.get(position));
            if wanted.map(|buffer| &buffer.ty) != found.map(DeviceArray::ty) {
                let text = |ty: Option<&Type>| ty.map_or_else(|| "nothing".to_string(), Type::to_string);
                let (expected, found) = (text(wanted.map(|buffer| &buffer.ty)), text(found.map(DeviceArray::ty)));
                return Err(Error::Argument {
                    position,
                    path: String::new(),
                    expected,
                    found,
                    place: place.to_string(),
                });
            }
        }
        if let Some(other) = arguments.iter().find(|array| array.device() != self.device()) {
            let text = format!("an argument is on another device, {}: download it, and upload it here", other.device());
            return Err(self.error(Problem::Unsupported(text), "call", place));
        }
        self.launched(arguments).map_err(|problem| self.error(problem, "call", place))
    }

    fn launched(&self, arguments: &[DeviceArray]) -> Outcome<Vec<DeviceArray>> {
        let shared = &self.shared;
        let result = |ty: &Type| {
            let place = shared.memory(ty.dtype, ty.size())?;
            Ok(DeviceArray { ty: ty.clone(), place, shared: shared.clone() })
        };
        let results = self.result_types.iter().map(result).collect::<Outcome<Vec<DeviceArray>>>()?;
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        let space = match &mut *space {
            Some(space) => space,
            empty => empty.insert(Space::new(shared, &self.code)?),
        };
        let places = |arrays: &[DeviceArray]| arrays.iter().map(|array| array.place.clone()).collect::<Vec<Place>>();
        let launcher = Launcher { shared, kernels: &self.kernels };
        launcher.run(&self.code, space, &places(arguments), &places(&results))?;
        core::flush(&shared.queue)?;
        Ok(results)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}
