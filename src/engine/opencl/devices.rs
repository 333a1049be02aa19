//! The devices that OpenCL's loader finds, and what is shared by all programs on one of them.

use super::failure::Outcome;
use crate::shape::DType;
use ocl::core::{self, DeviceId, DeviceInfo, DeviceInfoResult, PlatformId, PlatformInfo};
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What a device is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

/// What kernels are written for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Limits {
    /// Work items of the largest group.
    pub(super) group: usize,
    /// Bytes of a group's local memory.
    pub(super) local: usize,
    /// How many groups run at the same time, at least.
    pub(super) units: usize,
    /// Bytes of all operands of a kernel together.
    pub(super) parameters: usize,
    /// The most work items of a launch: what its addresses count.
    pub(super) items: usize,
    /// Whether elements of eight bytes are exchanged atomically.
    pub(super) has_long_atomics: bool,
    /// Whether the work items of a group run one after the other, so that only groups run at the same time.
    pub(super) is_serial: bool,
    /// Whether groups that have begun go on while others wait for them, which OpenCL does not promise.
    pub(super) looks_back: bool,
    /// Of so many spans of a scan's tiles in a row it is told what is carried behind the last: of each one but in tests.
    pub(super) spans_apart: usize,
    /// Steps of a reduction that a work item takes at least, before it is shared among more.
    pub(super) least_steps: usize,
    /// Elements that a step of a loop computes at most where a single work item runs the loop.
    pub(super) single_item: usize,
    /// Whether the same sums are to be the same numbers in every run.
    pub(super) is_deterministic: bool,
    /// What sources that use subgroups are built with, where the device has such and a language for them.
    pub(super) subgroups: Option<&'static str>,
    /// How many neighbours work items load and store at once, where that is said.
    pub(super) forced_width: Option<usize>,
    /// The same where it is not, as the device wants it for elements of each type.
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

impl Limits {
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

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// The platform that it belongs to, as its driver says.
    pub platform: String,
    /// Its name, as its driver says.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Bytes of its memory. A program that is compiled for [this device](super::OpenCl::on) with less written here takes no
    /// more.
    pub memory: u64,
    /// Bytes of the largest array.
    pub largest: u64,
    /// Bytes of the memory that a group of its work items shares.
    pub local_memory: u64,
    /// How many groups of work items it computes at the same time, at least.
    pub units: usize,
    /// Whether it has `f64`.
    pub has_doubles: bool,
    /// The version of its driver, as that says.
    pub driver: String,
    /// The version of OpenCL that it has, as its driver says.
    pub version: String,
    pub(super) limits: Limits,
    pub(super) id: DeviceId,
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
/// # Errors
///
/// When a driver does not say what its devices are.
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

/// All devices, those that are chosen first in front.
pub(super) fn all() -> Outcome<&'static [Device]> {
    static ALL: OnceLock<Vec<Device>> = OnceLock::new();
    // Drivers begin when they are asked first, and not all of them can be asked by several threads then.
    static ASKING: Mutex<()> = Mutex::new(());
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    match ALL.get() {
        Some(all) => Ok(all),
        None => {
            let found = found()?;
            Ok(ALL.get_or_init(|| found))
        }
    }
}

/// What the drivers have.
fn found() -> Outcome<Vec<Device>> {
    // A loader without a driver has no list of none, but an error.
    let Ok(platforms) = core::get_platform_ids() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for platform in platforms {
        let Ok(ids) = core::get_device_ids(platform, None, None) else { continue };
        for id in ids {
            found.extend(described(platform, id)?);
        }
    }
    found.sort_by_key(|device| order(device.kind));
    Ok(found)
}

/// What sources that use subgroups are built with, on a device that has them and this version of the language: 1.2 has no
/// subgroups.
fn subgroups(version: &str) -> Option<&'static str> {
    let number = version.trim().strip_prefix("OpenCL C ")?;
    match number.split('.').next()? {
        "2" => Some("-cl-std=CL2.0"),
        "3" => Some("-cl-std=CL3.0"),
        _ => None,
    }
}

