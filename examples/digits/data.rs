//! Reading of images and labels: the CSV file that comes with this example, or MNIST's IDX files.
//!
//! Files are not trusted: nothing is allocated just because a header says so, and any problem becomes one line with its
//! position.

use crate::random::Random;
use flate2::read::MultiGzDecoder;
use ndarray::{Array2, Axis};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// There are ten digits.
pub const CLASSES: usize = 10;

/// The pixels of an image in the CSV file, and their largest value.
const CSV_PIXELS: usize = 64;
const CSV_BRIGHTEST: u8 = 16;
/// Bounds on CSV files, so that a damaged or hostile one, which may unpack to a thousand times its size, ends in an error.
const CSV_LONGEST_LINE: u64 = 4096;
const CSV_MOST_IMAGES: usize = 100_000;
/// Deflate can not pack better than this.
const DEFLATE_BEST_RATIO: u64 = 1032;

/// Images with their labels.
pub struct Dataset {
    /// One image a row, row by row, pixels from 0 to 1.
    pub images: Array2<f32>,
    /// The digit on each image.
    pub labels: Vec<u8>,
    /// Where the files say which images are for training: so many, from the first.
    training: Option<usize>,
}

/// Which images, by position, are for training, and which for testing.
pub struct Split {
    pub training: Vec<usize>,
    pub test: Vec<usize>,
}

impl Dataset {
    /// The split that the files came in, or else four fifths, drawn at random, for training.
    pub fn split(&self, random: &mut Random) -> Split {
        let mut order: Vec<usize> = (0..self.labels.len()).collect();
        let training = self.training.unwrap_or_else(|| {
            random.shuffle(&mut order);
            self.labels.len() * 4 / 5
        });
        let test = order.split_off(training);
        Split { training: order, test }
    }

    /// The images at these positions, and their labels.
    pub fn rows(&self, positions: &[usize]) -> (Array2<f32>, Vec<u8>) {
        let labels = positions.iter().map(|&at| self.labels[at]).collect();
        (self.images.select(Axis(0), positions), labels)
    }

    fn new(pixels: usize, images: Vec<f32>, labels: Vec<u8>, training: Option<usize>) -> Dataset {
        let images = Array2::from_shape_vec((labels.len(), pixels), images).expect("readers count the pixels");
        Dataset { images, labels, training }
    }
}

/// A problem in a data file.
#[derive(Debug)]
pub struct DataError {
    file: PathBuf,
    line: Option<usize>,
    problem: String,
}

impl DataError {
    fn new(file: &Path, problem: impl fmt::Display) -> DataError {
        DataError { file: file.into(), line: None, problem: problem.to_string() }
    }

