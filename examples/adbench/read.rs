//! ADBench's files.

use crate::objectives::hand::Hand;
use deltaray::prelude::*;
use std::error::Error;
use std::path::Path;
use std::str::FromStr;

/// Numbers apart by white space.
pub struct Numbers<'a> {
    words: std::str::SplitWhitespace<'a>,
}

impl<'a> Numbers<'a> {
    pub fn new(text: &'a str) -> Numbers<'a> {
        Numbers { words: text.split_whitespace() }
    }

    pub fn next<T: FromStr>(&mut self) -> Result<T, Box<dyn Error>> {
        let word = self.words.next().ok_or("the file ends too early")?;
        word.parse().map_err(|_| format!("`{word}` is no such number").into())
    }

    pub fn vector(&mut self, len: usize) -> Result<Vec<f64>, Box<dyn Error>> {
        (0..len).map(|_| self.next()).collect()
    }

    pub fn matrix(&mut self, rows: usize, columns: usize) -> Result<Matrix<Concrete, f64>, Box<dyn Error>> {
        Ok(Matrix::from_elements((rows, columns), self.vector(rows * columns)?))
    }

    /// How many numbers are left.
    pub fn left(&self) -> usize {
        self.words.clone().count()
    }
}

/// The numbers of a line, apart by colons.
fn line<T: FromStr>(words: &[&str]) -> Result<Vec<T>, Box<dyn Error>> {
    words.iter().map(|word| word.trim().parse().map_err(|_| format!("`{word}` is no such number").into())).collect()
}

/// The model of a hand.
pub fn hand(directory: &Path) -> Result<Hand<Concrete>, Box<dyn Error>> {
    let read = |name| std::fs::read_to_string(directory.join(name)).map_err(|error| format!("{name}: {error}"));
    let (mut parents, mut relatives, mut inverses) = (Vec::new(), Vec::new(), Vec::new());
    for bone in read("bones.txt")?.lines() {
        let words: Vec<&str> = bone.split(':').collect();
        let [_, parent, matrices @ ..] = &words[..] else { return Err("a bone without a parent".into()) };
        parents.push(usize::try_from(parent.parse::<i64>()?).ok());
        let numbers: Vec<f64> = line(matrices)?;
        if numbers.len() != 32 {
            return Err("a bone without two matrices".into());
        }
        relatives.extend_from_slice(&numbers[..16]);
        inverses.extend_from_slice(&numbers[16..]);
    }
    let bones = parents.len();
    let (mut positions, mut weights) = (Vec::new(), Vec::new());
    for vertex in read("vertices.txt")?.lines() {
        let words: Vec<&str> = vertex.split(':').collect();
        let [x, y, z, _, _, _, _, _, count, pairs @ ..] = &words[..] else { return Err("a short vertex".into()) };
        positions.extend(line::<f64>(&[x, y, z])?);
        positions.push(1.0);
        let mut row = vec![0.0; bones];
        for pair in pairs.chunks_exact(2).take(count.parse()?) {
            let bone: usize = pair[0].parse()?;
            *row.get_mut(bone).ok_or("a vertex of a bone that is not there")? = pair[1].trim().parse()?;
        }
        weights.extend(row);
    }
    let mut triangles = Vec::new();
    for triangle in read("triangles.txt")?.lines() {
        triangles.extend(line::<i64>(&triangle.split(':').collect::<Vec<_>>())?);
    }
    let (vertices, triangle_count) = (positions.len() / 4, triangles.len() / 3);
    Ok(Hand {
        parents,
        base_relatives: Tensor::from_elements((bones, 4, 4), relatives),
        inverse_base_absolutes: Tensor::from_elements((bones, 4, 4), inverses),
        base_positions: Matrix::from_elements((vertices, 4), positions),
        weights: Matrix::from_elements((vertices, bones), weights),
        triangles: Matrix::from_elements((triangle_count, 3), triangles),
    })
}
