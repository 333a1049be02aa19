use deltaray::prelude::*;

fn updates_by_value(state: &mut Vector<Concrete, f64>, g: Vector<Concrete, f64>) -> deltaray::Result<()> {
    let step = stage(|(x, g)| x - g * 0.1, (&*state, &g))?.compile(Cpu::default())?;
    step.update(state, g)
}

fn updates_by_numbers(state: &mut Vector<Concrete, f64>, g: &Vector<Concrete, f64>) -> deltaray::Result<()> {
    let step = stage(|(x, g)| x - g * 0.1, (&*state, g))?.compile(Cpu::default())?;
    step.update(state, 0.5)
}

fn of_numbers() -> Vec<f64> {
    grad(|_| scalar(0.0), &vec![1.0, 2.0])
}

fn main() {}
