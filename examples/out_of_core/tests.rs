use super::*;

/// A file of NumPy's format 1.
fn written(name: &str, descr: &str, shape: &str, numbers: &[f64]) -> String {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    let path = std::env::temp_dir().join(format!("deltaray-{}-{name}.npy", std::process::id()));
    std::fs::write(&path, bytes).expect("the folder for temporary files can be written");
    path.to_str().expect("a path in UTF-8").to_string()
}

#[test]
fn losses_fall_and_do_not_depend_on_chunks() {
    let of = |each| fit(|| Ok(Rows::new(1000, each).map(Ok)), (1000, FEATURES), 5).unwrap();
    let (whole, losses) = of(1000);
    assert!((losses[0] - 2f64.ln()).abs() < 1e-12 && losses.windows(2).all(|pair| pair[1] < pair[0]), "{losses:?}");
    let (model, others) = of(77);
    for (a, b) in losses.iter().zip(&others).chain(whole.weights.to_vec().iter().zip(&model.weights.to_vec())) {
        assert!((a - b).abs() <= 1e-12 * a.abs(), "{a} and {b}");
    }
}

#[test]
fn files_have_the_same_rows() {
    let rows: Chunk = Rows::new(100, 100).next().expect("a chunk");
    let path = written("rows", "<f8", "100, 32", &rows.to_vec());
    let chunks = npy::Chunks::open(&path, 7 * 8 * 32).unwrap();
    assert_eq!(chunks.shape(), (100, 32));
    let read: Vec<f64> = chunks.flat_map(|chunk| chunk.unwrap().to_vec()).collect();
    assert_eq!(read, rows.to_vec());
}

#[test]
fn bad_files_are_errors() {
    let open = |path: &str| npy::Chunks::open(path, 64).map(|_| ()).unwrap_err().to_string();
    assert!(open("missing.npy").contains("missing.npy"));
    assert!(open(&written("single", "<f4", "1, 2", &[1.0])).contains("float64"));
    assert!(open(&written("vector", "<f8", "2,", &[1.0, 2.0])).contains("no matrix"));
    for shape in ["3, 2", "1, 2", "18446744073709551615, 3", "1, 1000000000000"] {
        let other = written("short", "<f8", shape, &[1.0; 4]);
        assert!(open(&other).contains("as many bytes as its shape says are not there"), "{shape}");
    }
    assert!(open(&written("negative", "<f8", "-1, 2", &[1.0; 2])).contains("no matrix"));
    // A file that another process cuts off.
    let path = written("cut", "<f8", "3, 2", &[1.0; 6]);
    let chunks = npy::Chunks::open(&path, 32).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(90)).unwrap();
    assert!(chunks.last().unwrap().unwrap_err().to_string().contains(&path));
}

#[test]
fn rows_that_are_no_numbers_or_of_no_class_are_errors() {
    let fitted = |row: [f64; 2]| fit(|| Ok(std::iter::once(Ok(Matrix::from([row])))), (1, 1), 1).map(|_| ());
    assert!(fitted([1.0, 2.0]).is_ok());
    assert!(fitted([2.0, 2.0]).unwrap_err().to_string().contains("a class is 2"));
    assert!(fitted([1.0, f64::NAN]).unwrap_err().to_string().contains("the loss is NaN"));
}
