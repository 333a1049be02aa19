//! The engines that programs run on: the interpreter, dual arrays, kernels of the processor, and a device.

use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program::{bulk, tidy};
use deltaray::dual::{Dual, vjp};
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::export;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use deltaray::term::{Body, Build, interpret_source};

/// A program and its arguments.
pub struct Row {
    /// Its name in failures.
    pub name: &'static str,
    /// The program as it was written.
    pub source: Body<Build>,
    /// The program that is compiled.
    pub body: Body,
    /// The arguments.
    pub inputs: Vec<Array>,
}

impl Row {
    /// A function at a point.
    #[track_caller]
    pub fn new<T, F, O>(name: &'static str, f: F, at: T) -> Row
    where
        T: Tree<Concrete>,
        O: Tree<Staged>,
        F: Fn(&<T::Family as Family>::At<Staged>) -> O,
    {
        let staged = stage(|x| f(x), &at).unwrap_or_else(|error| panic!("{name}: {error}"));
        let source = staged.source().clone();
        let body = tidy(&bulk(&source).without_marks());
        Row { name, source, body, inputs: at.leaves() }
    }

    /// It with other arguments of the same types.
    pub fn at(&self, inputs: Vec<Array>) -> Row {
        Row { name: self.name, source: self.source.clone(), body: self.body.clone(), inputs }
    }

    /// The results of every engine in this process.
    pub fn results(&self) -> Vec<(&'static str, Vec<Array>)> {
        let interpreted = interpret_source::<Concrete>(&self.source, self.inputs.clone());
        let run = |at| interpret_source::<Dual<Concrete>>(&self.source, at);
        let (values, _) = vjp::<Concrete>(&run, self.inputs.clone());
        let program =
            Program::new(&self.body, &Cpu::default()).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let compiled = program.run(&self.inputs).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        vec![("interpreter", interpreted), ("dual arrays", values), ("kernels", compiled)]
    }

    /// The case of exported programs.
    pub fn case(&self) -> crate::exported::Case {
        let program = export::Program::new("special", self.body.clone());
        crate::exported::Case::new(self.name.into(), None, program, self.inputs.clone(), true)
    }
}

/// The results of all programs on a device, if there is one.
#[cfg(feature = "opencl")]
pub fn on_device(rows: &[&Row]) -> Option<Vec<Vec<Array>>> {
    use deltaray::opencl::{OpenCl, Program};
    if !crate::presence::is_there() {
        return None;
    }
    let bodies: Vec<&Body> = rows.iter().map(|row| &row.body).collect();
    let programs = Program::all(bodies, &OpenCl::default()).unwrap_or_else(|error| panic!("{error}"));
    let run = |(program, row): (&Program, &&Row)| -> Vec<Array> {
        let uploaded: Vec<_> =
            row.inputs.iter().map(|array| program.upload(array).expect("a device with memory")).collect();
        let results = program.run(&uploaded).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        results.iter().map(|array| array.download().expect("the device still runs")).collect()
    };
    Some(programs.iter().zip(rows).map(run).collect())
}

/// Without the feature there is none.
#[cfg(not(feature = "opencl"))]
pub fn on_device(_: &[&Row]) -> Option<Vec<Vec<Array>>> {
    None
}