/// A device as it describes itself; one that can compile nothing is none.
fn described(platform: PlatformId, id: DeviceId) -> Outcome<Option<Device>> {
    let ask = |request: DeviceInfo| core::get_device_info(id, request);
    let is_usable = matches!(ask(DeviceInfo::CompilerAvailable)?, DeviceInfoResult::CompilerAvailable(true))
        && matches!(ask(DeviceInfo::Available)?, DeviceInfoResult::Available(true));
    if !is_usable {
        return Ok(None);
    }
    let kind = match ask(DeviceInfo::Type)? {
        DeviceInfoResult::Type(kind) if kind.contains(core::DeviceType::GPU) => DeviceKind::Gpu,
        DeviceInfoResult::Type(kind) if kind.contains(core::DeviceType::CPU) => DeviceKind::Cpu,
        _ => DeviceKind::Accelerator,
    };
    let bytes = |request| match ask(request) {
        Ok(DeviceInfoResult::GlobalMemSize(bytes) | DeviceInfoResult::MaxMemAllocSize(bytes)) => bytes,
        _ => 0,
    };
    let extensions = ask(DeviceInfo::Extensions)?.to_string();
    let has = |name: &str| extensions.split_whitespace().any(|extension| extension == name);
    let number = |request, least: usize| match ask(request) {
        Ok(DeviceInfoResult::MaxWorkGroupSize(number) | DeviceInfoResult::MaxParameterSize(number)) => number,
        Ok(DeviceInfoResult::LocalMemSize(number)) => number as usize,
        Ok(DeviceInfoResult::MaxComputeUnits(number) | DeviceInfoResult::AddressBits(number)) => number as usize,
        _ => least,
    };
    let text = |request| Outcome::Ok(ask(request)?.to_string().trim().to_string());
    // Compilers for processors make vectors of neighbouring items, with functions for vectors. Items that compute several elements
    // one after the other keep them from that: measured with PoCL 3.1 on 2^20 elements, sums and products take as long, but
    // exponentials 1.5 (f64) to 2.8 (f32) times as long.
    let width = |request| match ask(request) {
        _ if kind == DeviceKind::Cpu => 1,
        Ok(
            DeviceInfoResult::PreferredVectorWidthChar(width)
            | DeviceInfoResult::PreferredVectorWidthInt(width)
            | DeviceInfoResult::PreferredVectorWidthLong(width)
            | DeviceInfoResult::PreferredVectorWidthFloat(width)
            | DeviceInfoResult::PreferredVectorWidthDouble(width),
        ) => width as usize,
        _ => 1,
    };
    let widths = Widths {
        bytes: width(DeviceInfo::PreferredVectorWidthChar),
        ints: width(DeviceInfo::PreferredVectorWidthInt),
        longs: width(DeviceInfo::PreferredVectorWidthLong),
        floats: width(DeviceInfo::PreferredVectorWidthFloat),
        doubles: width(DeviceInfo::PreferredVectorWidthDouble),
    };
    let limits = Limits {
        // Where a device does not say, what the standard asks of all is taken.
        group: number(DeviceInfo::MaxWorkGroupSize, 1).max(1),
        local: number(DeviceInfo::LocalMemSize, 0),
        units: number(DeviceInfo::MaxComputeUnits, 1).max(1),
        parameters: number(DeviceInfo::MaxParameterSize, 1024),
        items: if number(DeviceInfo::AddressBits, 32) < 64 { u32::MAX as usize } else { isize::MAX as usize },
        has_long_atomics: has("cl_khr_int64_base_atomics"),
        is_serial: kind == DeviceKind::Cpu,
        looks_back: kind == DeviceKind::Gpu,
        spans_apart: 1,
        least_steps: LEAST_STEPS,
        single_item: 0,
        is_deterministic: false,
        subgroups: if has("cl_khr_subgroups") { subgroups(&text(DeviceInfo::OpenclCVersion)?) } else { None },
        forced_width: None,
        widths,
    };
    Ok(Some(Device {
        platform: core::get_platform_info(platform, PlatformInfo::Name)?.to_string().trim().to_string(),
        name: text(DeviceInfo::Name)?,
        kind,
        memory: bytes(DeviceInfo::GlobalMemSize),
        has_doubles: has("cl_khr_fp64"),
        largest: bytes(DeviceInfo::MaxMemAllocSize),
        local_memory: limits.local as u64,
        units: limits.units,
        driver: text(DeviceInfo::DriverVersion)?,
        version: text(DeviceInfo::Version)?,
        limits,
        id,
    }))
}
