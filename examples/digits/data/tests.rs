//! The readers, on good files and on bad ones.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;

/// A directory of its own for a test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("deltaray-digits-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn write(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, contents).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(contents).unwrap();
    encoder.finish().unwrap()
}

fn problem(path: &Path) -> String {
    let text = load(path).err().expect("a bad file").to_string();
    assert!(!text.contains('\n'), "{text:?} is more than one line");
    text
}

/// A good line: pixels all of one value.
fn line(pixel: &str, label: &str) -> String {
    format!("{}{label}\n", format!("{pixel},").repeat(64))
}

#[test]
fn the_digits_are_all_there() {
    let digits = load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/digits.csv.gz"))).unwrap();
    assert_eq!(digits.images.dim(), (1797, 64));
    assert_eq!(digits.labels.len(), 1797);
    assert_eq!(digits.images.iter().cloned().fold(0.0, f32::max), 1.0);
    assert_eq!(digits.images[[0, 2]], 5.0 / 16.0);
    assert_eq!(digits.labels[..4], [0, 1, 2, 3]);
    let split = digits.split(&mut Random::new(0));
    assert_eq!((split.training.len(), split.test.len()), (1437, 360));
    let mut all = [split.training, split.test].concat();
    all.sort_unstable();
    assert_eq!(all, (0..1797).collect::<Vec<_>>());
}

#[test]
fn bad_csv_files_name_file_and_line() {
    let scratch = Scratch::new("csv");
    let good = line("16", "9");
    let cases: [(&str, String, &str); 9] = [
        ("columns", good.clone() + "1,2,3\n", "line 2: 3 columns"),
        ("letters", good.clone() + &good + &line("x", "1"), "line 3: column 1: a pixel is `x`"),
        ("fraction", line("0.5", "1"), "line 1: column 1: a pixel is `0.5`"),
        ("bright", line("17", "1"), "line 1: column 1: a pixel is `17`, not 0 to 16"),
        ("label", good.clone() + &line("0", "10"), "line 2: column 65: the label is `10`, not 0 to 9"),
        ("control", line("0", "\u{1b}[2J"), "the label is `\\u{1b}[2J`"),
        ("endless", "0,".repeat(100_000), "line 1: 2049 columns"),
        ("blank", good.clone() + "\n" + &good, "line 2: 1 columns"),
        ("empty", String::new(), "0 images"),
    ];
    for (name, contents, expected) in cases {
        for path in [
            scratch.write(&format!("{name}.csv"), contents.as_bytes()),
            scratch.write(&format!("{name}.csv.gz"), &gzip(contents.as_bytes())),
        ] {
            let text = problem(&path);
            assert!(text.starts_with(&path.display().to_string()) && text.contains(expected), "{name}: {text}");
        }
    }
    let path = scratch.write("binary.csv", &[0xff; 100]);
    assert!(problem(&path).contains("line 1: not text"));
    assert!(problem(&scratch.0.join("missing.csv")).contains("missing.csv: "));
}

#[test]
fn damaged_gzip_files_are_errors_wherever_they_are_cut() {
    let scratch = Scratch::new("gzip");
    let whole = gzip(line("3", "4").repeat(50).as_bytes());
    for length in 0..whole.len() {
        problem(&scratch.write("cut.csv.gz", &whole[..length]));
    }
    let mut flipped = whole.clone();
    *flipped.iter_mut().nth_back(6).unwrap() ^= 1;
    assert!(problem(&scratch.write("flipped.csv.gz", &flipped)).contains("line 51"));
    problem(&scratch.write("text.csv.gz", line("3", "4").as_bytes()));
}

/// An IDX file of bytes.
fn idx(extents: &[u32], elements: &[u8]) -> Vec<u8> {
    let words = extents.iter().flat_map(|extent| extent.to_be_bytes());
    [0, 0, 8, extents.len() as u8].into_iter().chain(words).chain(elements.iter().copied()).collect()
}

