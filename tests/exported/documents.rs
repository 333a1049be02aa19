//! Texts and JSON of programs, changed at random.

use crate::random::chance::Random;
use deltaray::shape::Type;
use deltaray::term::{Body, Op, Steps};

const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "255",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "0.5",
];

/// The ends of a short span.
fn span(random: &mut Random, length: usize) -> (usize, usize) {
    let start = random.below(length.max(1));
    (start, length.min(start + 1 + random.below(24)))
}

/// The runs of digits of a text.
fn digits(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut start = None;
    for at in 0..=bytes.len() {
        let is_digit = bytes.get(at).is_some_and(u8::is_ascii_digit);
        match (is_digit, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                runs.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    runs
}

/// A text with one to three changes, of any kind.
pub fn mutated(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(2) {
        if bytes.is_empty() {
            break;
        }
        let (start, end) = span(random, bytes.len());
        match random.below(9) {
            0 => bytes[start] ^= 1 << random.below(8),
            1 => bytes[start] = b" \n()[]{},:;.=+-*/<>#\"0129aeimpsx_"[random.below(33)],
            2 => bytes.truncate(start),
            3 => drop(bytes.drain(start..end)),
            4 => {
                let span = bytes[start..end].to_vec();
                bytes.splice(start..start, span);
            }
            5 => {
                let (from, to) = span(random, bytes.len());
                let span = bytes[from..to].to_vec();
                bytes.splice(start..end, span);
            }
            _ => {
                let runs = digits(&bytes);
                if !runs.is_empty() {
                    let (start, end) = random.pick(&runs);
                    let other = random.pick(&runs);
                    let number = match random.below(3) {
                        0 => bytes[other.0..other.1].to_vec(),
                        _ => random.pick(&NUMBERS).into(),
                    };
                    bytes.splice(start..end, number);
                }
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number whose products and sums are near the ends of 64 bits, or that is one of these ends.
pub fn far(random: &mut Random) -> i128 {
    let near = match random.below(4) {
        0 => 1i128 << random.whole(0, 64),
        1 => (1i128 << random.whole(55, 64)) / i128::from(random.whole(2, 9)),
        2 => i128::from(i64::MAX) / i128::from(random.whole(1, 9)),
        _ => 1i128 << random.whole(40, 60),
    };
    let number = near + i128::from(random.whole(-2, 2));
    if random.chance(0.5) { -number } else { number }
}

/// A text, of JSON or of a printed program, with one to three numbers changed to [`far`] ones, preferably those of maps; or
/// with all equal numbers changed, as all that state one extent are equal.
pub fn renumbered(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    if random.chance(0.2) {
        let all = digits(&bytes);
        let number = all.get(random.below(all.len().max(1))).map(|&(start, end)| bytes[start..end].to_vec());
        let other = far(random).unsigned_abs().to_string().into_bytes();
        for (start, end) in all.into_iter().rev() {
            if Some(&bytes[start..end]) == number.as_deref() {
                bytes.splice(start..end, other.iter().copied());
            }
        }
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    for _ in 0..=random.below(3) {
        let all = digits(&bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let within = |start: &str, end: &str| -> Vec<(usize, usize)> {
            let places = text.match_indices(start).map(|(at, _)| at);
            places.map(|at| (at, text[at..].find(end).map_or(text.len(), |length| at + length))).collect()
        };
        let maps = [within("\"matrix\":", "}"), within("\"offset\":", "]"), within("] -> [", "]")].concat();
        let is_of_a_map = |&(start, _): &(usize, usize)| maps.iter().any(|&(from, to)| from < start && start < to);
        let of_maps: Vec<(usize, usize)> = all.iter().copied().filter(is_of_a_map).collect();
        let among = if of_maps.is_empty() || random.chance(0.15) { all } else { of_maps };
        if among.is_empty() {
            break;
        }
        let (mut start, end) = random.pick(&among);
        // With its sign, if it has one.
        if start > 0 && bytes[start - 1] == b'-' {
            start -= 1;
        }
        bytes.splice(start..end, far(random).to_string().into_bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many elements a program goes through; `None` where that is not known, or more than so many.
pub fn work(body: &Body, most: usize) -> Option<usize> {
    let mut total: usize = 0;
    for node in body.nodes() {
        let nested = match &node.op {
            Op::Scan(scan) => work(&scan.body, most)?.checked_mul(scan.length)?,
            Op::Branch(branch) => work(&branch.then, most)?.checked_add(work(&branch.otherwise, most)?)?,
            Op::Custom(custom) => work(&custom.value, most)?,
            Op::Sweeps(sweeps) => {
                let Steps::Count(count) = sweeps.steps else { return None };
                let mut each: usize = 1;
                for sweep in &sweeps.sweeps {
                    each = each.checked_add(work(&sweep.body, most)?)?;
                }
                // Steps are run again.
                each.checked_mul(count)?.checked_mul(count.max(1))?
            }
            Op::Contract(spec) => {
                let shapes: Vec<&[usize]> = node.args.iter().map(|&arg| &body.node(arg).ty().shape[..]).collect();
                let extent = |&label| spec.extent(label, shapes[0], shapes[1]);
                let right = spec.right.iter().filter(|label| !spec.left.contains(label));
                spec.left.iter().chain(right).map(extent).try_fold(1, usize::checked_mul)?
            }
            _ => 1,
        };
        let operands = node.args.iter().flat_map(|&arg| &body.node(arg).types);
        let elements = operands.chain(&node.types).map(Type::size).try_fold(0, usize::checked_add)?;
        total = total.checked_add(nested)?.checked_add(elements).filter(|&total| total <= most)?;
    }
    Some(total)
}