    fn at(file: &Path, line: usize, problem: impl fmt::Display) -> DataError {
        DataError { file: file.into(), line: Some(line), problem: problem.to_string() }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for DataError {}

/// Reads a directory of MNIST's files, or a CSV file; gzipped where the name ends in `.gz`.
pub fn load(path: &Path) -> Result<Dataset, DataError> {
    if path.is_dir() { load_mnist(path) } else { load_csv(path) }
}

/// A file's contents, unpacked where its name ends in `.gz`, and its length as it is stored.
fn open(path: &Path) -> Result<(Box<dyn BufRead>, u64), DataError> {
    let failed = |error: io::Error| DataError::new(path, error);
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let reader: Box<dyn BufRead> = match is_packed(path) {
        true => Box::new(BufReader::new(MultiGzDecoder::new(file))),
        false => Box::new(BufReader::new(file)),
    };
    Ok((reader, length))
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// A CSV file: 64 pixels of 0 to 16, then the label, on every line.
fn load_csv(path: &Path) -> Result<Dataset, DataError> {
    let (mut reader, _) = open(path)?;
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader.by_ref().take(CSV_LONGEST_LINE).read_until(b'\n', &mut bytes);
        if read.map_err(|error| DataError::at(path, number, error))? == 0 {
            break;
        }
        if number > CSV_MOST_IMAGES {
            return Err(DataError::at(path, number, format!("more than {CSV_MOST_IMAGES} images")));
        }
        labels.push(parse_line(&bytes, &mut images).map_err(|problem| DataError::at(path, number, problem))?);
    }
    if labels.len() < 2 {
        return Err(DataError::new(path, format!("{} images, but at least 2 are needed", labels.len())));
    }
    Ok(Dataset::new(CSV_PIXELS, images, labels, None))
}

/// Appends the pixels of a line and returns its label.
fn parse_line(bytes: &[u8], images: &mut Vec<f32>) -> Result<u8, String> {
    let Ok(line) = str::from_utf8(bytes) else { return Err("not text".into()) };
    let fields: Vec<&str> = line.trim_end().split(',').collect();
    if fields.len() != CSV_PIXELS + 1 {
        let (found, expected) = (fields.len(), CSV_PIXELS + 1);
        return Err(format!("{found} columns, but {expected} are needed ({CSV_PIXELS} pixels and the label)"));
    }
    let field = |column: usize, what: &str, largest: u8| match fields[column].trim().parse::<u8>() {
        Ok(value) if value <= largest => Ok(value),
        _ => Err(format!("column {}: {what} is `{}`, not 0 to {largest}", column + 1, shown(fields[column]))),
    };
    for column in 0..CSV_PIXELS {
        images.push(f32::from(field(column, "a pixel", CSV_BRIGHTEST)?) / f32::from(CSV_BRIGHTEST));
    }
    field(CSV_PIXELS, "the label", CLASSES as u8 - 1)
}

/// A field as an error message shows it: short, on one line and without control characters.
fn shown(field: &str) -> String {
    field.chars().take(20).flat_map(char::escape_debug).collect()
}

/// MNIST: two pairs of files, images and labels, for training and for testing.
fn load_mnist(directory: &Path) -> Result<Dataset, DataError> {
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    let mut shape = None;
    let mut training = None;
    for part in ["train", "t10k"] {
        let pictures = read_idx(directory, &format!("{part}-images-idx3-ubyte"), 3)?;
        let digits = read_idx(directory, &format!("{part}-labels-idx1-ubyte"), 1)?;
        let (count, size) = (pictures.extents[0], (pictures.extents[1], pictures.extents[2]));
        if count == 0 || size.0 * size.1 == 0 {
            let problem = format!("{count} images of {}×{} pixels: nothing to learn from", size.0, size.1);
            return Err(DataError::new(&pictures.file, problem));
        }
        if digits.extents[0] != count {
            let problem = format!("{} labels for the {count} images of the file beside it", digits.extents[0]);
            return Err(DataError::new(&digits.file, problem));
        }
        if let Some(at) = digits.bytes.iter().position(|&label| usize::from(label) >= CLASSES) {
            let problem = format!("the label of image {} is {}, not 0 to 9", at + 1, digits.bytes[at]);
            return Err(DataError::new(&digits.file, problem));
        }
        let expected = *shape.get_or_insert(size);
        if size != expected {
            let (found, expected) = (format!("{}×{}", size.0, size.1), format!("{}×{}", expected.0, expected.1));
            return Err(DataError::new(&pictures.file, format!("{found} pixels, but training images have {expected}")));
        }
        images.extend(pictures.bytes.iter().map(|&pixel| f32::from(pixel) / 255.0));
        labels.extend_from_slice(&digits.bytes);
        training.get_or_insert(count);
    }
    let (rows, columns) = shape.expect("two parts were read");
    Ok(Dataset::new(rows * columns, images, labels, training))
}

/// An IDX file of bytes.
struct Idx {
    file: PathBuf,
    extents: Vec<usize>,
    bytes: Vec<u8>,
}

/// Reads an IDX file, or the same with `.gz` after its name: the type of elements, the number of axes, the extents as
/// big-endian words, then the elements.
fn read_idx(directory: &Path, name: &str, axes: u8) -> Result<Idx, DataError> {
    let mut file = directory.join(name);
    if !file.exists() {
        file = directory.join(format!("{name}.gz"));
    }
    if !file.exists() {
        return Err(DataError::new(directory, format!("neither {name} nor {name}.gz is there")));
    }
    let (mut reader, stored) = open(&file)?;
    let mut word = |what: &str| {
        let mut bytes = [0; 4];
        reader
            .read_exact(&mut bytes)
            .map_err(|error| DataError::new(&file, format!("the header's {what}: {error}")))?;
        Ok(bytes)
    };
    let magic = word("magic number")?;
    if magic != [0, 0, 8, axes] {
        let problem = format!(
            "starts with the bytes {magic:?}, but an IDX file of bytes with {axes} axes with [0, 0, 8, {axes}]"
        );
        return Err(DataError::new(&file, problem));
    }
    let mut extents = Vec::new();
    for _ in 0..axes {
        extents.push(u32::from_be_bytes(word("extents")?));
    }
    let header = 4 + 4 * u64::from(axes);
    let claimed = extents.iter().try_fold(1u64, |size, &extent| size.checked_mul(u64::from(extent)));
    let possible = match is_packed(&file) {
        true => stored.saturating_mul(DEFLATE_BEST_RATIO),
        false => stored.saturating_sub(header),
    };
    let size = claimed.filter(|&size| size <= possible).ok_or_else(|| {
        DataError::new(
            &file,
            format!("the header says {extents:?}, which is more than a file of {stored} bytes can hold"),
        )
    })?;
    // Reading one byte more than expected shows excess data; the buffer grows with the data actually read.
    let mut bytes = Vec::new();
    reader.take(size + 1).read_to_end(&mut bytes).map_err(|error| DataError::new(&file, error))?;
    if bytes.len() as u64 != size {
        let problem = match (bytes.len() as u64) < size {
            true => format!("ends after {} of {size} elements", bytes.len()),
            false => format!("goes on after the {size} elements that the header says"),
        };
        return Err(DataError::new(&file, problem));
    }
    Ok(Idx { file, extents: extents.into_iter().map(|extent| extent as usize).collect(), bytes })
}

// A path, for packages that have this file as a module of theirs.
#[cfg(test)]
#[path = "data/tests.rs"]
mod tests;