const NAMES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// A directory with three training images and one test image of 2×2 pixels.
fn mnist(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write(NAMES[0], &idx(&[3, 2, 2], &[0, 51, 102, 255, 0, 0, 0, 0, 255, 255, 255, 255]));
    scratch.write(NAMES[1], &idx(&[3], &[7, 0, 9]));
    scratch.write(&format!("{}.gz", NAMES[2]), &gzip(&idx(&[1, 2, 2], &[0, 0, 0, 255])));
    scratch.write(&format!("{}.gz", NAMES[3]), &gzip(&idx(&[1], &[5])));
    scratch
}

#[test]
fn mnist_files_are_read_with_their_split() {
    let scratch = mnist("mnist");
    let mnist = load(&scratch.0).unwrap();
    assert_eq!(mnist.images.dim(), (4, 4));
    assert_eq!(mnist.images.row(0).to_vec(), [0.0, 0.2, 0.4, 1.0]);
    assert_eq!(mnist.labels, [7, 0, 9, 5]);
    let split = mnist.split(&mut Random::new(0));
    assert_eq!((split.training, split.test), (vec![0, 1, 2], vec![3]));
}

#[test]
fn bad_idx_files_are_errors() {
    let image = idx(&[3, 2, 2], &[0; 12]);
    let mut other_type = image.clone();
    other_type[2] = 13;
    let cases: [(usize, Vec<u8>, &str); 11] = [
        (0, idx(&[u32::MAX, u32::MAX, u32::MAX], &[0; 12]), "more than a file of 28 bytes can hold"),
        (0, idx(&[u32::MAX, 28, 28], &[0; 12]), "more than a file of 28 bytes can hold"),
        (0, idx(&[3, 2, 2], &[0; 11]), "more than a file of 27 bytes can hold"),
        (0, idx(&[3, 2, 2], &[0; 13]), "goes on after the 12 elements"),
        (0, other_type, "starts with the bytes [0, 0, 13, 3]"),
        (0, image[..9].to_vec(), "the header's extents"),
        (0, Vec::new(), "the header's magic number"),
        (0, idx(&[3, 0, 2], &[]), "nothing to learn from"),
        (1, idx(&[2], &[1, 2]), "2 labels for the 3 images"),
        (1, idx(&[3], &[1, 2, 10]), "the label of image 3 is 10"),
        (2, idx(&[1, 1, 4], &[0; 4]), "1×4 pixels, but training images have 2×2"),
    ];
    for (at, (which, contents, expected)) in cases.into_iter().enumerate() {
        let scratch = mnist(&format!("bad-{at}"));
        scratch.write(NAMES[which], &contents);
        let text = problem(&scratch.0);
        assert!(text.contains(NAMES[which]) && text.contains(expected), "{text}");
    }
}

#[test]
fn bad_gzipped_idx_files_are_errors() {
    for (at, (contents, expected)) in [
        (gzip(&idx(&[u32::MAX, 28, 28], &[0])), "can hold"),
        (gzip(&idx(&[2, 2, 2], &[0; 4])), "ends after 4 of 8 elements"),
        (gzip(&idx(&[1, 2, 2], &[0; 5])), "goes on after the 4 elements"),
        (gzip(&idx(&[1, 2, 2], &[0; 4]))[..12].to_vec(), "header"),
    ]
    .into_iter()
    .enumerate()
    {
        let scratch = mnist(&format!("bad-gzip-{at}"));
        scratch.write(&format!("{}.gz", NAMES[2]), &contents);
        let text = problem(&scratch.0);
        assert!(text.contains(NAMES[2]) && text.contains(expected), "{text}");
    }
    let scratch = mnist("missing");
    fs::remove_file(scratch.0.join(NAMES[1])).unwrap();
    assert!(problem(&scratch.0).contains("neither train-labels-idx1-ubyte nor train-labels-idx1-ubyte.gz"));
}
