//! What programs on one device share.

use super::devices::Device;
use super::failure::{Outcome, Problem};
use ocl::core;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
