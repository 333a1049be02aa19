//! What programs on one device share, and what each has of its own there.

use super::cache::Cache;
use super::code::{Action, first_kernel};
use super::devices::Device;
use super::failure::{Outcome, Problem};
use super::kernels::SUBGROUPS;
use super::memory::Pool;
use super::times::Times;
use super::transfer::Counters;
use crate::concrete::Array;
use ocl::core::{
    self, CommandQueueProperties, Event, ProgramBuildInfo, ProgramBuildInfoResult, ProgramBuildStatus, ProgramInfo,
    ProgramInfoResult,
};
use std::collections::VecDeque;
use std::ffi::CString;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// What all programs on one device share: arrays of one program are read by another.
pub(super) struct Common {
    device: Device,
    context: core::Context,
    /// In order: what is enqueued later begins later.
    queue: core::CommandQueue,
    /// Programs that were built, by their source.
    built: Mutex<Vec<(String, core::Program)>>,
    /// Arrays on their way to the device, until they have arrived.
    pub(super) uploads: Mutex<VecDeque<(Event, Array)>>,
    /// Bytes of the device's memory that programs have.
    pub(super) taken: AtomicU64,
    pools: Mutex<Vec<Weak<Pool>>>,
    /// A program that is measured has a queue of its own: while it runs nothing else is enqueued.
    pub(super) turns: RwLock<()>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.device, f)
    }
}

/// A program's share of a device.
pub(super) struct Shared {
    pub(super) device: Device,
    pub(super) context: core::Context,
    pub(super) queue: core::CommandQueue,
    pub(super) common: Arc<Common>,
    /// Memory of the program's arrays that nobody holds any more.
    pub(super) pool: Arc<Pool>,
    pub(super) counters: Arc<Counters>,
    /// The times of what is launched, where the queue measures them.
    pub(super) times: Option<Mutex<Times>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.device, f)
    }
}

/// What is shared of all devices that were used.
static COMMON: Mutex<Vec<Arc<Common>>> = Mutex::new(Vec::new());

/// So many programs are kept for those who ask for the same source again.
const KEPT: usize = 64;

/// What programs are built with, but those that need a newer language.
const OPTIONS: &str = "-cl-std=CL1.2";

/// Where a program that was asked for comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// This process has built it before.
    Process,
    /// Another one has, or this one long ago.
    Cache,
    /// Its source.
    Source,
}

/// What a compiler says, without the drawing around it.
fn log(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("####")).collect();
    lines.join("\n")
}

impl Common {
    fn new(device: &Device) -> Outcome<Common> {
        let context = core::create_context(None, &[device.id], None, None)?;
        let queue = core::create_command_queue(&context, device.id, None)?;
        Ok(Common {
            device: device.clone(),
            context,
            queue,
            built: Mutex::default(),
            uploads: Mutex::default(),
            taken: AtomicU64::new(0),
            pools: Mutex::default(),
            turns: RwLock::default(),
        })
    }

    /// What there is of a device, or begins to be.
    fn of(device: &Device) -> Outcome<Arc<Common>> {
        let mut all = COMMON.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(common) = all.iter().find(|common| common.device == *device) {
            return Ok(common.clone());
        }
        let common = Arc::new(Common::new(device)?);
        all.push(common.clone());
        Ok(common)
    }

    /// The memory that waits in all programs.
    pub(super) fn pools(&self) -> impl Iterator<Item = Arc<Pool>> + use<> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        let all: Vec<Arc<Pool>> = pools.iter().filter_map(Weak::upgrade).collect();
        all.into_iter()
    }

    /// What a program is built with.
    fn options(&self, source: &str) -> &'static str {
        let newer = self.device.limits.subgroups.filter(|_| source.lines().any(|line| line == SUBGROUPS));
        newer.unwrap_or(OPTIONS)
    }

    /// What a built program depends on.
    fn key(&self, source: &str) -> String {
        let Device { platform, name, driver, version, .. } = &self.device;
        format!("{platform}\n{name}\n{driver}\n{version}\n{}\n{source}", self.options(source))
    }

    /// Has a driver compile a program, or link one that it has compiled.
    fn finish(&self, program: &core::Program, options: &str) -> Outcome<()> {
        let options = CString::new(options).map_err(|error| Problem::Driver(error.to_string()))?;
        core::build_program(program, Some(&[self.device.id]), &options, None, None).map_err(|error| match error {
            ocl::core::Error::ProgramBuild(error) => Problem::Build(log(&error.to_string())),
            error => error.into(),
        })?;
        // A failure of which the driver's compiler says nothing is none to the function above.
        match core::get_program_build_info(program, self.device.id, ProgramBuildInfo::BuildStatus)? {
            ProgramBuildInfoResult::BuildStatus(ProgramBuildStatus::Success) => Ok(()),
            _ => Err(Problem::Build("it does not say why".into())),
        }
    }

    /// A program as another process has left it; whatever is wrong with that, there is the source.
    fn restored(&self, cache: &Cache, key: &str, options: &str) -> Option<core::Program> {
        let binary = cache.get(key)?;
        let program = core::create_program_with_binary(&self.context, &[self.device.id], &[&binary]).ok()?;
        self.finish(&program, options).ok()?;
        Some(program)
    }

    /// A program of this source, built once.
    fn build(&self, source: &str, cache: Option<&Cache>) -> Outcome<(core::Program, Origin)> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = built.iter().position(|(known, _)| known == source) {
            let found = built.remove(at);
            built.push(found);
            return Ok((built[built.len() - 1].1.clone(), Origin::Process));
        }
        let (key, options) = (self.key(source), self.options(source));
        let (program, origin) = match cache.and_then(|cache| self.restored(cache, &key, options)) {
            Some(program) => (program, Origin::Cache),
            None => {
                let text = CString::new(source).map_err(|error| Problem::Driver(error.to_string()))?;
                let program = core::create_program_with_source(&self.context, &[text])?;
                self.finish(&program, options)?;
                if let Some(cache) = cache
                    && let ProgramInfoResult::Binaries(binaries) =
                        core::get_program_info(&program, ProgramInfo::Binaries)?
                    && let [binary] = &binaries[..]
                    && !binary.is_empty()
                {
                    cache.put(&key, binary);
                }
                (program, Origin::Source)
            }
        };
        if built.len() == KEPT {
            built.remove(0);
        }
        built.push((source.to_string(), program.clone()));
        Ok((program, origin))
    }
}

