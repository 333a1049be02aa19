//! Bulk programs as kernels on a device, and arrays that are there.

use super::OpenCl;
use super::array::DeviceArray;
use super::code::DeviceCode;
use super::counters::Transfers;
use super::devices::Device;
use super::driver::DeviceKernel;
use super::failure::{DeviceProblem, DeviceResult};
use super::launch::{GroupTooLarge, Kernels};
use super::measured;
use super::memory::{DevicePointer, DeviceShare, DeviceView, Queues, bytes};
use super::report::{self, Reporter};
use super::running::{Launcher, Views};
use super::space::DeviceSpace;
use super::tuning::{ProductKernel, ProductOptions};
use super::written::{DeviceSource, Named};
use crate::array::Array;
use crate::engine::arguments::{Mismatch, mismatch};
use crate::engine::{Engine, Report};
use crate::error::{Error, Result};
use crate::kernel::{Procedure, lower_in_place_unblocked};
use crate::prepare::prepared;
use crate::shape::Type;
use crate::simplify::TableLimits;
use crate::term::{self, Body};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// A bulk program, compiled for a device.
#[derive(Debug)]
pub struct Program {
    shared: Arc<DeviceShare>,
    code: DeviceCode,
    kernels: Kernels,
    source: Arc<str>,
    result_types: Vec<Type>,
    /// The memory of a run. One program runs once at a time: its kernels hold their operands.
    space: Mutex<Option<DeviceSpace>>,
    /// Where it runs instead, if it is measured.
    timed: Option<DeviceShare>,
}

impl Program {
    /// Compiles a bulk program.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let program = Program::new(stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = program.upload(&Vector::from(vec![1.0, 1.0]).into_array())?;
    /// assert_eq!(program.run(&[x])?[0].download()?.to_vec::<f64>(), Some(vec![2.0, 2.0]));
    /// assert_eq!((program.kernels(), program.transfers().uploads, program.transfers().downloads), (1, 1, 1));
    /// println!("{}: {} bytes, {} allocations", program.device(), program.memory(), program.allocations());
    /// println!("{}\n{}", program.report(), program.source());
    /// # Ok::<(), deltaray::Error>(())
    /// ```
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

