//! Hashing for tables of terms: their keys are the library's own, so that the protection against chosen keys, which costs as much
//! as looking them up, has no use.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table of terms.
pub(crate) type TermMap<K, V> = HashMap<K, V, BuildHasherDefault<TermHasher>>;

/// Multiplies and rotates, word by word.
#[derive(Clone, Copy, Default)]
pub(crate) struct TermHasher(u64);

/// An odd number without a pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl TermHasher {
    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
}

impl Hasher for TermHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(last));
        }
    }
    #[inline]
    fn write_u8(&mut self, x: u8) {
        self.word(u64::from(x));
    }
    #[inline]
    fn write_u32(&mut self, x: u32) {
        self.word(u64::from(x));
    }
    #[inline]
    fn write_u64(&mut self, x: u64) {
        self.word(x);
    }
    #[inline]
    fn write_usize(&mut self, x: usize) {
        self.word(x as u64);
    }
    #[inline]
    fn finish(&self) -> u64 {
        // Tables use the lowest bits, which products do not mix.
        (self.0 ^ (self.0 >> 32)).wrapping_mul(FACTOR).rotate_left(20)
    }
}
