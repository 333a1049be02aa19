//! The devices that OpenCL's loader finds, and the state that all programs on one device share.

use super::driver::{self, DeviceId, PlatformId};
use super::failure::DeviceResult;
use crate::shape::DType;
use ocl::ffi::*;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The kind of a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// The machine's own processor.
    Cpu,
    /// Anything else.
    Accelerator,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeviceKind::Gpu => "GPU",
            DeviceKind::Cpu => "CPU",
            DeviceKind::Accelerator => "accelerator",
        })
    }
}

/// The limits of the device that kernels are written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DeviceLimits {
    /// Work items of the largest group.
    pub(super) group: usize,
    /// Bytes of a group's local memory that kernels have for their own arrays.
    pub(super) local: usize,
    /// How many groups run at the same time, at least.
    pub(super) units: usize,
    /// Bytes of all operands of a kernel together.
    pub(super) parameters: usize,
    /// The most work items of a launch, by the width of its addresses.
    pub(super) items: usize,
    /// Whether elements of eight bytes are exchanged atomically.
    pub(super) has_long_atomics: bool,
    /// Whether the work items of a group run in turn, so that only groups run at the same time.
    pub(super) is_serial: bool,
    /// Whether groups that have begun make progress while others wait for them, which OpenCL does not promise.
    pub(super) looks_back: bool,
    /// The carries at the end of a scan's tile are told once every so many spans: after each span, except in tests.
    pub(super) spans_apart: usize,
    /// The least steps of a reduction per work item, before it is shared among more items.
    pub(super) least_steps: usize,
    /// The most elements that a step of a loop may compute for the loop to run on a single work item.
    pub(super) single_item: usize,
    /// Whether the same sums must be the same numbers in every run.
    pub(super) is_deterministic: bool,
    /// The build options of sources that use subgroups, where the device has these and a language for them.
    pub(super) subgroups: Option<&'static str>,
    /// The most work items in a kernel's group, whatever it computes. Fewer where a driver demands it for the kernel.
    pub(super) kernel_group: usize,
    /// How many neighbours work items load and store at once, if that is set.
    pub(super) forced_width: Option<usize>,
    /// The same if it is not set, as the device prefers for elements of each type.
    widths: Widths,
}

/// Neighbours that work items are to load at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Widths {
    bytes: usize,
    ints: usize,
    longs: usize,
    floats: usize,
    doubles: usize,
}

/// Bytes that a kernel is passed for each array: its address, and where in it the elements begin.
const BYTES_OF_ARRAY: usize = 16;

impl DeviceLimits {
    /// How many bytes so many arrays take of those that a kernel is passed.
    pub(super) fn bytes_of(arrays: usize) -> usize {
        arrays.saturating_mul(BYTES_OF_ARRAY)
    }

    /// How many arrays a kernel is passed at most.
    pub(super) fn most_arrays(&self) -> usize {
        self.parameters / BYTES_OF_ARRAY
    }

    /// How many elements a work item computes while a kernel is launched, if it is alone.
    pub(super) fn fitting_single_item(&self) -> usize {
        if self.is_serial { 512 } else { 64 }
    }

    /// How many neighbours of an element type a work item loads and stores at once.
    pub(super) fn width(&self, dtype: DType) -> usize {
        let width = self.forced_width.unwrap_or(match dtype {
            DType::Bool => self.widths.bytes,
            DType::I32 => self.widths.ints,
            DType::I64 => self.widths.longs,
            DType::F32 => self.widths.floats,
            DType::F64 => self.widths.doubles,
        });
        // Vectors have so many elements.
        [16, 8, 4, 2].into_iter().find(|&size| size <= width).unwrap_or(1)
    }
}

/// Steps of a reduction that a work item takes at least, unless said otherwise.
const LEAST_STEPS: usize = 8;

