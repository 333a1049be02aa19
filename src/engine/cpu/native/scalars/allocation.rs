//! The machine's registers for those of scalar instructions.

use super::forward::{ADDRESS, ELEMENT};
use super::intervals::{Class, Interval};
use crate::engine::cpu::native::encode::{General, RBP, RDI, RSI};
use crate::engine::cpu::scalars::RegisterIndex;
use crate::shape::{rank_of_float, sort_by_rank};
use std::collections::BTreeMap;

/// Vector registers for values; the others are free for what an instruction needs.
const FLOATS: u8 = 13;
/// General registers for values: those that functions change, then those that they leave.
const CHANGED: [General; 6] = [RSI, RDI, General(8), General(9), General(10), General(11)];
const LEFT: [General; 5] = [RBP, General(12), General(13), General(14), General(15)];

/// Where a register of instructions is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    Float(u8),
    General(General),
    /// In its place among the registers in memory.
    Memory,
}

/// The times in which one of the machine's registers is taken: where each ends, by where it begins.
#[derive(Default)]
struct Taken(BTreeMap<u32, u32>);

impl Taken {
    fn is_free(&self, interval: &Interval) -> bool {
        self.0.range(..=interval.end).next_back().is_none_or(|(_, &end)| end < interval.start)
    }
}

/// The home of each register, and the values that are read into theirs before the first instruction. Registers that are used most
/// often, for how long they hold a value, come first. Where elements are [forwarded](super::forward), two registers are theirs.
pub(super) fn allocate(
    mut intervals: Vec<Interval>,
    registers: usize,
    forwards: bool,
) -> (Vec<Home>, Vec<RegisterIndex>) {
    let density = |interval: &Interval| interval.uses / f64::from(interval.end - interval.start + 1);
    sort_by_rank(&mut intervals, |interval| !rank_of_float(density(interval)));
    let floats = (0..FLOATS).filter(|&float| !(forwards && float == ELEMENT));
    let mut floats: Vec<(u8, Taken)> = floats.map(|float| (float, Taken::default())).collect();
    let changed = || CHANGED.into_iter().filter(|&general| !(forwards && general == ADDRESS));
    let generals = changed().chain(LEFT);
    let mut generals: Vec<(General, Taken)> = generals.map(|general| (general, Taken::default())).collect();
    let (mut homes, mut given) = (vec![Home::Memory; registers], Vec::new());
    for interval in &intervals {
        // A value that is there, and read once, may as well be read where it is.
        if interval.is_given && interval.uses <= 1.0 {
            continue;
        }
        let home = match interval.class {
            // Functions change all vector registers.
            Class::Float if interval.over_call => None,
            Class::Float => floats.iter_mut().find(|(_, taken)| taken.is_free(interval)).map(|(float, taken)| {
                taken.0.insert(interval.start, interval.end);
                Home::Float(*float)
            }),
            Class::General => {
                let kept = if interval.over_call { changed().count() } else { 0 };
                generals[kept..].iter_mut().find(|(_, taken)| taken.is_free(interval)).map(|(general, taken)| {
                    taken.0.insert(interval.start, interval.end);
                    Home::General(*general)
                })
            }
        };
        if let Some(home) = home {
            homes[usize::from(interval.register)] = home;
            if interval.is_given {
                given.push(interval.register);
            }
        }
    }
    (homes, given)
}
