//! What devices and their drivers refuse.

use crate::error::Error;
use ocl::core::Status;
use std::panic::Location;

/// Why something is not done on a device.
#[derive(Debug)]
pub(super) enum Problem {
    /// What the driver says.
    Driver(String),
    /// What its compiler says.
    Build(String),
    /// What there is no memory for.
    Memory(String),
    /// What can't be done there.
    Unsupported(String),
}

pub(super) type Outcome<T> = std::result::Result<T, Problem>;

impl From<ocl::core::Error> for Problem {
    fn from(error: ocl::core::Error) -> Problem {
        if let Some(status) = error.api_status() {
            return Problem::of_status(status);
        }
        // The driver's name of the problem, without the drawing around it.
        let text = error.to_string();
        let words: Vec<&str> = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
        Problem::Driver(words.join(" "))
    }
}

impl Problem {
    /// The problem that a driver's number stands for, in words where it has some that help.
    pub(super) fn of_status(status: Status) -> Problem {
        let words = match status {
            Status::CL_MEM_OBJECT_ALLOCATION_FAILURE => "it has no memory for an array",
            Status::CL_OUT_OF_HOST_MEMORY => "the host has no memory for what its driver keeps",
            Status::CL_OUT_OF_RESOURCES => "it has no memory or registers for what was launched, or a launch failed",
            Status::CL_INVALID_BUFFER_SIZE => "an array is larger than those that it has room for",
            Status::CL_DEVICE_NOT_FOUND | Status::CL_INVALID_DEVICE => "it is not there any more",
            Status::CL_DEVICE_NOT_AVAILABLE => "it is lost, or others have it for themselves: start the process again",
            Status::CL_COMPILER_NOT_AVAILABLE => "its driver has no compiler",
            Status::CL_INVALID_CONTEXT | Status::CL_INVALID_COMMAND_QUEUE => {
                "its driver has given up after an earlier failure: start the process again"
            }
            Status::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => "a launch or transfer failed that was waited for",
            Status::CL_INVALID_WORK_GROUP_SIZE => "a kernel's groups are larger than it allows",
            Status::CL_INVALID_GLOBAL_WORK_SIZE => "a launch has more work items than it counts",
            Status::CL_PLATFORM_NOT_FOUND_KHR => "no driver of any device is installed",
            other => return Problem::Driver(format!("{other:?}")),
        };
        let text = format!("{words} ({status:?})");
        match status {
            Status::CL_MEM_OBJECT_ALLOCATION_FAILURE
            | Status::CL_OUT_OF_HOST_MEMORY
            | Status::CL_OUT_OF_RESOURCES
            | Status::CL_INVALID_BUFFER_SIZE => Problem::Memory(text),
            _ => Problem::Driver(text),
        }
    }

    /// The error of an operation on a device.
    pub(super) fn error(self, device: &str, operation: &str, place: Option<&Location<'_>>) -> Error {
        let problem = match self {
            Problem::Driver(text) => format!("the driver says: {text}"),
            Problem::Build(log) => format!("the driver does not compile the kernels:\n{log}"),
            Problem::Memory(text) => format!("{text}; fewer or smaller arrays at a time need less"),
            Problem::Unsupported(text) => text,
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
        let text = |status| Problem::of_status(status).error("a device", "call", None).to_string();
        let lost = text(Status::CL_DEVICE_NOT_AVAILABLE);
        assert!(lost.starts_with("call on a device: the driver says: it is lost"), "{lost}");
        let full = text(Status::CL_MEM_OBJECT_ALLOCATION_FAILURE);
        assert!(full.contains("no memory for an array (CL_MEM_OBJECT_ALLOCATION_FAILURE)"), "{full}");
        let other = text(Status::CL_INVALID_KERNEL_NAME);
        assert_eq!(other, "call on a device: the driver says: CL_INVALID_KERNEL_NAME");
    }
}
