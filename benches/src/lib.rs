//! Objectives and gradients as loops that one would write by hand, to measure the library's kernels beside.
//!
//! Each goes over its input as few times as it can, keeps what it needs in registers or in one array, and is plain Rust that
//! the compiler makes vectors of where it can; functions like `exp` are the standard library's, one element at a time.

/// Σ sin(x)·exp(−x²) + tanh(x), and its derivative.
pub fn chain(x: &[f64], gradient: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for (&x, derivative) in x.iter().zip(gradient) {
        let ((sine, cosine), bell, tanh) = (x.sin_cos(), (-x * x).exp(), x.tanh());
        sum += sine * bell + tanh;
        *derivative = (cosine - 2.0 * x * sine) * bell + 1.0 - tanh * tanh;
    }
    sum
}

/// Σ w · (running sum of x)², and its derivative by x.
pub fn cumulative_sum(x: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 {
    let (mut total, mut sum) = (0.0, 0.0);
    for ((x, w), derivative) in x.iter().zip(w).zip(&mut *gradient) {
        total += x;
        let weighted = w * total;
        sum += weighted * total;
        *derivative = 2.0 * weighted;
    }
    let mut after = 0.0;
    for derivative in gradient.iter_mut().rev() {
        after += *derivative;
        *derivative = after;
    }
    sum
}

/// Σ w · (running product of x), and its derivative by x, for any x.
pub fn cumulative_product(x: &[f64], w: &[f64], gradient: &mut [f64]) -> f64 {
    let (mut product, mut sum) = (1.0, 0.0);
    for ((x, w), derivative) in x.iter().zip(w).zip(&mut *gradient) {
        *derivative = product;
        product *= x;
        sum += w * product;
    }
    let mut after = 0.0;
    for ((x, w), derivative) in x.iter().zip(w).zip(gradient.iter_mut()).rev() {
        after += w;
        *derivative *= after;
        after *= x;
    }
    sum
}

/// The sum over rows of log-sum-exp, and its derivative.
pub fn log_sum_exp(x: &[f64], columns: usize, gradient: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for (row, derivatives) in x.chunks(columns).zip(gradient.chunks_mut(columns)) {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut total = 0.0;
        for (x, derivative) in row.iter().zip(&mut *derivatives) {
            *derivative = (x - largest).exp();
            total += *derivative;
        }
        derivatives.iter_mut().for_each(|derivative| *derivative /= total);
        sum += total.ln() + largest;
    }
    sum
}

/// The mean logistic loss of labels 0 and 1, and its derivative by the weights.
pub fn logistic(w: &[f64], x: &[f64], y: &[f64], gradient: &mut [f64]) -> f64 {
    let count = y.len() as f64;
    let mut sum = 0.0;
    gradient.fill(0.0);
    for (row, y) in x.chunks(w.len()).zip(y) {
        // Eight sums, which do not wait for each other.
        let mut lanes = [0.0; 8];
        for (row, w) in row.chunks(8).zip(w.chunks(8)) {
            for ((lane, x), w) in lanes.iter_mut().zip(row).zip(w) {
                *lane += x * w;
            }
        }
        let z: f64 = lanes.iter().sum();
        let small = (-z.abs()).exp();
        sum += z.max(0.0) + small.ln_1p() - y * z;
        let probability = if z >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
        let factor = (probability - y) / count;
        for (derivative, x) in gradient.iter_mut().zip(row) {
            *derivative += factor * x;
        }
    }
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 % 1009) as f64 / 1009.0 - 0.5) * 2.0).collect()
    }

    /// Compares a gradient with central differences.
    fn check(x: &[f64], f: impl Fn(&[f64], &mut [f64]) -> f64) {
        let mut gradient = vec![0.0; x.len()];
        f(x, &mut gradient);
        for at in 0..x.len() {
            let value = |step: f64| {
                let mut moved = x.to_vec();
                moved[at] += step;
                f(&moved, &mut vec![0.0; x.len()])
            };
            let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
            assert!((difference - gradient[at]).abs() < 1e-7, "{at}: {} instead of {difference}", gradient[at]);
        }
    }

    #[test]
    fn gradients_are_those_of_the_objectives() {
        let (x, w) = (numbers(24), numbers(30)[6..].to_vec());
        check(&x, chain);
        check(&x, |x, gradient| cumulative_sum(x, &w, gradient));
        check(&x, |x, gradient| cumulative_product(x, &w, gradient));
        check(&x, |x, gradient| log_sum_exp(x, 6, gradient));
        check(&x[..4], |weights, gradient| logistic(weights, &w, &[0.0, 1.0, 1.0, 0.0, 1.0, 0.0], gradient));
    }
}
