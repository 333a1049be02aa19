//! The memory that programs need, compared with the memory of the machine.

use crate::error::Error;
use std::panic::Location;

/// More bytes than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    /// The bytes that are needed.
    pub(crate) bytes: u128,
    /// The bytes that the machine has, if known.
    pub(crate) available: Option<u64>,
}

impl TooLarge {
    pub(crate) fn error(self, operation: &str, place: &Location<'_>) -> Error {
        let TooLarge { bytes, available } = self;
        Error::TooLarge { operation: operation.into(), bytes, available, place: place.to_string() }
    }
}

/// Up to so many bytes the machine is not asked, which takes some microseconds.
const SMALL: u128 = 64 << 20;

/// Checks that the machine has so many bytes.
///
/// # Errors
///
/// When it has fewer, or when their number exceeds `isize`, the limit of addresses.
pub(crate) fn admit(bytes: u128) -> Result<(), TooLarge> {
    if bytes <= SMALL {
        return Ok(());
    }
    let available = available();
    match available {
        _ if bytes > isize::MAX as u128 => Err(TooLarge { bytes, available }),
        Some(most) if bytes > u128::from(most) => Err(TooLarge { bytes, available }),
        _ => Ok(()),
    }
}

/// The bytes that programs may still take without others being moved out, as Linux estimates them; `None` on other systems.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_not_admitted() {
        assert_eq!(admit(1 << 20), Ok(()));
        assert_eq!(admit(1 << 90).unwrap_err().bytes, 1 << 90);
        if available().is_some() {
            assert_eq!(admit(1 << 62).unwrap_err().available.map(|bytes| bytes > 0), Some(true));
            assert_eq!(admit(SMALL + 1), Ok(()));
        }
    }
}
