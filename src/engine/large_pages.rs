//! Large pages for large arrays.
//!
//! The system hands out memory when it is written for the first time, and clears it, page by page. For pages of 4 KiB that takes
//! several times as long as computing their elements. Linux has pages of 2 MiB for memory that asks for them.

/// Bytes from which memory asks, as NumPy's arrays do. Smaller arrays mostly get memory that was used before.
const LEAST: usize = 4 << 20;

/// Asks for large pages for memory that was allocated just now. Where there are none, it has small ones.
#[cfg(target_os = "linux")]
pub(super) fn ask(start: *mut u8, bytes: usize) {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(at: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    }
    /// The number of the advice, on all machines.
    const HUGE_PAGES: c_int = 14;
    /// Small pages are as large at most, and addresses are multiples of them.
    const SMALL_PAGE: usize = 64 << 10;
    if bytes < LEAST {
        return;
    }
    let skipped = start.addr().next_multiple_of(SMALL_PAGE) - start.addr();
    let whole = (bytes - skipped) / SMALL_PAGE * SMALL_PAGE;
    // SAFETY: the pages lie inside of the memory, whose contents stay as they are. A refusal changes nothing.
    unsafe { madvise(start.wrapping_add(skipped).cast(), whole, HUGE_PAGES) };
}

/// Other systems choose the size of pages themselves.
#[cfg(not(target_os = "linux"))]
pub(super) fn ask(_start: *mut u8, _bytes: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::engine::arrays::lines;

    /// The flags of the memory at an address.
    fn flags(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux says where memory is");
        let mut is_inside = false;
        for line in maps.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let range = range.map(|(first, end)| [first, end].map(|number| usize::from_str_radix(number, 16)));
            if let Some([Ok(first), Ok(end)]) = range {
                is_inside = (first..end).contains(&address);
            }
            if let (true, Some(flags)) = (is_inside, line.strip_prefix("VmFlags:")) {
                return flags.to_string();
            }
        }
        panic!("no memory at {address:x}");
    }

    #[test]
    fn large_memory_asks_for_large_pages() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        for (bytes, asks) in [(LEAST - 64, false), (64 << 20, true)] {
            let memory = lines(bytes).expect("there is memory");
            let middle = memory.as_ptr().addr() + bytes / 2;
            assert_eq!(flags(middle).split_whitespace().any(|flag| flag == "hg"), asks, "{bytes} bytes");
        }
    }
}
