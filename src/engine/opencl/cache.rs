//! Compiled programs on disk, so that another process need not compile them again.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// The beginning of every file of a program.
const BEGINNING: &[u8; 16] = b"deltaray opencl1";

/// The endings of the names of such files, and of files that are being written.
const ENDING: &str = "program";
const UNFINISHED: &str = "unfinished";

/// The most bytes of all files together, unless set otherwise.
const MOST: u64 = 256 << 20;

/// The folder where all that is worth keeping from one process to another is, under the user's folder of such things; none
/// where the system has no such folder.
pub(super) fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let user = named.or_else(|| Some(std::env::home_dir()?.join(".cache")).filter(|path| path.is_absolute()))?;
    Some(user.join("deltaray").join("opencl"))
}

/// A folder of compiled programs: those that were used longest ago are removed when they become too many.
///
/// Nothing here fails: an unreadable file counts as absent, and a file that can't be written is not kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    /// The most bytes of all files together.
    most: u64,
}

/// The hash of Fowler, Noll and Vo, which every release of this library computes in the same way.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// A file: its beginning, how long key and program are, the program's hash, key, program.
fn contents(key: &str, program: &[u8]) -> Vec<u8> {
    let numbers = [key.len() as u64, program.len() as u64, hash(program)];
    let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    [BEGINNING, &numbers[..], key.as_bytes(), program].concat()
}

/// The program in a file, if that is whole and of this key.
fn program(file: &[u8], key: &str) -> Option<Vec<u8>> {
    let start = BEGINNING.len() + 3 * size_of::<u64>() + key.len();
    let program = file.get(start..)?;
    // The key contains everything that the program depends on, so that a program with another key but the same hash is never
    // taken.
    (file[..start] == contents(key, program)[..start]).then(|| program.to_vec())
}

