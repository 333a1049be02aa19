//! Views, gathers, scatters and their adjoints, and joining.

use super::*;
use crate::affine::AffineMap;
use smallvec::SmallVec;

fn random_map(random: &mut Random) -> AffineMap {
    let (rows, columns) = (random.below(4), random.below(4));
    let (source, result) = (random.shape(rows), random.shape(columns));
    match random.below(6) {
        0 => {
            let mut axes: Vec<usize> = (0..rows).collect();
            (1..rows).for_each(|at| axes.swap(at, random.below(at + 1)));
            AffineMap::transpose(&source, &axes)
        }
        1 if rows > 0 => {
            let axis = random.below(rows);
            let step = random.below(5) as i64 - 2;
            AffineMap::along(&source, axis, random.below(7) as i64 - 2, step, random.below(6))
        }
        2 => {
            let mut result = source.clone();
            let at = random.below(rows + 1);
            result.insert(at, random.below(4));
            let axes: Vec<usize> = (0..rows).map(|axis| axis + usize::from(axis >= at)).collect();
            AffineMap::broadcast(&source, &result, &axes)
        }
        3 if rows > 0 && source[0] > 0 => AffineMap::pick(&source, 0, random.below(source[0]) as i64),
        _ => {
            let coefficients: Vec<SmallVec<[i64; 4]>> =
                (0..rows).map(|_| (0..columns).map(|_| [0, 0, 1, 1, -1, 2][random.below(6)]).collect()).collect();
            let offset: Vec<i64> = (0..rows).map(|_| random.below(6) as i64 - 2).collect();
            AffineMap::new(&source, &result, &coefficients, &offset)
        }
    }
}

#[test]
fn views_and_their_adjoints() {
    let mut random = Random(1);
    for round in 0..4000 {
        let map = random_map(&mut random);
        let dtype = DTYPES[round % 5];
        let a = random.array(dtype, map.source());
        let viewed = Concrete::view(a.clone(), &map);
        let expected: Vec<f64> =
            positions(map.result()).iter().map(|at| read(&a, map.position(at).as_deref())).collect();
        assert_elements(&viewed, &expected);
        let b = random.array(dtype, map.result());
        let back = Concrete::accumulate(b.clone(), &map);
        let mut sums = vec![0.0; size(map.source())];
        for (at, x) in positions(map.result()).iter().zip(numbers(&b)) {
            if let Some(to) = map.position(at) {
                sums[flat(map.source(), &to)] += x;
            }
        }
        assert_elements(&back, &sums);
        assert_eq!(inner(&viewed, &b), inner(&a, &back));
        let onto = Concrete::accumulate_onto(a.clone(), b, &map);
        let sums: Vec<f64> =
            sums.iter().zip(numbers(&a)).map(|(s, a)| Value::from_f64(dtype, *s).to_f64() + a).collect();
        assert_elements(&onto, &sums);
    }
}

#[test]
fn large_transposes_go_by_tiles() {
    for shape in [[37, 50, 3], [3, 40, 33], [1, 64, 17]] {
        let a = Array::from_vec(&shape, (0..size(&shape) as i64).collect());
        for axes in [[0, 2, 1], [2, 1, 0], [1, 0, 2], [2, 0, 1], [1, 2, 0]] {
            let map = AffineMap::transpose(&shape, &axes);
            let expected: Vec<f64> =
                positions(map.result()).iter().map(|at| read(&a, map.position(at).as_deref())).collect();
            assert_elements(&Concrete::view(a.clone(), &map), &expected);
        }
    }
}

#[test]
fn extreme_coefficients_do_not_overflow() {
    let a = Array::from_vec(&[3], vec![1i64, 2, 3]);
    for coefficient in [AffineMap::REACH / 4, -AffineMap::REACH / 4] {
        let map = AffineMap::new(&[3], &[4], &[SmallVec::from_slice(&[coefficient])], &[1]);
        assert_elements(&Concrete::view(a.clone(), &map), &[2.0, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn reads_and_writes_at_computed_positions() {
    let mut random = Random(3);
    for round in 0..3000 {
        let dtype = DTYPES[round % 5];
        let rank = random.below(4);
        let shape = random.shape(rank);
        let count = random.below(rank + 1);
        let s = match count {
            0 => Shape::new(),
            _ => {
                let rank = random.below(3);
                random.shape(rank)
            }
        };
        let a = random.array(dtype, &shape);
        let indices: Vec<Array> = (0..count).map(|_| random.array(DType::I64, &s)).collect();
        let read_at = |at: &[usize]| -> Option<Shape> {
            let (from, rest) = at.split_at(s.len());
            let mut to = Shape::new();
            for (axis, index) in indices.iter().enumerate() {
                let i = index.element(flat(&s, from)).to_integer()?;
                to.push(usize::try_from(i).ok().filter(|&i| i < shape[axis])?);
            }
            to.extend_from_slice(rest);
            Some(to)
        };
        let gathered = Concrete::gather(a.clone(), indices.clone());
        let mut result = s.clone();
        result.extend_from_slice(&shape[count..]);
        let expected: Vec<f64> = positions(&result).iter().map(|at| read(&a, read_at(at).as_deref())).collect();
        assert_elements(&gathered, &expected);
        let updates = random.array(dtype, &result);
        let scattered = Concrete::scatter(updates.clone(), indices.clone(), &shape[..count]);
        let mut sums = vec![0.0; size(&shape)];
        for (at, x) in positions(&result).iter().zip(numbers(&updates)) {
            if let Some(to) = read_at(at) {
                sums[flat(&shape, &to)] += x;
            }
        }
        assert_elements(&scattered, &sums);
        assert_eq!(inner(&gathered, &updates), inner(&a, &scattered));
        let onto = Concrete::scatter_onto(a.clone(), updates, indices);
        let sums: Vec<f64> =
            sums.iter().zip(numbers(&a)).map(|(s, a)| Value::from_f64(dtype, *s).to_f64() + a).collect();
        assert_elements(&onto, &sums);
    }
}

#[test]
fn concatenation() {
    let mut random = Random(8);
    for round in 0..500 {
        let dtype = DTYPES[round % 5];
        let rank = 1 + random.below(3);
        let shape = random.shape(rank);
        let axis = random.below(rank);
        let parts: Vec<Array> = (0..1 + random.below(4))
            .map(|_| {
                let mut shape = shape.clone();
                shape[axis] = random.below(4);
                random.array(dtype, &shape)
            })
            .collect();
        let joined = Concrete::concatenate(axis, parts.clone());
        let mut start = 0;
        for part in parts {
            let count = part.shape()[axis];
            let map = AffineMap::along(joined.shape(), axis, start, 1, count);
            assert_eq!(numbers(&Concrete::view(joined.clone(), &map)), numbers(&part));
            start += count as i64;
        }
    }
}
