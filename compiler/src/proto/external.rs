//! Tensor elements in files beside the model.
//!
//! A model names these files, so a hostile model could name any file of the user's. A location must therefore be a plain
//! relative path below the model's directory. On Unix each of its components is opened from the one before without
//! following links, so that nothing can be exchanged between a check and the opening.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::error::LoadError;
use super::onnx::TensorProto;

/// The directory that external data is read from.
#[derive(Clone, Debug)]
pub(super) struct ExternalFiles {
    pub directory: PathBuf,
    pub follow_links: bool,
}

/// What a tensor says about its external data.
#[derive(Debug, PartialEq, Eq)]
struct Reference<'a> {
    location: &'a str,
    offset: u64,
    length: Option<u64>,
}

impl ExternalFiles {
    /// Reads a tensor's elements, which must be `needed` bytes.
    pub fn read(&self, tensor: &TensorProto, needed: u64) -> Result<Bytes, LoadError> {
        let reference = Reference::of(tensor)?;
        let location = reference.location;
        let refuse = |problem: String| LoadError::external(tensor.name(), location, problem);
        let components = components(location).map_err(|problem| refuse(problem.into()))?;
        if let Some(length) = reference.length
            && length != needed
        {
            return Err(refuse(format!("its length is {length} bytes, but the tensor needs {needed}")));
        }
        if needed == 0 {
            return Ok(Bytes::new());
        }
        let mut file = self.open(&components).map_err(refuse)?;
        let unreadable =
            |error: io::Error| refuse(format!("cannot read it in {}: {error}", shown(&self.directory).display()));
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(refuse("it is not a regular file; external data must be".into()));
        }
        if !self.follow_links && hard_links(&metadata) > 1 {
            return Err(refuse(format!("the file has several hard links; {LINKS}")));
        }
        let size = metadata.len();
        if reference.offset.checked_add(needed).is_none_or(|end| end > size) {
            return Err(refuse(format!(
                "{needed} bytes at offset {} reach past its end at {size}; the file may be incomplete",
                reference.offset
            )));
        }
        let length = usize::try_from(needed).map_err(|_| refuse("it does not fit in memory".into()))?;
        file.seek(SeekFrom::Start(reference.offset)).map_err(unreadable)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| refuse("it does not fit in memory".into()))?;
        bytes.resize(length, 0);
        file.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(bytes.into())
    }

    fn open(&self, components: &[&str]) -> Result<File, String> {
        if self.follow_links {
            let path = components.iter().fold(self.directory.clone(), |path, component| path.join(component));
            // Opening a pipe would wait for a writer.
            return match path.metadata() {
                Ok(metadata) if !metadata.is_file() => Err("it is not a regular file; external data must be".into()),
                Ok(_) => File::open(&path).map_err(|error| format!("cannot open {}: {error}", path.display())),
                Err(error) => Err(format!("cannot open {}: {error}", path.display())),
            };
        }
        open_without_links(shown(&self.directory), components)
    }
}

/// What to do about a link.
const LINKS: &str = "a link can lead to any file of yours, so it is not followed: copy the file, \
                     or allow links (`follow_links`) if you trust the model";

impl<'a> Reference<'a> {
    /// Reads the keys `location`, `offset` and `length`; unknown keys mean nothing.
    fn of(tensor: &'a TensorProto) -> Result<Self, LoadError> {
        let find = |wanted: &str| {
            let mut found = tensor.external_data.iter().filter(|entry| entry.key() == wanted);
            match (found.next(), found.next()) {
                (_, Some(_)) => {
                    Err(LoadError::tensor(tensor.name(), format!("its external data states `{wanted}` twice")))
                }
                (entry, None) => Ok(entry.map(|entry| entry.value())),
            }
        };
        let location = find("location")?
            .ok_or_else(|| LoadError::tensor(tensor.name(), "its external data names no file (`location`)"))?;
        let number = |key: &str| match find(key)? {
            None => Ok(None),
            Some(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => text
                .parse()
                .map(Some)
                .map_err(|_| LoadError::external(tensor.name(), location, format!("its {key} is too large"))),
            Some(_) => Err(LoadError::external(tensor.name(), location, format!("its {key} is not a number of bytes"))),
        };
        Ok(Self { location, offset: number("offset")?.unwrap_or(0), length: number("length")? })
    }
}

/// Splits a location into the names it consists of, if it is a relative path that does not lead upward.
fn components(location: &str) -> Result<Vec<&str>, &'static str> {
    if location.starts_with('/') || location.starts_with('\\') {
        return Err("the path is absolute; it must be relative to the model's directory");
    }
    if location.contains(['\\', '\0']) || (cfg!(windows) && location.contains(':')) {
        return Err("the path has a character that is not allowed; it must be relative, with `/` between names");
    }
    let names: Vec<&str> = location.split('/').filter(|&name| name != ".").collect();
    if names.contains(&"..") {
        return Err("the path leads out of the model's directory; move the file there");
    }
    if names.is_empty() || names.contains(&"") {
        return Err("the path does not name a file");
    }
    Ok(names)
}

/// The directory, with a name where it is the current one.
fn shown(directory: &Path) -> &Path {
    if directory.as_os_str().is_empty() { Path::new(".") } else { directory }
}

