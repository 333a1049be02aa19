//! Derivatives of bodies, remembered: a body that is differentiated many times is so once.

use crate::term::{Body, MAX_NESTING};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A key by which values are remembered: bodies, and other distinctions.
pub(super) trait MemoKey: Eq + Hash {
    /// The bodies that the key holds on to.
    fn bodies(&self) -> impl Iterator<Item = &Body>;
}

impl<K: MemoKey, T: Eq + Hash, U: Eq + Hash> MemoKey for (K, T, U) {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.0.bodies()
    }
}

impl<K: MemoKey, L: MemoKey> MemoKey for (K, L) {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.0.bodies().chain(self.1.bodies())
    }
}

/// Whether derivatives are marked, which holds on to nothing.
impl MemoKey for bool {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        std::iter::empty()
    }
}

/// Which results have a cotangent, which holds on to nothing.
impl MemoKey for Vec<bool> {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        std::iter::empty()
    }
}

struct MemoTable<K, V> {
    values: HashMap<K, V>,
    /// The bytes of the constants in all keys.
    bytes: usize,
}

/// Values by key, bounded in number and in the memory of the constants they hold on to, for all threads.
pub(super) struct Memo<K, V>(LazyLock<Mutex<MemoTable<K, V>>>);

impl<K: MemoKey, V: Clone> Memo<K, V> {
    /// How many values are kept; beyond, all are forgotten.
    const CAPACITY: usize = 8 * MAX_NESTING;
    /// How many bytes of constants.
    const BYTES: usize = 1 << 24;

    pub(super) const fn new() -> Self {
        Memo(LazyLock::new(|| Mutex::new(MemoTable { values: HashMap::new(), bytes: 0 })))
    }

    /// The remembered value, or a new one. Nothing is locked while it is made: making it asks for others.
    pub(super) fn get(&self, key: K, make: impl FnOnce(&K) -> V) -> V {
        let table = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = table().values.get(&key) {
            return value.clone();
        }
        let value = make(&key);
        let bytes = key.bodies().fold(0usize, |sum, body| sum.saturating_add(body.constant_bytes()));
        let mut table = table();
        if table.values.len() >= Self::CAPACITY || table.bytes.saturating_add(bytes) > Self::BYTES {
            table.values.clear();
            table.bytes = 0;
        }
        // A value that alone exceeds the limit is not kept at all.
        if bytes <= Self::BYTES {
            table.bytes += bytes;
            table.values.insert(key, value.clone());
        }
        value
    }
}
