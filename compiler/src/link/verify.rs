//! Reading an artifact back: what it imports, exports and needs.

use super::LinkError;
use object::elf;
use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeSet;

type File<'a> = ElfFile64<'a, LittleEndian>;

/// What kind of file an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactKind {
    /// A shared library.
    Shared,
    /// A static library.
    Archive,
    /// A relocatable object.
    Object,
}

/// What an artifact asks of the program that loads or links it, and gives to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The kind of file.
    pub kind: ArtifactKind,
    /// Undefined symbols, sorted; with `@VERSION` where a version is required.
    pub imports: Vec<String>,
    /// Global symbols that it defines, sorted.
    pub exports: Vec<String>,
    /// Libraries it names as needed (`DT_NEEDED`).
    pub needed: Vec<String>,
    /// Its own recorded name (`DT_SONAME`).
    pub soname: Option<String>,
    /// Functions run at load or unload.
    pub has_constructors: bool,
    /// Thread-local storage.
    pub has_thread_local_storage: bool,
    /// Relocations against code or read-only data, which stop pages from being shared.
    pub has_text_relocations: bool,
    /// A stack that must be executable, or no statement about it.
    pub has_executable_stack: bool,
    /// Segments both writable and executable.
    pub has_writable_code: bool,
}

/// Reads the shared library, static library or object `artifact`.
///
/// # Errors
/// The file is malformed, or not 64-bit little-endian ELF.
pub fn verify(artifact: &[u8]) -> Result<Report, LinkError> {
    if artifact.starts_with(&object::archive::MAGIC) {
        return verify_archive(artifact);
    }
    match object::FileKind::parse(artifact) {
        Ok(object::FileKind::Elf64) => {}
        Ok(kind) => return Err(LinkError::Unsupported(format!("reading an artifact of the kind {kind:?}"))),
        Err(error) => return Err(LinkError::malformed("the artifact", error)),
    }
    verify_elf(artifact).map_err(|error| LinkError::malformed("the artifact", error))
}

/// The union of the members' reports; what one member defines is no import of the whole.
fn verify_archive(artifact: &[u8]) -> Result<Report, LinkError> {
    let malformed = |error: object::Error| LinkError::malformed("the static library", error);
    let file = object::read::archive::ArchiveFile::parse(artifact).map_err(malformed)?;
    let mut whole = empty(ArtifactKind::Archive);
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    for member in file.members() {
        let report = verify_elf(member.map_err(malformed)?.data(artifact).map_err(malformed)?).map_err(malformed)?;
        imports.extend(report.imports);
        exports.extend(report.exports);
        whole.has_constructors |= report.has_constructors;
        whole.has_thread_local_storage |= report.has_thread_local_storage;
        whole.has_executable_stack |= report.has_executable_stack;
    }
    whole.imports = imports.difference(&exports).cloned().collect();
    whole.exports = exports.into_iter().collect();
    Ok(whole)
}

fn empty(kind: ArtifactKind) -> Report {
    Report {
        kind,
        imports: Vec::new(),
        exports: Vec::new(),
        needed: Vec::new(),
        soname: None,
        has_constructors: false,
        has_thread_local_storage: false,
        has_text_relocations: false,
        has_executable_stack: false,
        has_writable_code: false,
    }
}

fn verify_elf(data: &[u8]) -> object::Result<Report> {
    let file = File::parse(data)?;
    let is_shared = file.elf_header().e_type.get(LittleEndian) == elf::ET_DYN;
    let mut report = empty(if is_shared { ArtifactKind::Shared } else { ArtifactKind::Object });
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    let versions = file.elf_section_table().versions(LittleEndian, data)?;
    let symbols = if is_shared { file.dynamic_symbols() } else { file.symbols() };
    for symbol in symbols {
        let name = String::from_utf8_lossy(symbol.name_bytes()?).into_owned();
        report.has_thread_local_storage |= symbol.kind() == SymbolKind::Tls;
        if name.is_empty() || symbol.is_local() {
            continue;
        }
        if symbol.is_undefined() {
            let version = match &versions {
                Some(table) if is_shared => {
                    let index = table.version_index(LittleEndian, symbol.index());
                    table.version(index.index())?.map(|version| String::from_utf8_lossy(version.name()).into_owned())
                }
                _ => None,
            };
            imports.insert(version.map_or(name.clone(), |version| format!("{name}@{version}")));
        } else {
            exports.insert(name);
        }
    }
    report.imports = imports.into_iter().collect();
    report.exports = exports.into_iter().collect();
    read_sections(&file, &mut report)?;
    if is_shared {
        read_segments(&file, data, &mut report)?;
    }
    Ok(report)
}

fn read_sections(file: &File<'_>, report: &mut Report) -> object::Result<()> {
    let mut states_stack = false;
    for section in file.sections() {
        let header = section.elf_section_header();
        let kind = header.sh_type(LittleEndian);
        let flags = header.sh_flags(LittleEndian).0;
        let is_table = [elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY, elf::SHT_PREINIT_ARRAY].contains(&kind);
        report.has_constructors |= is_table && section.size() > 0;
        report.has_thread_local_storage |= flags & elf::SHF_TLS.0 != 0;
        if section.name_bytes()? == b".note.GNU-stack" {
            states_stack = true;
            report.has_executable_stack |= flags & elf::SHF_EXECINSTR.0 != 0;
        }
    }
    if report.kind == ArtifactKind::Object {
        report.has_executable_stack |= !states_stack;
    }
    Ok(())
}

fn read_segments(file: &File<'_>, data: &[u8], report: &mut Report) -> object::Result<()> {
    let mut states_stack = false;
    for header in file.elf_program_headers() {
        let flags = header.p_flags(LittleEndian).0;
        let kind = header.p_type(LittleEndian);
        let executable = flags & elf::PF_X.0 != 0;
        if kind == elf::PT_GNU_STACK {
            states_stack = true;
            report.has_executable_stack |= executable;
        }
        report.has_thread_local_storage |= kind == elf::PT_TLS;
        report.has_writable_code |= kind == elf::PT_LOAD && executable && flags & elf::PF_W.0 != 0;
    }
    report.has_executable_stack |= !states_stack;
    let table = file.elf_section_table();
    let dynamic = table.dynamic_table(LittleEndian, data)?;
    let text = |entry: object::read::elf::Dynamic| -> object::Result<String> {
        Ok(String::from_utf8_lossy(dynamic.string(entry)?).into_owned())
    };
    for entry in dynamic.iter() {
        let tag = entry.tag;
        if tag == elf::DT_NEEDED {
            report.needed.push(text(entry)?);
        } else if tag == elf::DT_SONAME {
            report.soname = Some(text(entry)?);
        } else if [elf::DT_INIT, elf::DT_FINI].contains(&tag) {
            report.has_constructors = true;
        } else if [elf::DT_INIT_ARRAYSZ, elf::DT_FINI_ARRAYSZ, elf::DT_PREINIT_ARRAYSZ].contains(&tag) {
            report.has_constructors |= entry.val > 0;
        } else if tag == elf::DT_TEXTREL || (tag == elf::DT_FLAGS && entry.val & elf::DF_TEXTREL.0 != 0) {
            report.has_text_relocations = true;
        }
    }
    Ok(())
}
