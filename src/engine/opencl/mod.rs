//! The engine on OpenCL 1.2 devices: the same loop nests as the processor's, as kernels in one source.
//!
//! The feature `opencl` links the system's OpenCL loader (Debian: `ocl-icd-opencl-dev`); kernels are run by a driver, which
//! comes from the graphics processor's maker, or PoCL (`pocl-opencl-icd`) for the machine's own processor. Without a driver
//! there are no devices, and compiling is an error.
//!
//! ```no_run
//! use deltaray::engine::opencl::OpenCl;
//! use deltaray::prelude::*;
//!
//! fn squares<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
//!     (x * x).sum()
//! }
//! # fn main() -> deltaray::Result<()> {
//! let gradient = stage(squares, &zeros(3))?.grad()?.compile(OpenCl::default())?;
//! assert_eq!(gradient.call(&Vector::from(vec![1.0, 2.0, 3.0]))?.to_vec(), [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! ```

mod ahead;
mod array;
mod cache;
mod code;
mod counters;
mod devices;
mod driver;
mod failure;
mod kernels;
mod launch;
mod loops;
mod measured;
mod memory;
mod program;
mod queues;
mod records;
mod report;
mod running;
mod shared;
mod space;
mod taking;
#[cfg(test)]
mod tests;
mod times;
mod transfer;
mod tuning;
mod written;

pub use array::DeviceArray;
pub use counters::Transfers;
pub use devices::{Device, DeviceKind, devices};
pub use program::Program;
pub use tuning::{ProductKernel, Tile};

use crate::error::Result;
use cache::Cache;
use devices::{DeviceLimits, FoundDevices};
use failure::{DeviceProblem, DeviceResult};
use std::path::PathBuf;

/// The requested device.
#[derive(Clone, Debug, Default)]
enum DeviceChoice {
    #[default]
    First,
    Named(String),
    Kind(DeviceKind),
    This(Box<Device>),
}

/// Where compiled programs are kept for other processes.
#[derive(Clone, Debug, Default)]
enum CacheLocation {
    #[default]
    User,
    In(PathBuf),
    Nowhere,
}

/// A program's device, and how it runs there: the first that [`devices`] lists, a graphics processor where there is one,
/// without measuring, and kept compiled under the user's cache folder, unless said otherwise.
#[derive(Clone, Debug, Default)]
pub struct OpenCl {
    choice: DeviceChoice,
    products: tuning::ProductOptions,
    profile: bool,
    kept: CacheLocation,
    written_for: Option<DeviceKind>,
    least_steps: Option<usize>,
    single_item: Option<usize>,
    is_deterministic: bool,
    vector_width: Option<usize>,
}

