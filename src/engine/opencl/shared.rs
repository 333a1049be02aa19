//! The state that programs on one device share, and each program's own.

use super::cache::Cache;
use super::code::{Action, first_kernel};
use super::devices::Device;
use super::driver::{Built, Context, Event, Queue};
use super::failure::DeviceResult;
use super::kernels::SUBGROUPS;
use super::memory::{Common, DeviceShare, Pool, Queues};
use crate::array::Array;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// The shared state of all devices in use.
static COMMON: Mutex<Vec<Arc<Common>>> = Mutex::new(Vec::new());

/// The most built programs that are kept for later requests of the same source.
const KEPT: usize = 64;

/// The build options of programs, except those that need a newer language.
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

impl Common {
    fn new(device: &Device) -> DeviceResult<Common> {
        let context = Context::new(device.id)?;
        let queues = Queues::new(&context, device)?;
        Ok(Common {
            device: device.clone(),
            context,
            queues,
            built: Mutex::default(),
            uploads: Mutex::default(),
            taken: AtomicU64::new(0),
            pools: Mutex::default(),
            turns: RwLock::default(),
        })
    }

    /// The shared state of a device, created at the first use.
    fn of(device: &Device) -> DeviceResult<Arc<Common>> {
        let mut all = COMMON.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(common) = all.iter().find(|common| common.device == *device) {
            return Ok(common.clone());
        }
        let common = Arc::new(Common::new(device)?);
        all.push(common.clone());
        Ok(common)
    }

    /// Arrays on their way to the device.
    pub(super) fn uploads(&self) -> MutexGuard<'_, VecDeque<(Arc<Event>, Array)>> {
        self.uploads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memory that waits in all programs.
    pub(super) fn pools(&self) -> impl Iterator<Item = Arc<Pool>> + use<> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        let all: Vec<Arc<Pool>> = pools.iter().filter_map(Weak::upgrade).collect();
        all.into_iter()
    }

    /// The build options of a program.
    fn options(&self, source: &str) -> &'static str {
        let newer = self.device.limits.subgroups.filter(|_| source.lines().any(|line| line == SUBGROUPS));
        newer.unwrap_or(OPTIONS)
    }

    /// Everything that a built program depends on.
    fn key(&self, source: &str) -> String {
        let Device { platform, name, driver, version, .. } = &self.device;
        format!("{platform}\n{name}\n{driver}\n{version}\n{}\n{source}", self.options(source))
    }

    /// A program as another process has left it. Whatever is wrong with that, there is still the source.
    fn restored(&self, cache: &Cache, key: &str, options: &str) -> Option<Built> {
        let binary = cache.get(key)?;
        let program = Built::of_binary(&self.context, self.device.id, &binary).ok()?;
        program.build(self.device.id, options).ok()?;
        Some(program)
    }

    /// A program of this source, built once.
    fn build(&self, source: &str, cache: Option<&Cache>) -> DeviceResult<(Arc<Built>, Origin)> {
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
                let program = Built::of_source(&self.context, source)?;
                program.build(self.device.id, options)?;
                if let Some(cache) = cache
                    // A driver that does not say has the program compiled again in the next process.
                    && let Ok(Some(binary)) = program.binary()
                {
                    cache.put(&key, &binary);
                }
                (program, Origin::Source)
            }
        };
        let program = Arc::new(program);
        if built.len() == KEPT {
            built.remove(0);
        }
        built.push((source.to_string(), program.clone()));
        Ok((program, origin))
    }
}

impl DeviceShare {
    /// A share of a device.
    pub(super) fn of(device: &Device) -> DeviceResult<Arc<DeviceShare>> {
        Ok(Arc::new(DeviceShare::new(Common::of(device)?)))
    }

    fn new(common: Arc<Common>) -> DeviceShare {
        // A quarter of the memory at most waits for a program's next arrays.
        let pool = Arc::new(Pool::new(common.device.memory / 4));
        common.pools.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&pool));
        DeviceShare {
            device: common.device.clone(),
            queue: common.queues.compute.clone(),
            common,
            pool,
            counters: Arc::default(),
            times: None,
        }
    }

    /// The same share with a queue that measures launches.
    pub(super) fn timed(&self) -> DeviceResult<DeviceShare> {
        Ok(DeviceShare {
            device: self.device.clone(),
            queue: Arc::new(Queue::new(&self.common.context, self.device.id, true)?),
            common: self.common.clone(),
            pool: self.pool.clone(),
            counters: self.counters.clone(),
            times: Some(Mutex::default()),
        })
    }

    /// A program of this source, built once.
    pub(super) fn build(&self, source: &str, cache: Option<&Cache>) -> DeviceResult<Arc<Built>> {
        Ok(self.common.build(source, cache)?.0)
    }

    /// Begins a step.
    pub(super) fn begin(&self, actions: &[Action]) {
        if let Some(times) = &self.times {
            times.lock().unwrap_or_else(PoisonError::into_inner).begin(first_kernel(actions));
        }
    }

    /// Enqueues something, whose time is measured where the queue does that.
    pub(super) fn observed(&self, enqueue: impl FnOnce(bool) -> DeviceResult<Option<Event>>) -> DeviceResult<()> {
        let event = enqueue(self.times.is_some())?;
        match (&self.times, event) {
            (Some(times), Some(event)) => times.lock().unwrap_or_else(PoisonError::into_inner).keep(event),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::opencl::devices::all;
    use crate::engine::opencl::driver::DeviceKernel;
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
        DeviceKernel::new(&program, "one").unwrap();
        // Another driver has compiled another program.
        let mut newer = device.clone();
        newer.driver += " and a half";
        assert_eq!(origin(&Common::new(&newer).unwrap()), Origin::Source);
        // A program that no driver accepts is built again.
        cache.put(&common.key(SOURCE), b"no program of any driver");
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Source);
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Cache);
        // A truncated file is no program, and a folder that is gone has none.
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = std::fs::File::options().write(true).open(file.unwrap().path()).unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Source);
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Cache);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Source);
        assert_eq!(origin(&Common::new(device).unwrap()), Origin::Cache);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_does_not_compile_is_an_error_with_the_log() {
        let Some(device) = all().unwrap().first() else { return };
        let problem = DeviceShare::of(device).unwrap().build("__kernel void broken() { surprise }", None).unwrap_err();
        let text = problem.error(&device.to_string(), "compile", None).to_string();
        assert!(text.contains("does not compile the kernels") && text.contains("surprise"), "{text}");
    }
}