/// Bytes of a group's local memory that are left to drivers: some add their own, a kilobyte on graphics processors since Ampere.
const OF_DRIVERS: usize = 1088;

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Device {
    /// The platform that it belongs to, as its driver says.
    pub platform: String,
    /// Its name, as its driver says.
    pub name: String,
    /// The kind of device.
    pub kind: DeviceKind,
    /// Bytes of its memory. A program that is compiled for [this device](super::OpenCl::on) with a smaller number here takes no
    /// more than that.
    pub memory: u64,
    /// Bytes of the largest array.
    pub largest: u64,
    /// Bytes of the memory that a group of its work items shares. A program that is compiled for this device with less written
    /// here takes no more.
    pub local_memory: u64,
    /// Bytes of all that a kernel is passed: sixteen for each array. A program that is compiled for this device with less
    /// written here passes no more.
    pub parameters: u64,
    /// How many groups of work items it computes at the same time, at least.
    pub units: usize,
    /// Whether it has `f64`.
    pub has_doubles: bool,
    /// The version of its driver, as that says.
    pub driver: String,
    /// The version of OpenCL that it has, as its driver says.
    pub version: String,
    pub(super) limits: DeviceLimits,
    pub(super) id: DeviceId,
}

impl Device {
    /// This device, limited to the numbers written in it.
    pub(super) fn as_written(&self) -> Device {
        let at_most = |own: usize, written: u64| usize::try_from(written).map_or(own, |written| own.min(written));
        let mut device = self.clone();
        device.limits.local = at_most(device.limits.local, device.local_memory.saturating_sub(OF_DRIVERS as u64));
        device.limits.parameters = at_most(device.limits.parameters, device.parameters);
        device
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.platform)
    }
}

/// All devices that there are: GPUs first, then accelerators, then processors. None where no driver is installed.
///
/// Drivers are asked once in a process: a device that is gone since then is an error where it is used.
///
/// ```no_run
/// for device in deltaray::opencl::devices()? {
///     println!("{device}, a {}: {} MiB, f64: {}", device.kind, device.memory >> 20, device.has_doubles);
/// }
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// When a driver does not describe its devices.
pub fn devices() -> crate::error::Result<Vec<Device>> {
    Ok(all().map_err(|problem| problem.error("OpenCL", "devices", None))?.to_vec())
}

fn order(kind: DeviceKind) -> u8 {
    match kind {
        DeviceKind::Gpu => 0,
        DeviceKind::Accelerator => 1,
        DeviceKind::Cpu => 2,
    }
}

/// The devices and drivers of this machine.
#[derive(Default)]
pub(super) struct FoundDevices {
    /// The devices, in order of preference.
    pub(super) devices: Vec<Device>,
    /// The names of drivers without devices.
    pub(super) without: Vec<String>,
}

/// All devices, in order of preference.
pub(super) fn all() -> DeviceResult<&'static [Device]> {
    Ok(&found()?.devices)
}

/// The devices and drivers, asked for once.
pub(super) fn found() -> DeviceResult<&'static FoundDevices> {
    static ALL: OnceLock<FoundDevices> = OnceLock::new();
    // Drivers initialise at the first query, and some can't be queried by several threads during that.
    static ASKING: Mutex<()> = Mutex::new(());
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    match ALL.get() {
        Some(all) => Ok(all),
        None => {
            let found = ask()?;
            Ok(ALL.get_or_init(|| found))
        }
    }
}

/// Asks all drivers.
fn ask() -> DeviceResult<FoundDevices> {
    let mut found = FoundDevices::default();
    // A loader without a driver has no list of none, but an error.
    let Ok(platforms) = driver::platforms() else { return Ok(found) };
    for platform in platforms {
        let ids = driver::devices(platform).unwrap_or_default();
        if ids.is_empty() {
            found.without.push(platform.name().unwrap_or_default());
        }
        for id in ids {
            found.devices.extend(described(platform, id)?);
        }
    }
    found.devices.sort_by_key(|device| order(device.kind));
    Ok(found)
}

/// The build options of sources that use subgroups, on a device whose version of OpenCL has them. Since 3.0 they are a feature:
/// a device states the number per group, and supports that language whichever version it names first. Before that they are an
/// extension of language 2.0.
fn subgroups(version: &str, is_extended: bool, in_group: u64) -> Option<&'static str> {
    match version.split('.').next()? {
        "1" => None,
        "2" => is_extended.then_some("-cl-std=CL2.0"),
        _ => (in_group > 0).then_some("-cl-std=CL3.0"),
    }
}

/// The number of a version as drivers say it, if that is one with all that is called here: 1.2 or later.
fn number_of_version(version: &str) -> Option<&str> {
    let number = version.strip_prefix("OpenCL ")?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    let version: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (version >= (1, 2)).then_some(number)
}

