//! The state of a training on disk: the whole of it, or that of before.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The state of a training between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The steps that were made.
    pub steps: u64,
    pub parameters: Vec<f64>,
    pub velocity: Vec<f64>,
}

/// A state, with what it is the state of.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The options that a training depends on: it goes on with the same.
    pub settings: String,
    /// The number of ranks, on which the last bits depend.
    pub ranks: u64,
    pub state: State,
}

const HEADER: &[u8] = b"deltaray checkpoint 1\n";

impl Checkpoint {
    /// Writes a file beside the path and gives it that name once all of it is on disk: whenever the process or the machine stops,
    /// the path is the old checkpoint or the new one.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let partial = partial(path);
        let write = || -> io::Result<()> {
            let mut file = File::create(&partial)?;
            file.write_all(&self.bytes())?;
            file.sync_all()?;
            std::fs::rename(&partial, path)?;
            File::open(folder(path))?.sync_all()
        };
        write().map_err(|error| format!("the checkpoint {}: {error}", path.display()))
    }

    /// Whether one can be written there, before there is any: the folder takes a file, and the path is no folder.
    pub fn check(path: &Path) -> Result<(), String> {
        let failed = |problem: String| Err(format!("the checkpoint {}: {problem}", path.display()));
        if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return failed("it is a folder".into());
        }
        let partial = partial(path);
        match File::create(&partial).and_then(|_| std::fs::remove_file(&partial)) {
            Ok(()) => Ok(()),
            Err(error) => failed(error.to_string()),
        }
    }

    /// Reads a file that [`Checkpoint::write`] wrote.
    pub fn read(path: &Path) -> Result<Checkpoint, String> {
        let failed = |problem: String| format!("the checkpoint {}: {problem}", path.display());
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        Checkpoint::parse(&bytes).ok_or_else(|| failed("it is damaged, or no checkpoint of this program".into()))
    }

    fn bytes(&self) -> Vec<u8> {
        let Checkpoint { settings, ranks, state: State { steps, parameters, velocity } } = self;
        let mut bytes = HEADER.to_vec();
        for number in [settings.len() as u64, *ranks, *steps, parameters.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(settings.as_bytes());
        bytes.extend(parameters.iter().chain(velocity).flat_map(|number| number.to_le_bytes()));
        bytes.extend(hash(&bytes).to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Checkpoint> {
        let (content, end) = bytes.split_last_chunk::<8>()?;
        let mut rest = content.strip_prefix(HEADER).filter(|_| hash(content) == u64::from_le_bytes(*end))?;
        let mut number = || {
            let (number, others) = rest.split_first_chunk::<8>()?;
            rest = others;
            Some(u64::from_le_bytes(*number))
        };
        let (length, ranks, steps, count) = (number()?, number()?, number()?, number()?);
        let (settings, numbers) = rest.split_at_checked(length as usize)?;
        let settings = String::from_utf8(settings.to_vec()).ok()?;
        let (numbers, []) = numbers.as_chunks::<8>() else { return None };
        let numbers: Vec<f64> = numbers.iter().map(|number| f64::from_le_bytes(*number)).collect();
        let (parameters, velocity) = numbers.split_at_checked(count as usize)?;
        let state = State { steps, parameters: parameters.to_vec(), velocity: velocity.to_vec() };
        (velocity.len() == parameters.len()).then_some(Checkpoint { settings, ranks, state })
    }
}

/// The folder of a file.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// In the same folder: a file changes its name at once within a file system only.
fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// Fowler, Noll and Vo's hash, the same for every version of the compiler.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The largest difference of two vectors of parameters, relative to the largest of their elements.
pub fn difference(a: &[f64], b: &[f64]) -> Result<f64, String> {
    if a.len() != b.len() {
        return Err(format!("{} parameters and {}", a.len(), b.len()));
    }
    let most = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, |most: f64, number| most.max(number.abs()));
    if !a.iter().chain(b).all(|number| number.is_finite()) {
        return Err("a parameter is no number".into());
    }
    let scale = most(&mut a.iter().chain(b).copied());
    Ok(most(&mut a.iter().zip(b).map(|(a, b)| a - b)) / scale.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let state = State { steps: 7, parameters: vec![1.0, -0.0, 1e-300], velocity: vec![0.5, f64::MAX, 3.0] };
        Checkpoint { settings: "rows 10".into(), ranks: 2, state }
    }

    #[test]
    fn what_was_written_is_read() {
        let path = std::env::temp_dir().join(format!("deltaray-checkpoint-{}", std::process::id()));
        std::fs::write(partial(&path), "left by a process that was killed").unwrap();
        for _ in 0..2 {
            checkpoint().write(&path).unwrap();
        }
        assert_eq!(Checkpoint::read(&path), Ok(checkpoint()));
        assert!(!partial(&path).exists());
        std::fs::remove_file(&path).unwrap();
        assert!(Checkpoint::read(&path).unwrap_err().starts_with("the checkpoint /"));
    }

    #[test]
    fn places_are_checked_before_there_is_a_checkpoint() {
        let folder = std::env::temp_dir();
        assert!(Checkpoint::check(&folder).unwrap_err().ends_with("it is a folder"));
        assert!(Checkpoint::check(&folder.join("missing/name")).is_err());
        let path = folder.join(format!("deltaray-place-{}", std::process::id()));
        assert_eq!(Checkpoint::check(&path), Ok(()));
        assert!(!partial(&path).exists() && !path.exists());
    }

    #[test]
    fn every_damage_is_found() {
        let bytes = checkpoint().bytes();
        for length in 0..bytes.len() {
            assert_eq!(Checkpoint::parse(&bytes[..length]), None);
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert_eq!(Checkpoint::parse(&damaged), None);
        }
        // A hash that fits, and lengths that do not.
        let mut content = bytes[..bytes.len() - 8].to_vec();
        content[HEADER.len() + 24] += 1;
        content.extend(hash(&content).to_le_bytes());
        assert_eq!(Checkpoint::parse(&content), None);
    }

    #[test]
    fn differences_are_relative_to_the_largest_element() {
        assert_eq!(difference(&[4.0, 1.0], &[4.0, 2.0]), Ok(0.25));
        assert_eq!(difference(&[0.0], &[0.0]), Ok(0.0));
        assert!(difference(&[1.0], &[]).is_err() && difference(&[f64::NAN], &[1.0]).is_err());
    }
}