#[cfg(unix)]
fn hard_links(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(metadata)
}

#[cfg(not(unix))]
fn hard_links(_: &std::fs::Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn open_without_links(directory: &Path, components: &[&str]) -> Result<File, String> {
    use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};

    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mut at = openat(CWD, directory, flags | OFlags::DIRECTORY, Mode::empty())
        .map_err(|error| format!("cannot open the directory {}: {error}", directory.display()))?;
    for (position, &name) in components.iter().enumerate() {
        // A pipe opened without NONBLOCK would wait for a writer.
        let last = position + 1 == components.len();
        let kind = if last { OFlags::NONBLOCK | OFlags::NOCTTY } else { OFlags::DIRECTORY };
        at = openat(&at, name, flags | OFlags::NOFOLLOW | kind, Mode::empty()).map_err(|error| {
            let link = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Symlink);
            if link {
                format!("{name:?} is a symbolic link; {LINKS}")
            } else {
                format!("cannot open {name:?} in {}: {error}", directory.display())
            }
        })?;
    }
    Ok(File::from(at))
}

#[cfg(not(unix))]
fn open_without_links(directory: &Path, components: &[&str]) -> Result<File, String> {
    let mut path = directory.to_owned();
    for name in components {
        path.push(name);
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => return Err(format!("{name:?} is a symbolic link; {LINKS}")),
            Ok(_) => {}
            Err(error) => return Err(format!("cannot open {}: {error}", path.display())),
        }
    }
    File::open(&path).map_err(|error| format!("cannot open {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::onnx::StringStringEntryProto;

    fn tensor(keys: &[(&str, &str)]) -> TensorProto {
        let entry =
            |&(key, value): &(&str, &str)| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
        TensorProto { external_data: keys.iter().map(entry).collect(), ..Default::default() }
    }

    fn read(directory: &Path, follow_links: bool, keys: &[(&str, &str)], needed: u64) -> Result<Bytes, String> {
        let files = ExternalFiles { directory: directory.to_owned(), follow_links };
        files.read(&tensor(keys), needed).map_err(|error| error.to_string())
    }

    fn refused(directory: &Path, keys: &[(&str, &str)], needed: u64) -> String {
        read(directory, false, keys, needed).unwrap_err()
    }

    #[test]
    fn ranges_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/w"), [0, 1, 2, 3]).unwrap();
        let keys = [("location", "./sub/w"), ("offset", "1"), ("length", "2"), ("checksum", "?"), ("__class__", "x")];
        assert_eq!(read(folder.path(), false, &keys, 2).unwrap(), [1, 2].as_slice());
        assert_eq!(read(folder.path(), true, &[("location", "sub/w")], 3).unwrap(), [0, 1, 2].as_slice());
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cases = [
            ("/etc/passwd", "absolute"),
            ("\\\\host\\x", "absolute"),
            ("../w", "leads out"),
            ("a/../../w", "leads out"),
            ("a\\..\\w", "not allowed"),
            ("a\0b", "not allowed"),
            ("", "does not name"),
            (".", "does not name"),
            ("a//b", "does not name"),
            ("a/", "does not name"),
            ("missing", "cannot open"),
        ];
        for (location, expected) in cases {
            let error = refused(folder.path(), &[("location", location)], 1);
            assert!(error.contains(expected), "{location:?}: {error}");
        }
        assert!(refused(folder.path(), &[], 1).contains("names no file"));
    }

    #[test]
    fn impossible_ranges_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w"), [0; 4]).unwrap();
        let cases = [
            (("offset", "-1"), "not a number"),
            (("offset", "+1"), "not a number"),
            (("offset", "99999999999999999999"), "too large"),
            (("offset", "18446744073709551615"), "past its end"),
            (("offset", "1"), "past its end"),
            (("length", "3"), "needs 4"),
            (("length", "18446744073709551615"), "needs 4"),
            (("location", "w"), "twice"),
        ];
        for (key, expected) in cases {
            let error = refused(folder.path(), &[("location", "w"), key], 4);
            assert!(error.contains(expected), "{key:?}: {error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_and_special_files_are_refused() {
        use std::os::unix::fs::symlink;
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        std::fs::write(elsewhere.path().join("secret"), [7]).unwrap();
        symlink(elsewhere.path().join("secret"), at("link")).unwrap();
        symlink(elsewhere.path(), at("folder")).unwrap();
        std::fs::hard_link(elsewhere.path().join("secret"), at("hard")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        for name in ["link", "folder/secret", "zero"] {
            assert!(refused(folder.path(), &[("location", name)], 1).contains("symbolic link"), "{name}");
        }
        assert!(refused(folder.path(), &[("location", "hard")], 1).contains("hard links"));
        for name in ["directory", "pipe"] {
            assert!(refused(folder.path(), &[("location", name)], 1).contains("regular file"), "{name}");
            assert!(
                read(folder.path(), true, &[("location", name)], 1).unwrap_err().contains("regular file"),
                "{name}"
            );
        }
        assert!(read(folder.path(), true, &[("location", "zero")], 1).unwrap_err().contains("regular file"));
        for name in ["link", "folder/secret", "hard"] {
            assert_eq!(read(folder.path(), true, &[("location", name)], 1).unwrap(), [7].as_slice());
        }
    }
}
