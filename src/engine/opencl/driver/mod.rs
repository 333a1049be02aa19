//! OpenCL's functions with Rust's types.
//!
//! Whatever a driver answers becomes an `Ok` or an `Err`: drivers have error numbers that no standard lists, and when a device
//! is lost they may even fail to release their objects. That is why the functions of C are called here, and not the wrappers of
//! `ocl`, which abort the program when they meet an unknown number.

/// Objects of drivers, which are released when dropped.
macro_rules! objects {
    ($($(#[$comment:meta])* $name:ident, $word:literal, $release:ident;)+) => {$(
        $(#[$comment])*
        #[derive(Debug)]
        pub(in crate::engine::opencl) struct $name(std::ptr::NonNull<std::ffi::c_void>);

        impl $name {
            /// The object that a function has made, if it has.
            pub(in crate::engine::opencl::driver) fn made(
                raw: *mut std::ffi::c_void,
                status: ocl::ffi::cl_int,
            ) -> crate::engine::opencl::failure::DeviceResult<$name> {
                $crate::engine::opencl::driver::done(status)?;
                let Some(raw) = std::ptr::NonNull::new(raw) else {
                    let text = concat!("it has made no ", $word, ", and does not say why");
                    return Err($crate::engine::opencl::failure::DeviceProblem::Driver(text.into()));
                };
                #[cfg(test)]
                $crate::engine::opencl::driver::living::count($word, 1);
                Ok($name(raw))
            }

            /// Its address, for calls while it is there.
            fn raw(&self) -> *mut std::ffi::c_void {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // If a driver does not release an object, it leaks: nothing can be done about it.
                // SAFETY: it was made once, and is not used any more.
                let _ = unsafe { ocl::ffi::$release(self.raw()) };
                #[cfg(test)]
                $crate::engine::opencl::driver::living::count($word, -1);
            }
        }

        // SAFETY: OpenCL's functions may be called by any thread.
        unsafe impl Send for $name {}
    )+};
}

mod objects;
mod queue;

pub(super) use objects::{
    Built, Context, DeviceId, DeviceKernel, KernelArgument, Memory, PlatformId, devices, platforms,
};
pub(super) use queue::{Event, Queue};

use super::failure::{DeviceProblem, DeviceResult};
use ocl::ffi::{CL_SUCCESS, cl_int};
use std::ffi::c_void;
use std::ptr;

/// The result of a function.
fn done(status: cl_int) -> DeviceResult<()> {
    if status == CL_SUCCESS { Ok(()) } else { Err(DeviceProblem::of_status(status)) }
}

/// Information from a driver, by a function that says how many bytes it takes, or writes them.
fn bytes(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> DeviceResult<Vec<u8>> {
    let mut size = 0;
    done(ask(0, ptr::null_mut(), &mut size))?;
    let mut bytes = vec![0; size];
    if size > 0 {
        done(ask(size, bytes.as_mut_ptr().cast(), ptr::null_mut()))?;
    }
    Ok(bytes)
}

/// A number of either of the sizes that OpenCL's numbers have.
fn number(bytes: &[u8]) -> DeviceResult<u64> {
    match (bytes.try_into().map(u32::from_ne_bytes), bytes.try_into().map(u64::from_ne_bytes)) {
        (Ok(number), _) => Ok(u64::from(number)),
        (_, Ok(number)) => Ok(number),
        _ => Err(DeviceProblem::Driver(format!("it states a number of {} bytes", bytes.len()))),
    }
}

/// A text, which ends with a zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_string()
}

/// How many objects of each kind a thread has made and not dropped.
#[cfg(test)]
pub(super) mod living {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    thread_local! {
        static LIVING: RefCell<BTreeMap<&'static str, i64>> = const { RefCell::new(BTreeMap::new()) };
    }

    pub(super) fn count(kind: &'static str, by: i64) {
        // Threads that end drop their objects when the count may already be gone.
        let _ = LIVING.try_with(|living| *living.borrow_mut().entry(kind).or_default() += by);
    }

    /// The living objects of a kind.
    pub(in crate::engine::opencl) fn of(kind: &'static str) -> i64 {
        LIVING.with(|living| living.borrow().get(kind).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::opencl::devices::all;

    fn said<T: std::fmt::Debug>(outcome: DeviceResult<T>) -> String {
        outcome.unwrap_err().error("a device", "call", None).to_string()
    }

    #[test]
    fn no_number_of_a_driver_ends_the_program() {
        for number in [-9999, -1, -1000, 7, i32::MIN, i32::MAX] {
            assert!(said(done(number)).starts_with("call on a device: the driver says: "));
            assert!(!said(Event::made(ptr::null_mut(), number)).is_empty());
        }
        assert_eq!(said(done(-9999)), "call on a device: the driver says: failure -9999");
        let nothing = said(Event::made(ptr::null_mut(), CL_SUCCESS));
        assert_eq!(nothing, "call on a device: the driver says: it has made no event, and does not say why");
    }

    #[test]
    fn numbers_and_texts_of_any_size_are_read_or_refused() {
        assert_eq!(number(&7u32.to_ne_bytes()).unwrap(), 7);
        assert_eq!(number(&(1u64 << 40).to_ne_bytes()).unwrap(), 1 << 40);
        assert!(said(number(&[1])).contains("a number of 1 bytes"));
        assert!(said(number(&[])).contains("a number of 0 bytes"));
        assert_eq!(text(b" a name \0beyond"), "a name");
        assert_eq!(text(&[0xff, b'x']), "\u{fffd}x");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn a_command_that_failed_with_any_number_is_an_error_to_those_who_wait() {
        let Some(device) = all().unwrap().first() else { return };
        let context = Context::new(device.id).unwrap();
        for number in [-5, -9999] {
            let event = Event::by_hand(&context).unwrap();
            assert!(!event.is_complete().unwrap());
            event.set_by_hand(number).unwrap();
            assert!(said(event.is_complete()).contains("the driver says") || number == -5);
            assert!(!said(event.wait()).is_empty());
        }
        let event = Event::by_hand(&context).unwrap();
        event.set_by_hand(0).unwrap();
        assert!(event.is_complete().unwrap());
        event.wait().unwrap();
    }
}