    /// As [`Program::new`], of a program with names, which stand in comments of the source.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let double = stage(|x: &Vector<_, f64>| x * 2.0, &zeros(2))?;
    /// println!("{}", Program::named(&(&double).into(), &OpenCl::default())?.source());
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Program::new`].
    #[track_caller]
    pub fn named(program: &term::Program, options: &OpenCl) -> Result<Program> {
        let mut all = Program::at([Named::from(program)].into_iter(), options, Location::caller())?;
        Ok(all.remove(0))
    }

    /// Compiles programs whose kernels are in one source, which is built once: a build takes most of a program's time to be
    /// made. The programs are in the order of the bodies.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let f = stage(|x: &Vector<_, f64>| x.powi(2).sum(), &zeros(2))?;
    /// let programs = Program::all([f.program(), f.grad()?.program()], &OpenCl::default())?;
    /// assert_eq!(programs.len(), 2);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Program::new`].
    #[track_caller]
    pub fn all<'b>(bodies: impl IntoIterator<Item = &'b Body>, options: &OpenCl) -> Result<Vec<Program>> {
        Program::at(bodies.into_iter().map(Named::from), options, Location::caller())
    }

    fn at<'b>(
        programs: impl Iterator<Item = Named<'b>>,
        options: &OpenCl,
        place: &Location<'_>,
    ) -> Result<Vec<Program>> {
        let lowered = |named: Named<'b>| match prepared(named.body, TableLimits::MEMORY, lower_in_place_unblocked) {
            Ok(procedure) => Ok((procedure, Some(named))),
            Err(problem) => Err(Error::IllFormed { problem, place: place.to_string() }),
        };
        let procedures = programs.map(lowered).collect::<Result<Vec<_>>>()?;
        let device = options.chosen().map_err(|problem| problem.error("OpenCL", "compile", Some(place)))?;
        let name = device.to_string();
        let compiled = Program::compiled(procedures, &device, options);
        compiled.map_err(|problem| problem.error(&name, "compile", Some(place)))
    }

    fn compiled(
        procedures: Vec<(Procedure, Option<Named<'_>>)>,
        device: &Device,
        options: &OpenCl,
    ) -> DeviceResult<Vec<Program>> {
        let mut products = options.products.clone();
        if products.is_measured {
            let seconds = |procedure: &Procedure, kernel| seconds(procedure, kernel, device, options);
            let procedures = procedures.iter().map(|(procedure, _)| procedure);
            products.measured = measured::kernels(procedures, device, options, seconds)?;
        }
        Program::of(procedures, device, options, products)
    }

    /// A program of a procedure.
    pub(super) fn of_procedure(
        procedure: Procedure,
        device: &Device,
        options: &OpenCl,
        products: ProductOptions,
    ) -> DeviceResult<Program> {
        let mut all = Program::of(vec![(procedure, None)], device, options, products)?;
        Ok(all.remove(0))
    }

    /// Programs of procedures, with the users' names. If a kernel needs more registers than the items of a group have, all are
    /// written again for smaller groups.
    fn of(
        procedures: Vec<(Procedure, Option<Named<'_>>)>,
        device: &Device,
        options: &OpenCl,
        products: ProductOptions,
    ) -> DeviceResult<Vec<Program>> {
        let mut limits = options.limits(device);
        let mut refused: Option<DeviceProblem> = None;
        loop {
            let written = DeviceSource::new(&procedures, limits, &products, device);
            let written = match (written, refused) {
                // If the program can't be written for smaller groups, report the problem with larger ones.
                (Err(_), Some(problem)) => return Err(problem),
                (written, _) => written?,
            };
            match Program::built(written, device, options)? {
                Ok(programs) => return Ok(programs),
                Err(large) => {
                    let Some(group) = large.smaller(limits.group) else { return Err(large.problem) };
                    (limits.group, refused) = (group, Some(large.problem));
                }
            }
        }
    }

    /// The programs that are written, if the device has registers for their groups.
    fn built(
        written: DeviceSource,
        device: &Device,
        options: &OpenCl,
    ) -> DeviceResult<std::result::Result<Vec<Program>, GroupTooLarge>> {
        let DeviceSource { codes, source, names } = written;
        let shared = DeviceShare::of(device)?;
        let built = if names.is_empty() { None } else { Some(shared.build(&source, options.cache().as_ref())?) };
        let mut programs = Vec::new();
        for (code, own, result_types) in codes {
            // A program has kernels of its own, since these hold their operands.
            let (first, names) = (own.start, names[own].to_vec());
            let kernel = |name: &String| built.as_ref().map(|program| DeviceKernel::new(program, name)).transpose();
            let all = names.iter().map(kernel).collect::<DeviceResult<Option<_>>>()?.unwrap_or_default();
            let (kernels, shared) = (Kernels { first, all: Mutex::new(all), names }, DeviceShare::of(device)?);
            if let Some(large) = kernels.check(&code, device)? {
                return Ok(Err(large));
            }
            let timed = options.profile.then(|| shared.timed()).transpose()?;
            let (source, space) = (source.clone(), Mutex::default());
            programs.push(Program { shared, code, kernels, source, result_types, space, timed });
        }
        Ok(Ok(programs))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// The kernels, in OpenCL C.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of kernels; kernels of loops and of both sides of conditionals count once.
    pub fn kernels(&self) -> usize {
        self.kernels.names.len()
    }

    /// The transfers between the host and the device for this program, and for the arrays that it made.
    pub fn transfers(&self) -> Transfers {
        self.shared.counters.transfers()
    }

    /// How often the program has asked the device for memory: for its own, for results, and for uploaded arrays. Memory that
    /// nobody holds any more is reused, so warm runs ask for none; but uploads ask for up to twice the memory rather than wait
    /// for runs that still use theirs.
    pub fn allocations(&self) -> u64 {
        self.shared.counters.allocations.load(Ordering::Relaxed)
    }

    /// The program's share of its device.
    #[cfg(test)]
    pub(super) fn shared(&self) -> &DeviceShare {
        &self.shared
    }

    /// How often kernels were told of an argument.
    #[cfg(test)]
    pub(super) fn told(&self) -> u64 {
        self.shared.counters.told.load(Ordering::Relaxed)
    }

    /// How often a kernel was launched.
    #[cfg(test)]
    pub(super) fn launches(&self) -> u64 {
        self.shared.counters.launches.load(Ordering::Relaxed)
    }

    /// Bytes that runs have copied from one place on the device to another.
    #[cfg(test)]
    pub(super) fn copied(&self) -> u64 {
        self.shared.counters.copied.load(Ordering::Relaxed)
    }

    /// Bytes of the device's memory that all programs have.
    #[cfg(test)]
    pub(super) fn taken(&self) -> u64 {
        self.shared.common.taken.load(Ordering::Relaxed)
    }

    /// Bytes of memory that a run takes in addition to its arguments and results, and to the values that loops keep of their
    /// steps and of those that they run ahead.
    pub fn memory(&self) -> usize {
        usize::try_from(report::memory(&self.code)).unwrap_or(usize::MAX)
    }

    /// The kernels, what they compute and move, and the time that they took where it was measured. All launches for one step of
    /// the program are one entry, with the names of the source.
    pub fn report(&self) -> Report {
        let times = self.timed.as_ref().and_then(|timed| timed.times.as_ref());
        let times = times.map(|times| times.lock().unwrap_or_else(PoisonError::into_inner));
        let seconds = |kernel: usize| {
            let times = times.as_ref().filter(|times| times.calls > 0)?;
            Some(times.seconds.get(&kernel).copied().unwrap_or(0.0) / times.calls as f64)
        };
        let kernels = Reporter { kernels: &self.kernels, seconds: &seconds }.kernels(&self.code, 1.0);
        let bytes = |ty: &Type| ty.bytes().unwrap_or(usize::MAX);
        let interface = self.argument_types().chain(&self.result_types).map(bytes).fold(0, usize::saturating_add);
        Report { kernels, memory: self.memory(), interface }
    }

    /// Starts writing an array to the device's memory. This does not wait for the transfer: later launches do.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let square = Program::new(stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]).into_array())?;
    /// assert_eq!(x.download()?.to_vec::<f64>(), Some(vec![3.0, 4.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no memory for it, and when an array that was uploaded earlier did not arrive.
    #[track_caller]
    pub fn upload(&self, array: &Array) -> Result<DeviceArray> {
        let place = Location::caller();
        self.uploaded(array).map_err(|problem| self.error(problem, "upload", place))
    }

    pub(super) fn uploaded(&self, array: &Array) -> DeviceResult<DeviceArray> {
        let (ty, shared) = (array.ty(), self.shared.clone());
        let _turn = shared.common.turns.read().unwrap_or_else(PoisonError::into_inner);
        let place = shared.memory_for_upload(ty.dtype, ty.size())?;
        shared.upload(array, &place)?;
        Ok(DeviceArray { ty, place, shared: self.shared.clone() })
    }

    /// The types of the parameters.
    fn argument_types(&self) -> impl Iterator<Item = &Type> {
        self.code.procedure.buffers[..self.code.procedure.parameters].iter().map(|buffer| &buffer.ty)
    }

    fn error(&self, problem: DeviceProblem, operation: &str, place: &Location<'_>) -> Error {
        problem.error(&self.shared.device.to_string(), operation, Some(place))
    }

    /// Runs the program on arrays of its parameters' types that are on its device, where the results stay. It only waits for
    /// the results of conditions of loops and branches.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, Program};
    /// use deltaray::prelude::*;
    ///
    /// let square = Program::new(stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.program(), &OpenCl::default())?;
    /// let x = square.upload(&Vector::from(vec![3.0, 4.0]).into_array())?;
    /// let squares = square.run(&[x])?;
    /// let fourth_powers = square.run(&squares)?;
    /// assert_eq!(fourth_powers[0].download()?.to_vec::<f64>(), Some(vec![81.0, 256.0]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When an argument is of another type or on another device; when there is no memory, which is found out before any is
    /// taken where the device says how much it has; and when an array that was uploaded earlier did not arrive.
    #[track_caller]
    pub fn run(&self, arguments: &[DeviceArray]) -> Result<Vec<DeviceArray>> {
        let place = Location::caller();
        if let Some(Mismatch { position, expected, found }) = mismatch(self.argument_types(), arguments.iter()) {
            let (path, place) = (String::new(), place.to_string());
            return Err(Error::Argument { position, path, expected, found, place });
        }
        if let Some(other) = arguments.iter().find(|array| array.device() != self.device()) {
            let text = format!("an argument is on another device, {}: download it, and upload it here", other.device());
            return Err(self.error(DeviceProblem::Unsupported(text), "call", place));
        }
        self.launched(arguments).map_err(|problem| self.error(problem, "call", place))
    }

    pub(super) fn launched(&self, arguments: &[DeviceArray]) -> DeviceResult<Vec<DeviceArray>> {
        let (shared, turns) = (&self.shared, &self.shared.common.turns);
        shared.forget_uploads()?;
        let Some(timed) = &self.timed else {
            let _turn = turns.read().unwrap_or_else(PoisonError::into_inner);
            return self.enqueued(shared, arguments);
        };
        let _alone = turns.write().unwrap_or_else(PoisonError::into_inner);
        let results = self.enqueued(timed, arguments);
        let times = timed.times.as_ref().expect("a queue that measures has times");
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        times.collect()?;
        times.calls += 1;
        results
    }

    /// Enqueues a run, with the kernels launched through `launching`.
    fn enqueued(&self, launching: &DeviceShare, arguments: &[DeviceArray]) -> DeviceResult<Vec<DeviceArray>> {
        let (shared, queues) = (&self.shared, &self.shared.common.queues);
        let mut space = self.space.lock().unwrap_or_else(PoisonError::into_inner);
        let own = if space.is_none() { report::memory(&self.code) } else { 0 };
        let results = self.result_types.iter().map(|ty| bytes(ty.dtype, ty.size()));
        shared.admit_arrays(results.fold(own, u128::saturating_add))?;
        let result = |ty: &Type| {
            let place = shared.memory(ty.dtype, ty.size())?;
            Ok(DeviceArray { ty: ty.clone(), place, shared: shared.clone() })
        };
        let results = self.result_types.iter().map(result).collect::<DeviceResult<Vec<DeviceArray>>>()?;
        let space = match &mut *space {
            Some(space) => space,
            empty => empty.insert(DeviceSpace::new(shared, &self.code)?),
        };
        Queues::await_uploads(&shared.queue, places(arguments))?;
        if launching.times.is_some() {
            queues.finish()?;
        }
        let launched =
            Launcher::new(launching, &self.kernels).run(&self.code, space, &views(arguments), &views(&results));
        // See the module of queues: later commands wait for a marker, or only for completed work.
        let ended = match (launching.times.is_some(), &launched) {
            (false, Ok(())) => queues.mark(places(arguments), places(&results)),
            _ => launching.queue.finish(),
        };
        launched.and(ended)?;
        Ok(results)
    }
}

/// Frees memory that no array uses, even while there are other arrays that the program made.
impl Drop for Program {
    fn drop(&mut self) {
        self.shared.pool.close();
    }
}

fn places(arrays: &[DeviceArray]) -> impl Iterator<Item = &DevicePointer> {
    arrays.iter().map(|array| &array.place)
}

/// Where arrays are.
fn views(arrays: &[DeviceArray]) -> Views<'_> {
    arrays.iter().map(|array| DeviceView::from(&array.place)).collect()
}

impl Engine for OpenCl {
    type Program = Program;

    #[track_caller]
    fn compile(self, program: &term::Program) -> Result<Program> {
        Program::named(program, &self)
    }

    /// Uploads the arguments, without waiting for each in turn, and downloads the results.
    #[track_caller]
    fn run(program: &Program, arguments: &[Array]) -> Result<Vec<Array>> {
        let mut uploaded = Vec::with_capacity(arguments.len());
        for argument in arguments {
            uploaded.push(program.upload(argument)?);
        }
        DeviceArray::download_all(&program.run(&uploaded)?)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// Runs that are measured, after one that is not.
const RUNS: usize = 3;

/// How long a procedure's product takes by a kernel.
fn seconds(procedure: &Procedure, kernel: ProductKernel, device: &Device, options: &OpenCl) -> DeviceResult<f64> {
    let products = ProductOptions { kernel: Some(kernel), ..ProductOptions::default() };
    let options = options.clone().profile(true);
    let program = Program::of_procedure(procedure.clone(), device, &options, products)?;
    let given = procedure.buffers[..2]
        .iter()
        .map(|buffer| program.uploaded(&Array::zeros(&buffer.ty)))
        .collect::<DeviceResult<Vec<_>>>()?;
    // The mean of all runs so far.
    let mean = || {
        let times = program.report().kernels.iter().map(|kernel| kernel.seconds).sum::<Option<f64>>();
        times.ok_or_else(|| DeviceProblem::Driver("it does not say how long kernels took".into()))
    };
    program.launched(&given)?;
    let first = mean()?;
    for _ in 0..RUNS {
        program.launched(&given)?;
    }
    Ok((mean()? * (RUNS + 1) as f64 - first) / RUNS as f64)
}
