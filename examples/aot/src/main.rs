//! Fits a decay by gradient descent with momentum. The gradient, `loss_grad`, was made by the build script: it is plain Rust,
//! and this program has no dependency.

include!(concat!(env!("OUT_DIR"), "/loss_grad.rs"));

fn main() {
    const COUNT: usize = 200;
    let times: Vec<f64> = (0..COUNT).map(|at| at as f64 * 0.05).collect();
    let observed: Vec<f64> = times.iter().map(|t| 2.5 * (-0.7 * t).exp() + 0.4).collect();

    let mut parameters = [1.0, 1.0, 0.0];
    let mut velocity = [0.0; 3];
    let mut loss = [0.0];
    let mut scratch = vec![0.0; LOSS_GRAD_SCRATCH];
    for step in 0..=2000 {
        let [amplitude, rate, offset] = parameters;
        let (mut by_amplitude, mut by_rate, mut by_offset) = ([0.0], [0.0], [0.0]);
        loss_grad(
            &[amplitude],
            &[rate],
            &[offset],
            &times,
            &observed,
            &mut loss,
            &mut by_amplitude,
            &mut by_rate,
            &mut by_offset,
            &mut scratch,
        );
        if step % 500 == 0 {
            println!("step {step}: loss {:.3e}, amplitude {amplitude:.6}, rate {rate:.6}, offset {offset:.6}", loss[0]);
        }
        for (at, slope) in [by_amplitude[0], by_rate[0], by_offset[0]].into_iter().enumerate() {
            velocity[at] = 0.9 * velocity[at] - 0.05 * slope;
            parameters[at] += velocity[at];
        }
    }
    for (found, expected) in parameters.into_iter().zip([2.5, 0.7, 0.4]) {
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }
}
