//! Reading relocatable objects and archives of them.

use super::super::LinkError;
use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::read::{SectionIndex, SymbolIndex};

type Header = elf::FileHeader64<LittleEndian>;
/// A relocation with addend, as it lies in the file.
pub(super) type Relocation = elf::Rela64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// One relocatable object.
pub(super) struct Input<'a> {
    /// What to call it in messages.
    pub name: String,
    pub machine: elf::Machine,
    pub file_flags: elf::FileFlags,
    /// By ELF section index.
    pub sections: Vec<Section<'a>>,
    /// By ELF symbol index.
    pub symbols: Vec<Symbol<'a>>,
}

/// One section.
pub(super) struct Section<'a> {
    pub name: &'a [u8],
    pub kind: elf::SectionType,
    pub flags: u64,
    pub alignment: u64,
    pub size: u64,
    /// Empty for a section without bytes in the file.
    pub data: &'a [u8],
    pub relocations: &'a [Relocation],
}

/// One symbol.
pub(super) struct Symbol<'a> {
    pub name: &'a [u8],
    pub bind: elf::SymbolBind,
    pub kind: elf::SymbolType,
    pub place: Place,
    /// Offset in the section, or an absolute value.
    pub value: u64,
    pub size: u64,
}

/// Where a symbol is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Undefined,
    Absolute,
    Section(usize),
    /// Tentative definition in C; neither Rust nor Cranelift makes them.
    Common,
}

impl<'a> Input<'a> {
    /// Parses the relocatable object in `data`.
    pub fn parse(name: String, data: &'a [u8]) -> Result<Self, LinkError> {
        check_format(&name, data)?;
        let malformed = |error: object::Error| LinkError::malformed(&name, error);
        let header = Header::parse(data).map_err(malformed)?;
        let table = header.sections(ENDIAN, data).map_err(malformed)?;
        let mut sections = Vec::with_capacity(table.len());
        for header in table.iter() {
            let kind = header.sh_type(ENDIAN);
            sections.push(Section {
                name: table.section_name(ENDIAN, header).map_err(malformed)?,
                kind,
                flags: header.sh_flags(ENDIAN).0,
                alignment: header.sh_addralign(ENDIAN).max(1),
                size: header.sh_size(ENDIAN),
                data: header.data(ENDIAN, data).map_err(malformed)?,
                relocations: &[],
            });
        }
        for header in table.iter() {
            let kind = header.sh_type(ENDIAN);
            let target = header.sh_info(ENDIAN) as usize;
            if kind == elf::SHT_RELA {
                let (relocations, _) = header.rela(ENDIAN, data).map_err(malformed)?.unwrap_or((&[], SectionIndex(0)));
                let section = sections
                    .get_mut(target)
                    .ok_or_else(|| LinkError::malformed(&name, "relocations of a missing section"))?;
                section.relocations = relocations;
            } else if kind == elf::SHT_REL || kind == elf::SHT_CREL {
                return Err(LinkError::Unsupported(format!("relocations without addends, in {name}")));
            }
        }
        if let Some(section) = sections.iter().find(|section| !section.alignment.is_power_of_two()) {
            let section = String::from_utf8_lossy(section.name).into_owned();
            return Err(LinkError::malformed(&name, format!("the alignment of {section} is not a power of two")));
        }
        let symbols = parse_symbols(&table, data, sections.len()).map_err(malformed)?;
        Ok(Input { machine: header.e_machine(ENDIAN), file_flags: header.e_flags(ENDIAN), sections, symbols, name })
    }
}

/// The symbol table; a definition in a section that does not exist is an error.
fn parse_symbols<'a>(
    table: &object::read::elf::SectionTable<'a, Header>,
    data: &'a [u8],
    section_count: usize,
) -> object::Result<Vec<Symbol<'a>>> {
    let read = table.symbols(ENDIAN, data, elf::SHT_SYMTAB)?;
    let mut symbols = Vec::with_capacity(read.len());
    for (position, symbol) in read.iter().enumerate() {
        let index = SymbolIndex(position);
        let place = if symbol.is_undefined(ENDIAN) {
            Place::Undefined
        } else if symbol.is_absolute(ENDIAN) {
            Place::Absolute
        } else if symbol.is_common(ENDIAN) {
            Place::Common
        } else {
            match read.symbol_section(ENDIAN, symbol, index)? {
                Some(section) if section.0 < section_count => Place::Section(section.0),
                _ => Place::Undefined,
            }
        };
        symbols.push(Symbol {
            name: read.symbol_name(ENDIAN, symbol)?,
            bind: symbol.st_bind(),
            kind: symbol.st_type(),
            place,
            value: symbol.st_value(ENDIAN),
            size: symbol.st_size(ENDIAN),
        });
    }
    Ok(symbols)
}

/// Refuses everything but 64-bit little-endian relocatable ELF for the two supported processors.
fn check_format(name: &str, data: &[u8]) -> Result<(), LinkError> {
    match object::FileKind::parse(data) {
        Ok(object::FileKind::Elf64) => {}
        Ok(kind) => {
            return Err(LinkError::Unsupported(format!(
                "{name} is {kind:?}; artifacts can be linked for ELF targets (Linux on x86-64 and aarch64) only"
            )));
        }
        Err(error) => return Err(LinkError::malformed(name, error)),
    }
    let header = Header::parse(data).map_err(|error| LinkError::malformed(name, error))?;
    let machine = header.e_machine(ENDIAN);
    if header.endian().is_err() || (machine != elf::EM_X86_64 && machine != elf::EM_AARCH64) {
        return Err(LinkError::Unsupported(format!(
            "{name} is for an ELF processor that is neither x86-64 nor aarch64"
        )));
    }
    if header.e_type(ENDIAN) != elf::ET_REL {
        return Err(LinkError::malformed(name, "it is not a relocatable object"));
    }
    Ok(())
}

/// Adds the objects of the stub, which is one object or an archive, to `inputs`.
pub(super) fn parse_stub<'a>(stub: &'a [u8], inputs: &mut Vec<Input<'a>>) -> Result<(), LinkError> {
    const NAME: &str = "the runtime stub";
    if !stub.starts_with(&object::archive::MAGIC) {
        inputs.push(Input::parse(NAME.to_owned(), stub)?);
        return Ok(());
    }
    let malformed = |error: object::Error| LinkError::malformed(NAME, error);
    let archive = object::read::archive::ArchiveFile::parse(stub).map_err(malformed)?;
    for member in archive.members() {
        let member = member.map_err(malformed)?;
        let name = format!("{NAME}'s {}", String::from_utf8_lossy(member.name()));
        inputs.push(Input::parse(name, member.data(stub).map_err(malformed)?)?);
    }
    Ok(())
}
