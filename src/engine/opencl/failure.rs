//! Failures of devices and their drivers.

use crate::error::Error;
use ocl::ffi::*;
use std::panic::Location;

/// Why something is not done on a device.
#[derive(Debug)]
pub(super) enum DeviceProblem {
    /// The driver's message.
    Driver(String),
    /// The message of the driver's compiler.
    Build(String),
    /// There is no memory for this.
    Memory(String),
    /// The device can't do this.
    Unsupported(String),
}

pub(super) type DeviceResult<T> = std::result::Result<T, DeviceProblem>;

/// Numbers with the names that OpenCL 1.2 gives them.
macro_rules! names {
    ($($name:ident)+) => {
        &[$(($name, stringify!($name))),+]
    };
}

/// The failures that programs on arrays may meet, by their names. Drivers have further numbers of their own.
const NAMES: &[(cl_int, &str)] = names![
    CL_DEVICE_NOT_FOUND
    CL_DEVICE_NOT_AVAILABLE
    CL_COMPILER_NOT_AVAILABLE
    CL_MEM_OBJECT_ALLOCATION_FAILURE
    CL_OUT_OF_RESOURCES
    CL_OUT_OF_HOST_MEMORY
    CL_PROFILING_INFO_NOT_AVAILABLE
    CL_MEM_COPY_OVERLAP
    CL_BUILD_PROGRAM_FAILURE
    CL_MAP_FAILURE
    CL_MISALIGNED_SUB_BUFFER_OFFSET
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    CL_COMPILE_PROGRAM_FAILURE
    CL_LINKER_NOT_AVAILABLE
    CL_LINK_PROGRAM_FAILURE
    CL_KERNEL_ARG_INFO_NOT_AVAILABLE
    CL_INVALID_VALUE
    CL_INVALID_DEVICE_TYPE
    CL_INVALID_PLATFORM
    CL_INVALID_DEVICE
    CL_INVALID_CONTEXT
    CL_INVALID_QUEUE_PROPERTIES
    CL_INVALID_COMMAND_QUEUE
    CL_INVALID_HOST_PTR
    CL_INVALID_MEM_OBJECT
    CL_INVALID_BINARY
    CL_INVALID_BUILD_OPTIONS
    CL_INVALID_PROGRAM
    CL_INVALID_PROGRAM_EXECUTABLE
    CL_INVALID_KERNEL_NAME
    CL_INVALID_KERNEL_DEFINITION
    CL_INVALID_KERNEL
    CL_INVALID_ARG_INDEX
    CL_INVALID_ARG_VALUE
    CL_INVALID_ARG_SIZE
    CL_INVALID_KERNEL_ARGS
    CL_INVALID_WORK_DIMENSION
    CL_INVALID_WORK_GROUP_SIZE
    CL_INVALID_WORK_ITEM_SIZE
    CL_INVALID_GLOBAL_OFFSET
    CL_INVALID_EVENT_WAIT_LIST
    CL_INVALID_EVENT
    CL_INVALID_OPERATION
    CL_INVALID_BUFFER_SIZE
    CL_INVALID_GLOBAL_WORK_SIZE
    CL_INVALID_PROPERTY
    CL_INVALID_COMPILER_OPTIONS
    CL_INVALID_LINKER_OPTIONS
    CL_PLATFORM_NOT_FOUND_KHR
];

impl DeviceProblem {
    /// The problem that a driver's number stands for, in words where it has some that help.
    pub(super) fn of_status(status: cl_int) -> DeviceProblem {
        let name = NAMES.iter().find(|(number, _)| *number == status).map(|(_, name)| *name);
        let Some(name) = name else { return DeviceProblem::Driver(format!("failure {status}")) };
        let words = match status {
            CL_MEM_OBJECT_ALLOCATION_FAILURE => "it has no memory for an array",
            CL_OUT_OF_HOST_MEMORY => "the host has no memory for what its driver keeps",
            CL_OUT_OF_RESOURCES => "it has no memory or registers for what was launched, or a launch failed",
            CL_INVALID_BUFFER_SIZE => "an array is larger than those that it has room for",
            CL_DEVICE_NOT_FOUND | CL_INVALID_DEVICE => "it is not there any more",
            CL_DEVICE_NOT_AVAILABLE => "it is lost, or others have it for themselves: start the process again",
            CL_COMPILER_NOT_AVAILABLE => "its driver has no compiler",
            CL_INVALID_CONTEXT | CL_INVALID_COMMAND_QUEUE => {
                "its driver has given up after an earlier failure: start the process again"
            }
            CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => "a launch or transfer failed that was waited for",
            CL_INVALID_WORK_GROUP_SIZE => "a kernel's groups are larger than it allows",
            CL_INVALID_GLOBAL_WORK_SIZE => "a launch has more work items than it counts",
            CL_PLATFORM_NOT_FOUND_KHR => "no driver of any device is installed",
            _ => return DeviceProblem::Driver(name.into()),
        };
        let text = format!("{words} ({name})");
        match status {
            CL_MEM_OBJECT_ALLOCATION_FAILURE | CL_OUT_OF_HOST_MEMORY | CL_OUT_OF_RESOURCES | CL_INVALID_BUFFER_SIZE => {
                DeviceProblem::Memory(text)
            }
            _ => DeviceProblem::Driver(text),
        }
    }

    /// The error of an operation on a device.
    pub(super) fn error(self, device: &str, operation: &str, place: Option<&Location<'_>>) -> Error {
        let problem = match self {
            DeviceProblem::Driver(text) => format!("the driver says: {text}"),
            DeviceProblem::Build(log) => format!("the driver does not compile the kernels:\n{log}"),
            DeviceProblem::Memory(text) => format!("{text}; fewer or smaller arrays at a time need less"),
            DeviceProblem::Unsupported(text) => text,
        };
        Error::Device {
            device: device.to_string(),
            operation: operation.to_string(),
            problem,
            place: place.map(ToString::to_string).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_drivers_are_said_in_words() {
        let text = |status: cl_int| DeviceProblem::of_status(status).error("a device", "call", None).to_string();
        let lost = text(CL_DEVICE_NOT_AVAILABLE);
        assert!(lost.starts_with("call on a device: the driver says: it is lost"), "{lost}");
        let full = text(CL_MEM_OBJECT_ALLOCATION_FAILURE);
        assert!(full.contains("no memory for an array (CL_MEM_OBJECT_ALLOCATION_FAILURE)"), "{full}");
        let other = text(CL_INVALID_KERNEL_NAME);
        assert_eq!(other, "call on a device: the driver says: CL_INVALID_KERNEL_NAME");
        // A number that a driver has in addition to the standard's.
        assert_eq!(text(-9999), "call on a device: the driver says: failure -9999");
    }
}
