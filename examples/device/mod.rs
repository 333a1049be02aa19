//! Where the programs of examples run: the value of `--device`.

pub mod options;

#[cfg(feature = "opencl")]
use deltaray::derivative::OnDevice;
use deltaray::derivative::{Compiled, Function};
use deltaray::engine::cpu::Cpu;
#[cfg(feature = "opencl")]
use deltaray::opencl::{DeviceKind, OpenCl};
use deltaray::prelude::*;
use deltaray::tensor::{Args, Family};

/// The engine that runs programs.
#[derive(Clone, Debug, PartialEq)]
pub enum Device {
    /// One operation after the other.
    Interpreter,
    /// Kernels on the processor.
    Cpu,
    /// Kernels on an OpenCL device: on the first, or the first of this name or kind.
    #[cfg(feature = "opencl")]
    OpenCl(Option<String>),
}

impl Device {
    /// The device named by a word on the command line.
    pub fn parse(word: &str) -> Result<Device, String> {
        let (engine, name) = match word.split_once(':') {
            Some((engine, name)) => (engine, Some(name)),
            None => (word, None),
        };
        match (engine, name) {
            ("interpreter", None) => Ok(Device::Interpreter),
            ("cpu", None) => Ok(Device::Cpu),
            ("opencl", name) if name != Some("") => Device::opencl(name),
            _ => Err(format!("--device needs interpreter, cpu, opencl or opencl:NAME, but `{word}` was given")),
        }
    }

    #[cfg(feature = "opencl")]
    fn opencl(name: Option<&str>) -> Result<Device, String> {
        Ok(Device::OpenCl(name.map(String::from)))
    }

    #[cfg(not(feature = "opencl"))]
    fn opencl(_: Option<&str>) -> Result<Device, String> {
        Err("--device opencl needs the feature of that name: `cargo run --release --features opencl --example ..`"
            .into())
    }

    /// A program, ready to run there; where `profile`, the times of its kernels are measured.
    pub fn prepare<I: Family, O: Family, F: Family>(
        &self,
        program: Function<I, O, F>,
        profile: bool,
    ) -> deltaray::Result<Prepared<I, O, F>> {
        Ok(match self {
            Device::Interpreter => Prepared::Interpreted(Box::new(program)),
            Device::Cpu => Prepared::OnCpu(Box::new(program.compile(Cpu::default().profile(profile))?)),
            #[cfg(feature = "opencl")]
            Device::OpenCl(name) => {
                let device = match name.as_deref() {
                    None => OpenCl::default(),
                    Some("gpu") => OpenCl::of_kind(DeviceKind::Gpu),
                    Some("cpu") => OpenCl::of_kind(DeviceKind::Cpu),
                    Some("accelerator") => OpenCl::of_kind(DeviceKind::Accelerator),
                    Some(name) => OpenCl::named(name),
                };
                Prepared::OnDevice(Box::new(program.compile(device.profile(profile))?))
            }
        })
    }
}

/// A program where it runs.
pub enum Prepared<I: Family, O: Family, F: Family> {
    Interpreted(Box<Function<I, O, F>>),
    OnCpu(Box<Compiled<I, O>>),
    #[cfg(feature = "opencl")]
    OnDevice(Box<Compiled<I, O, OpenCl>>),
}

/// Arrays where a program runs.
pub enum There<T: Family> {
    OnHost(T::At<Concrete>),
    #[cfg(feature = "opencl")]
    OnDevice(OnDevice<T>),
}

impl<I: Family, O: Family, F: Family> Prepared<I, O, F> {
    /// Runs it once on arrays of the host's.
    pub fn call(&self, arguments: impl Args<Concrete, Family = I>) -> deltaray::Result<O::At<Concrete>> {
        match self {
            Prepared::Interpreted(program) => program.interpret(arguments),
            Prepared::OnCpu(program) => program.call(arguments),
            #[cfg(feature = "opencl")]
            Prepared::OnDevice(program) => program.call(arguments),
        }
    }

    /// Has arrays be where it runs.
    pub fn bring<T: Tree<Concrete>>(&self, arrays: T) -> deltaray::Result<There<T::Family>>
    where
        T::Family: Family<At<Concrete> = T>,
    {
        Ok(match self {
            Prepared::Interpreted(_) | Prepared::OnCpu(_) => There::OnHost(arrays),
            #[cfg(feature = "opencl")]
            Prepared::OnDevice(program) => There::OnDevice(program.upload(&arrays)?),
        })
    }

    /// Its kernels, with their times where they were measured.
    pub fn report(&self) -> String {
        match self {
            Prepared::Interpreted(_) => "a program that is interpreted has no kernels\n".into(),
            Prepared::OnCpu(program) => program.program().report().to_string(),
            #[cfg(feature = "opencl")]
            Prepared::OnDevice(program) => program.program().report().to_string(),
        }
    }
}

/// A program of steps, `(state, rest) -> (state, others)`.
impl<S: Family, R: Family, O: Family, F: Family> Prepared<(S, R), (S, O), F> {
    /// Makes a step: the state becomes the next one, where it is; the other results come to the host.
    pub fn step(&self, state: &mut There<S>, rest: &There<R>) -> deltaray::Result<O::At<Concrete>> {
        match (self, state, rest) {
            (Prepared::Interpreted(program), There::OnHost(state), There::OnHost(rest)) => {
                let (next, others) = program.interpret((&*state, rest))?;
                *state = next;
                Ok(others)
            }
            (Prepared::OnCpu(program), There::OnHost(state), There::OnHost(rest)) => {
                let (next, others) = program.call((&*state, rest))?;
                *state = next;
                Ok(others)
            }
            #[cfg(feature = "opencl")]
            (Prepared::OnDevice(program), There::OnDevice(state), There::OnDevice(rest)) => {
                program.update_with(state, rest)?.download()
            }
            #[cfg(feature = "opencl")]
            _ => panic!("arrays are brought to the program that they are for"),
        }
    }
}

impl<T: Family> There<T> {
    /// The arrays on the host.
    pub fn fetch(&self) -> deltaray::Result<T::At<Concrete>> {
        match self {
            There::OnHost(arrays) => Ok(deltaray::tensor::duplicate(arrays)),
            #[cfg(feature = "opencl")]
            There::OnDevice(arrays) => arrays.download(),
        }
    }
}