/// Writes all of a file. If something fails to reach the disk later, the hash shows it.
fn finish(mut file: File, contents: &[u8]) -> std::io::Result<()> {
    file.write_all(contents)
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Cache {
        Cache { folder, most: MOST }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{:016x}.{ENDING}", hash(key.as_bytes())))
    }

    /// The program of a key.
    pub(super) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.path(key);
        let found = program(&fs::read(&path).ok()?, key)?;
        // The file's time records the last use. In a folder without write permission it stays the same.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(found)
    }

    /// Keeps the program of a key, where that is possible.
    pub(super) fn put(&self, key: &str, program: &[u8]) {
        let contents = contents(key, program);
        if contents.len() as u64 > self.most {
            return;
        }
        if self.write(&self.path(key), &contents).is_ok() {
            // Files that can't be listed or removed stay.
            let _ = self.tidy();
        }
    }

    /// Writes a file beside its place and moves it there, so that nobody reads half of it.
    fn write(&self, path: &Path, contents: &[u8]) -> std::io::Result<()> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{number}.{UNFINISHED}", std::process::id()));
        let written = File::create_new(&beside).and_then(|file| finish(file, contents));
        let moved = written.and_then(|()| fs::rename(&beside, path));
        if moved.is_err() {
            let _ = fs::remove_file(&beside);
        }
        moved
    }

    /// Removes the files that were used longest ago, until the others are not too many.
    fn tidy(&self) -> std::io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            let is_own = path.extension().is_some_and(|ending| ending == ENDING || ending == UNFINISHED);
            // Others may have removed it meanwhile.
            if let (true, Ok(facts)) = (is_own, entry.metadata()) {
                files.push((facts.modified()?, facts.len(), path));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
            if total <= self.most {
                break;
            }
            match fs::remove_file(path) {
                // Others do this too.
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => total -= bytes,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A folder of a test's own, which goes with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("deltaray-cache-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_kept_is_found_whole_and_of_its_key_alone() {
        let folder = Folder::new("whole");
        let cache = Cache::new(folder.0.join("a").join("b"));
        assert_eq!(cache.get("key"), None);
        cache.put("key", b"program");
        assert_eq!(cache.get("key").as_deref(), Some(&b"program"[..]));
        assert_eq!(cache.get("yek"), None);
        // A file of another key in its place.
        fs::copy(cache.path("key"), cache.path("yek")).unwrap();
        assert_eq!(cache.get("yek"), None);
        let whole = fs::read(cache.path("key")).unwrap();
        for length in 0..whole.len() {
            fs::write(cache.path("key"), &whole[..length]).unwrap();
            assert_eq!(cache.get("key"), None, "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 1;
            fs::write(cache.path("key"), other).unwrap();
            assert_eq!(cache.get("key"), None, "byte {at}");
        }
        cache.put("key", b"other");
        assert_eq!(cache.get("key").as_deref(), Some(&b"other"[..]));
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 2, "nothing unfinished is left");
    }

    #[test]
    fn files_that_were_used_longest_ago_make_room() {
        let folder = Folder::new("room");
        let size = contents("key0", &[0; 100]).len() as u64;
        let cache = Cache { folder: folder.0.clone(), most: 3 * size };
        fs::write(folder.0.join("others"), [0; 1000]).unwrap();
        for (number, key) in ["key0", "key1", "key2"].into_iter().enumerate() {
            cache.put(key, &[0; 100]);
            let then = SystemTime::now() - Duration::from_secs(100 - number as u64);
            File::options().append(true).open(cache.path(key)).unwrap().set_modified(then).unwrap();
        }
        assert!(cache.get("key0").is_some(), "which makes it the one that was used last");
        cache.put("key3", &[0; 100]);
        let there = ["key0", "key1", "key2", "key3"].map(|key| cache.get(key).is_some());
        assert_eq!(there, [true, false, true, true]);
        assert!(folder.0.join("others").exists(), "files of others are not counted, and stay");
        cache.put("large", &[0; 1000]);
        assert_eq!(cache.get("large"), None);
        assert!(cache.get("key3").is_some());
    }

    /// Where nothing can be kept, nothing is found and nothing fails.
    fn keeps_nothing(folder: PathBuf) {
        let cache = Cache::new(folder);
        cache.put("key", b"program");
        assert_eq!(cache.get("key"), None);
        cache.put("key", b"program");
        assert!(cache.tidy().is_err() || fs::read_dir(&cache.folder).is_ok_and(|files| files.count() > 0));
    }

    #[test]
    fn a_folder_that_can_not_be_is_no_cache() {
        let folder = Folder::new("none");
        fs::write(folder.0.join("file"), b"").unwrap();
        keeps_nothing(folder.0.join("file"));
        keeps_nothing(folder.0.join("file").join("inside"));
        #[cfg(unix)]
        {
            let (link, round) = (folder.0.join("link"), folder.0.join("round"));
            std::os::unix::fs::symlink(folder.0.join("nowhere").join("at all"), &link).unwrap();
            keeps_nothing(link.clone());
            keeps_nothing(link.join("inside"));
            std::os::unix::fs::symlink(&round, &round).unwrap();
            keeps_nothing(round);
        }
    }

    /// One that can be read, and not written to, whoever asks.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_where_nobody_can_write_is_no_cache() {
        keeps_nothing(PathBuf::from("/proc/self"));
    }

    /// Files in a folder that others made stay available to those who can only read it.
    #[cfg(unix)]
    #[test]
    fn what_is_in_a_folder_is_found_by_those_who_can_not_write_there() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = Folder::new("reading");
        let cache = Cache::new(folder.0.clone());
        cache.put("key", b"program");
        let path = cache.path("key");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o555)).unwrap();
        // These hold for all but the administrator.
        let may_write = File::create(folder.0.join("test")).is_ok();
        assert_eq!(cache.get("key").as_deref(), Some(&b"program"[..]));
        cache.put("key", b"other");
        let expected = if may_write { &b"other"[..] } else { b"program" };
        assert_eq!(cache.get("key").as_deref(), Some(expected));
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_folder_that_is_removed_meanwhile_begins_again() {
        let folder = Folder::new("removed");
        let cache = Cache::new(folder.0.join("inside"));
        cache.put("key", b"program");
        fs::remove_dir_all(&cache.folder).unwrap();
        assert_eq!(cache.get("key"), None);
        assert!(cache.tidy().is_err());
        cache.put("key", b"program");
        assert_eq!(cache.get("key").as_deref(), Some(&b"program"[..]));
        // A folder in the place of a file.
        fs::remove_file(cache.path("key")).unwrap();
        fs::create_dir(cache.path("key")).unwrap();
        cache.put("key", b"program");
        assert_eq!(cache.get("key"), None);
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1, "nothing unfinished is left");
    }

    /// A write reports a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_has_no_room_for_is_not_kept() {
        let full = || File::options().write(true).open("/dev/full").unwrap();
        assert_eq!(finish(full(), b"program").unwrap_err().kind(), ErrorKind::StorageFull);
        let folder = Folder::new("full");
        let cache = Cache::new(folder.0.clone());
        cache.put("key", b"program");
        // A file that was cut off for lack of room is no program.
        let half = fs::metadata(cache.path("key")).unwrap().len() / 2;
        File::options().write(true).open(cache.path("key")).unwrap().set_len(half).unwrap();
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn two_that_make_room_do_not_disturb_each_other() {
        let folder = Folder::new("two");
        let size = contents("key 000", &[0; 1000]).len() as u64;
        let cache = Cache { folder: folder.0.clone(), most: 5 * size };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for number in 0..50 {
                        let key = format!("key {:03}", thread * 50 + number);
                        cache.put(&key, &[0; 1000]);
                        let found = cache.get(&key);
                        assert!(found.is_none_or(|found| found == [0; 1000]));
                    }
                });
            }
        });
        cache.tidy().unwrap();
        let kept: u64 = fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!((1..=5 * size).contains(&kept), "{kept} bytes");
    }
}
