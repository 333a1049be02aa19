//! A folder with arrays as files of NumPy.

use deltaray::prelude::*;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub struct Folder(PathBuf);

impl Folder {
    /// The folder at a path, where one is made if there is none.
    pub fn new(path: impl AsRef<Path>) -> Result<Folder, String> {
        let path = path.as_ref();
        fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Folder(path.to_path_buf()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.0.join(name);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Writes the arrays of a tree into a folder of this one, under their names in the program.
    pub fn write_tree<T: Tree<Concrete>>(&self, folder: &str, names: &[String], tree: &T) -> Result<(), String> {
        let inner = Folder::new(self.0.join(folder))?;
        for (name, array) in names.iter().zip(tree.leaves()) {
            let floats = array.to_vec::<f64>().map(|all| ("<f8", all.into_iter().map(f64::to_le_bytes).collect()));
            let integers = array.to_vec::<i64>().map(|all| ("<i8", all.into_iter().map(i64::to_le_bytes).collect()));
            let (kind, words): (&str, Vec<[u8; 8]>) =
                floats.or(integers).ok_or_else(|| format!("{name} holds neither f64 nor i64"))?;
            let mut file = header(kind, array.shape()).map_err(|error| error.to_string())?;
            file.extend(words.as_flattened());
            inner.write(&format!("{name}.npy"), &file)?;
        }
        Ok(())
    }
}

/// The head of a file of NumPy, format 1.0: its length is a multiple of 64 bytes.
fn header(kind: &str, shape: &[usize]) -> io::Result<Vec<u8>> {
    let shape: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    let width = (10 + text.len() + 1).next_multiple_of(64) - 10 - 1;
    let length = u16::try_from(width + 1).map_err(io::Error::other)?;
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend(length.to_le_bytes());
    head.extend(format!("{text:width$}\n").bytes());
    Ok(head)
}