impl OpenCl {
    /// The first device whose name, or its platform's, has these letters in it, capital or not. There need be none: compiling
    /// is an error then.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::named("radeon"))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn named(name: impl Into<String>) -> OpenCl {
        OpenCl { choice: DeviceChoice::Named(name.into()), ..OpenCl::default() }
    }

    /// The first device of a kind. There need be none: compiling is an error then.
    ///
    /// ```no_run
    /// use deltaray::opencl::{DeviceKind, OpenCl};
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::of_kind(DeviceKind::Gpu))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn of_kind(kind: DeviceKind) -> OpenCl {
        OpenCl { choice: DeviceChoice::Kind(kind), ..OpenCl::default() }
    }

    /// This device.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, devices};
    ///
    /// for device in devices()? {
    ///     assert_eq!(OpenCl::on(&device).device()?, device);
    /// }
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn on(device: &Device) -> OpenCl {
        OpenCl { choice: DeviceChoice::This(Box::new(device.as_written())), ..OpenCl::default() }
    }

    /// Has all matrix products of floats computed by this kernel, instead of one that goes by their sizes. Compiling is an
    /// error where the device has not the local memory or the work items for it.
    ///
    /// ```no_run
    /// use deltaray::opencl::{OpenCl, ProductKernel};
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().with_product_kernel(ProductKernel::Elements))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn with_product_kernel(mut self, kernel: ProductKernel) -> OpenCl {
        self.products.kernel = Some(kernel);
        self
    }

    /// Has the summed axis of matrix products of floats taken in so many parts, or as many as it is long enough for, which are
    /// summed afterwards.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().with_product_parts(8))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn with_product_parts(mut self, parts: usize) -> OpenCl {
        self.products.parts = Some(parts);
        self
    }

    /// Measures the kernels of large matrix products of floats on the device when a program is compiled, and takes the fastest.
    /// That takes about a second for each new kind of product, by its element type, its layout and the magnitudes of its
    /// extents. The choices are remembered, in the folder of compiled programs too.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().measure_products())?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn measure_products(mut self) -> OpenCl {
        self.products.is_measured = true;
        self
    }

    /// Whether the time of every kernel is measured. [`Program::report`] states it. A run then waits until its kernels are
    /// done, and meanwhile nothing else is launched on the device.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?.compile(OpenCl::default().profile(true))?;
    /// square.call(&ones(2))?;
    /// assert!(square.program().report().kernels[0].seconds.is_some());
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn profile(self, profile: bool) -> OpenCl {
        OpenCl { profile, ..self }
    }

    /// Has compiled programs kept in this folder, where the next process finds them. Without this they are in `deltaray/opencl`
    /// under the user's cache folder: `$XDG_CACHE_HOME`, or `~/.cache`. The files are 256 MiB together at most; those that were
    /// used longest ago are removed. A folder that can't be read or written to is no cache.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().cache_in("target/kernels"))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn cache_in(self, folder: impl Into<PathBuf>) -> OpenCl {
        OpenCl { kept: CacheLocation::In(folder.into()), ..self }
    }

    /// Has compiled programs kept in no folder.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().without_cache())?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn without_cache(self) -> OpenCl {
        OpenCl { kept: CacheLocation::Nowhere, ..self }
    }

    /// Where compiled programs are kept.
    fn cache(&self) -> Option<Cache> {
        match &self.kept {
            CacheLocation::User => cache::folder().map(Cache::new),
            CacheLocation::In(folder) => Some(Cache::new(folder.clone())),
            CacheLocation::Nowhere => None,
        }
    }

    /// Writes kernels as for a device of this kind, whatever the device is. Kernels for graphics processors share reductions
    /// among the work items of groups, through local memory; kernels for processors, whose items run in turn, do not. In
    /// kernels for graphics processors groups may wait for groups that have begun; in kernels for accelerators none waits.
    ///
    /// ```no_run
    /// use deltaray::opencl::{DeviceKind, OpenCl};
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().written_for(DeviceKind::Cpu))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn written_for(mut self, kind: DeviceKind) -> OpenCl {
        self.written_for = Some(kind);
        self
    }

    /// The least steps of a reduction per work item, before it is shared among more of them: 8 by default.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().least_steps(64))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn least_steps(mut self, steps: usize) -> OpenCl {
        // No reduction is longer than that, and small multiples of it are numbers too.
        self.least_steps = Some(steps.clamp(1, usize::MAX >> 16));
        self
    }

    /// Makes loops and conditionals kernels of a single work item if none of their steps computes more than so many elements:
    /// 64 by default, and 512 on processors. Loops of elementwise steps are kernels of many items. Other loops have kernels for
    /// their steps, which the host launches one after the other.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().single_item(256))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn single_item(mut self, elements: usize) -> OpenCl {
        self.single_item = Some(elements);
        self
    }

    /// Makes a program give the same numbers in every run on one device.
    ///
    /// Without this, sums at computed positions, such as those of scatters, may differ from run to run: work items add to
    /// elements in any order, so that sums of floats are rounded differently. So may large sums on devices with subgroups,
    /// which add in an order of their own; this option turns them off. Positions are then sorted by their places first, which
    /// takes memory for each of them; where there are few positions, and on processors, a few work items go through all of them
    /// instead.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().deterministic())?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn deterministic(mut self) -> OpenCl {
        self.is_deterministic = true;
        self
    }

    /// Makes work items that go through neighbouring elements load and store so many of them at once, as a vector: 2, 4, 8 or
    /// 16, or the next of these below; with 1 each element on its own. The default is the device's preference for the type of
    /// the elements; processors get 1, whose compilers make vectors of neighbouring items.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    /// use deltaray::prelude::*;
    ///
    /// let square = stage(|x: &Vector<_, f64>| x.powi(2), &zeros(2))?;
    /// let program = square.compile(OpenCl::default().vector_width(4))?;
    /// assert_eq!(program.call(&ones(2))?.to_vec(), [1.0, 1.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn vector_width(mut self, elements: usize) -> OpenCl {
        self.vector_width = Some(elements);
        self
    }

    /// The limits that kernels are written for.
    fn limits(&self, device: &Device) -> DeviceLimits {
        let mut limits = device.limits;
        limits.is_serial = self.written_for.map_or(limits.is_serial, |kind| kind == DeviceKind::Cpu);
        limits.looks_back = self.written_for.map_or(limits.looks_back, |kind| kind == DeviceKind::Gpu);
        limits.least_steps = self.least_steps.unwrap_or(limits.least_steps);
        limits.single_item = self.single_item.unwrap_or(limits.fitting_single_item());
        limits.is_deterministic = self.is_deterministic;
        limits.forced_width = self.vector_width;
        limits
    }

    /// The device that programs with these options are compiled for.
    ///
    /// ```no_run
    /// use deltaray::opencl::OpenCl;
    ///
    /// println!("{}", OpenCl::default().device()?);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is none, or none such.
    pub fn device(&self) -> Result<Device> {
        self.chosen().map_err(|problem| problem.error("OpenCL", "devices", None))
    }

    fn chosen(&self) -> DeviceResult<Device> {
        if let DeviceChoice::This(device) = &self.choice {
            return Ok((**device).clone());
        }
        let FoundDevices { devices: all, without } = devices::found()?;
        if all.is_empty() {
            let text = match &without[..] {
                [] => "no driver of any device is installed: the maker of a graphics processor has one, and PoCL \
                       (pocl-opencl-icd) is one for the machine's own processor"
                    .into(),
                names => format!(
                    "there is no device: {} is installed, but says that it has none (PoCL says so where it can't write to \
                     its folder for caches, which POCL_CACHE_DIR names)",
                    names.join(", ")
                ),
            };
            return Err(DeviceProblem::Unsupported(text));
        }
        let fits = |device: &&Device| match &self.choice {
            DeviceChoice::Named(name) => device.to_string().to_lowercase().contains(&name.to_lowercase()),
            DeviceChoice::Kind(kind) => device.kind == *kind,
            DeviceChoice::First | DeviceChoice::This(_) => true,
        };
        let wanted = || match &self.choice {
            DeviceChoice::Named(name) => format!("is called `{name}`"),
            DeviceChoice::Kind(kind) => format!("is a {kind}"),
            DeviceChoice::First | DeviceChoice::This(_) => "is there".into(),
        };
        all.iter().find(fits).cloned().ok_or_else(|| {
            let names: Vec<String> = all.iter().map(|device| format!("`{device}`, a {}", device.kind)).collect();
            let kinds =
                if matches!(self.choice, DeviceChoice::Named(_)) { "; kinds are for `OpenCl::of_kind`" } else { "" };
            DeviceProblem::Unsupported(format!("no device {}; there are {}{kinds}", wanted(), names.join("; ")))
        })
    }
}