/// A device as it describes itself; one that can compile nothing, or is of an older version, is none.
fn described(platform: PlatformId, id: DeviceId) -> DeviceResult<Option<Device>> {
    if id.number(CL_DEVICE_COMPILER_AVAILABLE)? == 0 || id.number(CL_DEVICE_AVAILABLE)? == 0 {
        return Ok(None);
    }
    let version = id.text(CL_DEVICE_VERSION)?;
    let Some(version) = number_of_version(&version) else { return Ok(None) };
    let kind = match id.number(CL_DEVICE_TYPE)? {
        kind if kind & CL_DEVICE_TYPE_GPU != 0 => DeviceKind::Gpu,
        kind if kind & CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
        _ => DeviceKind::Accelerator,
    };
    let bytes = |request| id.number(request).unwrap_or(0);
    let number = |request, least: usize| id.number(request).map_or(least, |number| number as usize);
    let extensions = id.text(CL_DEVICE_EXTENSIONS)?;
    let has = |name: &str| extensions.split_whitespace().any(|extension| extension == name);
    // Compilers for processors make vectors of neighbouring items, with functions for vectors. Items that compute several elements
    // one after the other keep them from that: measured with PoCL 3.1 on 2^20 elements, sums and products take as long, but
    // exponentials 1.5 (f64) to 2.8 (f32) times as long.
    let width = |request| if kind == DeviceKind::Cpu { 1 } else { number(request, 1) };
    let widths = Widths {
        bytes: width(CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR),
        ints: width(CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT),
        longs: width(CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG),
        floats: width(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT),
        doubles: width(CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE),
    };
    // Groups go along the first dimension, which may have a bound of its own.
    let along = id.first_number(CL_DEVICE_MAX_WORK_ITEM_SIZES).map_or(1, |along| along as usize);
    let local_memory = number(CL_DEVICE_LOCAL_MEM_SIZE, 0);
    let limits = DeviceLimits {
        // If a device does not say, the standard's minimum is taken.
        group: number(CL_DEVICE_MAX_WORK_GROUP_SIZE, 1).min(along).max(1),
        local: local_memory.saturating_sub(OF_DRIVERS),
        units: number(CL_DEVICE_MAX_COMPUTE_UNITS, 1).max(1),
        parameters: number(CL_DEVICE_MAX_PARAMETER_SIZE, 1024),
        items: if number(CL_DEVICE_ADDRESS_BITS, 32) < 64 { u32::MAX as usize } else { isize::MAX as usize },
        has_long_atomics: has("cl_khr_int64_base_atomics"),
        is_serial: kind == DeviceKind::Cpu,
        looks_back: kind == DeviceKind::Gpu,
        spans_apart: 1,
        least_steps: LEAST_STEPS,
        single_item: 0,
        is_deterministic: false,
        subgroups: subgroups(version, has("cl_khr_subgroups"), bytes(CL_DEVICE_MAX_NUM_SUB_GROUPS)),
        kernel_group: usize::MAX,
        forced_width: None,
        widths,
    };
    Ok(Some(Device {
        platform: platform.name()?,
        name: id.text(CL_DEVICE_NAME)?,
        kind,
        memory: bytes(CL_DEVICE_GLOBAL_MEM_SIZE),
        has_doubles: has("cl_khr_fp64"),
        largest: bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        local_memory: local_memory as u64,
        parameters: limits.parameters as u64,
        units: limits.units,
        driver: id.text(CL_DRIVER_VERSION)?,
        version: version.into(),
        limits,
        id,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_older_versions_and_of_none_are_no_devices() {
        assert_eq!(number_of_version("OpenCL 3.0 PoCL HSTR: pthread"), Some("3.0"));
        assert_eq!(number_of_version("OpenCL 1.2"), Some("1.2"));
        for other in ["OpenCL 1.1 of somebody", "OpenCL", "OpenCL 3", "OpenCL x.y", "3.0", ""] {
            assert_eq!(number_of_version(other), None, "{other}");
        }
    }

    #[test]
    fn subgroups_are_an_extension_at_first_and_a_feature_later() {
        for (version, is_extended, in_group, options) in [
            ("1.2", true, 0, None),
            ("2.0", false, 0, None),
            ("2.1", true, 0, Some("-cl-std=CL2.0")),
            ("3.0", true, 0, None),
            ("3.0", false, 64, Some("-cl-std=CL3.0")),
            ("3.1", false, 2048, Some("-cl-std=CL3.0")),
        ] {
            assert_eq!(subgroups(version, is_extended, in_group), options, "{version}");
        }
    }
}
