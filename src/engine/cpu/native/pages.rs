//! Memory for code, which is never writable and executable at once.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

unsafe extern "C" {
    fn mmap(at: *mut c_void, bytes: usize, access: c_int, kind: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn mprotect(at: *mut c_void, bytes: usize, access: c_int) -> c_int;
    fn munmap(at: *mut c_void, bytes: usize) -> c_int;
}

const READ: c_int = 1;
const WRITE: c_int = 2;
const EXECUTE: c_int = 4;
/// Private memory of no file, on Linux.
const KIND: c_int = 0x22;

/// Code that can run.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is not written any more, and freed once.
unsafe impl Send for Pages {}
// SAFETY: the same.
unsafe impl Sync for Pages {}

impl Pages {
    /// So many bytes with these functions, each after so many; `None` where the system gives no memory that may run.
    pub(super) fn of(bytes: usize, functions: &[(usize, Vec<u8>)]) -> Option<Pages> {
        // SAFETY: new memory is asked for, written inside of its bounds where nobody else knows of it, and then never again.
        unsafe {
            let start = mmap(std::ptr::null_mut(), bytes, READ | WRITE, KIND, -1, 0);
            if start as isize == -1 {
                return None;
            }
            let pages = Pages { start: NonNull::new(start.cast())?, bytes };
            for (at, function) in functions {
                assert!(at + function.len() <= bytes, "functions are inside of the memory");
                pages.start.as_ptr().add(*at).copy_from_nonoverlapping(function.as_ptr(), function.len());
            }
            (mprotect(start, bytes, READ | EXECUTE) == 0).then_some(pages)
        }
    }

    /// Where the code begins.
    pub(super) fn start(&self) -> *const u8 {
        self.start.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the memory was mapped with this length, and nothing runs in it: whoever runs it borrows this.
        unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
