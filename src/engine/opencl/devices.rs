//! The devices that OpenCL's loader finds, and what is shared by all programs on one of them.

use super::failure::{Outcome, Problem};
use ocl::core::{self, DeviceId, DeviceInfo, DeviceInfoResult, PlatformId, PlatformInfo};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// The platform that it belongs to, as its driver says.
    pub platform: String,
    /// Its name, as its driver says.
    pub name: String,
    /// What it is.
    pub kind: DeviceKind,
    /// Bytes of its memory.
    pub memory: u64,
    /// Whether it has `f64`.
    pub has_doubles: bool,
    /// Bytes of the largest array.
    pub(super) largest: u64,
    pub(super) id: DeviceId,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.platform)
    }
}

/// All devices that there are: GPUs first, then accelerators, then processors. None where no driver is installed.
///
/// # Errors
///
/// When a driver does not say what its devices are.
pub fn devices() -> crate::error::Result<Vec<Device>> {
    all().map_err(|problem| problem.error("OpenCL", "devices", None))
}

fn order(kind: DeviceKind) -> u8 {
    match kind {
        DeviceKind::Gpu => 0,
        DeviceKind::Accelerator => 1,
        DeviceKind::Cpu => 2,
    }
}

/// All devices, those that are chosen first in front.
pub(super) fn all() -> Outcome<Vec<Device>> {
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
    Ok(Some(Device {
        platform: core::get_platform_info(platform, PlatformInfo::Name)?.to_string().trim().to_string(),
        name: ask(DeviceInfo::Name)?.to_string().trim().to_string(),
        kind,
        memory: bytes(DeviceInfo::GlobalMemSize),
        has_doubles: extensions.split_whitespace().any(|extension| extension == "cl_khr_fp64"),
        largest: bytes(DeviceInfo::MaxMemAllocSize),
        id,
    }))
}

/// What programs on one device share: arrays of one program are read by another.
pub(super) struct Shared {
    pub(super) device: Device,
    pub(super) context: core::Context,
    pub(super) queue: core::CommandQueue,
    /// Programs that were built, by their source.
    built: Mutex<Vec<(String, core::Program)>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.device, f)
    }
}

/// Those of all devices that were used.
static SHARED: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

/// So many programs are kept for those who ask for the same source again.
const KEPT: usize = 64;

impl Shared {
    /// What there is of a device, or begins to be.
    pub(super) fn of(device: &Device) -> Outcome<Arc<Shared>> {
        let mut all = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = all.iter().find(|shared| shared.device == *device) {
            return Ok(shared.clone());
        }
        let context = core::create_context(None, &[device.id], None, None)?;
        let queue = core::create_command_queue(&context, device.id, None)?;
        let shared = Arc::new(Shared { device: device.clone(), context, queue, built: Mutex::default() });
        all.push(shared.clone());
        Ok(shared)
    }

    /// A program of this source, built once.
    pub(super) fn build(&self, source: &str) -> Outcome<core::Program> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = built.iter().position(|(known, _)| known == source) {
            let found = built.remove(at);
            built.push(found);
            return Ok(built[built.len() - 1].1.clone());
        }
        let text = std::ffi::CString::new(source).map_err(|error| Problem::Driver(error.to_string()))?;
        let options = std::ffi::CString::new("-cl-std=CL1.2").map_err(|error| Problem::Driver(error.to_string()))?;
        let program = core::create_program_with_source(&self.context, &[text])?;
        core::build_program(&program, Some(&[self.device.id]), &options, None, None)
            .map_err(|error| Problem::Build(error.to_string()))?;
        if built.len() == KEPT {
            built.remove(0);
        }
        built.push((source.to_string(), program.clone()));
        Ok(program)
    }
}