impl Shared {
    /// A share of a device.
    pub(super) fn of(device: &Device) -> Outcome<Arc<Shared>> {
        Ok(Arc::new(Shared::new(Common::of(device)?)))
    }

    fn new(common: Arc<Common>) -> Shared {
        // A quarter of the memory at most waits for a program's next arrays.
        let pool = Arc::new(Pool::new(common.device.memory / 4));
        common.pools.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&pool));
        Shared {
            device: common.device.clone(),
            context: common.context.clone(),
            queue: common.queue.clone(),
            common,
            pool,
            counters: Arc::default(),
            times: None,
        }
    }

    /// The same share with a queue that measures what is launched.
    pub(super) fn timed(&self) -> Outcome<Shared> {
        let properties = Some(CommandQueueProperties::new().profiling());
        Ok(Shared {
            device: self.device.clone(),
            context: self.context.clone(),
            queue: core::create_command_queue(&self.context, self.device.id, properties)?,
            common: self.common.clone(),
            pool: self.pool.clone(),
            counters: self.counters.clone(),
            times: Some(Mutex::default()),
        })
    }

    /// A program of this source, built once.
    pub(super) fn build(&self, source: &str, cache: Option<&Cache>) -> Outcome<core::Program> {
        Ok(self.common.build(source, cache)?.0)
    }

    /// Begins a step.
    pub(super) fn begin(&self, actions: &[Action]) {
        if let Some(times) = &self.times {
            times.lock().unwrap_or_else(PoisonError::into_inner).begin(first_kernel(actions));
        }
    }

    /// Enqueues something, whose time is measured where the queue does that.
    pub(super) fn observed(
        &self,
        enqueue: impl FnOnce(Option<&mut Event>) -> Result<(), ocl::core::Error>,
    ) -> Outcome<()> {
        let Some(times) = &self.times else { return Ok(enqueue(None)?) };
        let mut event = Event::null();
        enqueue(Some(&mut event))?;
        times.lock().unwrap_or_else(PoisonError::into_inner).keep(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::opencl::devices::all;
    use std::path::PathBuf;

    const SOURCE: &str = "__kernel void one(__global int *to) { to[get_global_id(0)] = 1; }";

    #[test]
    fn a_program_is_built_once_and_restored_by_others() {
        let Some(device) = all().unwrap().first() else { return };
        let folder: PathBuf = std::env::temp_dir().join(format!("deltaray-programs-{}", std::process::id()));
        let cache = Cache::new(folder.clone());
        let origin = |common: &Common| common.build(SOURCE, Some(&cache)).unwrap().1;
        let common = Common::new(device).unwrap();
        assert_eq!([origin(&common), origin(&common)], [Origin::Source, Origin::Process]);
        // Another process has nothing but the files.
        let other = Common::new(device).unwrap();
        assert_eq!(origin(&other), Origin::Cache);
        let (program, _) = other.build(SOURCE, Some(&cache)).unwrap();
        core::create_kernel(&program, "one").unwrap();
        // Another driver has compiled another program.
        let mut newer = device.clone();
        newer.driver += " and a half";
        assert_eq!(origin(&Common::new(&newer).unwrap()), Origin::Source);
        // What no driver takes is built again.
        cache.put(&common.key(SOURCE), b"no program of any driver");
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Source);
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Cache);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_does_not_compile_is_an_error_with_the_log() {
        let Some(device) = all().unwrap().first() else { return };
        let problem = Shared::of(device).unwrap().build("__kernel void broken() { surprise }", None).unwrap_err();
        let text = problem.error(&device.to_string(), "compile", None).to_string();
        assert!(text.contains("does not compile the kernels") && text.contains("surprise"), "{text}");
    }
}
