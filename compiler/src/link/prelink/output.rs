//! Laying out the merged object: where sections go, its symbols and its relocations.

use super::super::LinkError;
use super::emit;
use super::input::{Input, Place, Relocation, Section};
use super::reach::{Program, Resolved, symbol_of};
use object::LittleEndian;
use object::elf;
use object::read::elf::Rela;
use object::write::elf::Rel;
use std::collections::{HashMap, HashSet};

/// x86-64's mark of sections that lie beyond the reach of 32-bit displacements (`SHF_X86_64_LARGE`).
const LARGE: elf::SectionFlags = elf::SectionFlags(0x1000_0000);

/// The sections of the result, in this order. Contents keep their own alignment in them.
pub(super) const LAYOUT: [(&str, u64); 8] = [
    (".text", elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0),
    (".rodata", elf::SHF_ALLOC.0),
    (".lrodata", elf::SHF_ALLOC.0 | LARGE.0),
    (".data.rel.ro", elf::SHF_ALLOC.0 | elf::SHF_WRITE.0),
    (".data", elf::SHF_ALLOC.0 | elf::SHF_WRITE.0),
    (".ldata", elf::SHF_ALLOC.0 | elf::SHF_WRITE.0 | LARGE.0),
    (".bss", elf::SHF_ALLOC.0 | elf::SHF_WRITE.0),
    (".lbss", elf::SHF_ALLOC.0 | elf::SHF_WRITE.0 | LARGE.0),
];

/// One section of the result.
#[derive(Default)]
pub(super) struct Merged {
    /// Input, section and offset of each piece.
    pub pieces: Vec<(usize, usize, u64)>,
    pub size: u64,
    pub alignment: u64,
    pub relocations: Vec<Rel>,
    /// Index among the written sections; 0 when there is nothing to write.
    pub index: u32,
    pub file_offset: u64,
    pub relocations_offset: u64,
}

/// Where an input section went: position in [`LAYOUT`] and offset.
type Homes = HashMap<(usize, usize), (usize, u64)>;

/// A symbol of the result before its indices are known.
pub(super) struct OutputSymbol<'a> {
    pub name: &'a [u8],
    pub bind: elf::SymbolBind,
    pub kind: elf::SymbolType,
    /// Position in [`LAYOUT`]; none for an import or an absolute value.
    pub home: Option<usize>,
    pub special: elf::SymbolSection,
    pub value: u64,
    pub size: u64,
}

/// Writes `program`.
pub(super) fn write(inputs: &[Input<'_>], program: &Program<'_>, exports: &[String]) -> Result<Vec<u8>, LinkError> {
    let (mut merged, homes) = lay_out(inputs, program)?;
    let (symbols, local_count, indices) = collect_symbols(inputs, program, exports, &merged, &homes);
    for section in &mut merged {
        section.relocations = relocations(inputs, program, section, &homes, &indices, &symbols)?;
    }
    let mut bytes = Vec::new();
    emit::emit(inputs, &mut merged, &symbols, local_count, &mut bytes)
        .map_err(|error| LinkError::malformed("the merged object", error))?;
    Ok(bytes)
}

/// Assigns each kept section a place.
fn lay_out(inputs: &[Input<'_>], program: &Program<'_>) -> Result<(Vec<Merged>, Homes), LinkError> {
    let mut merged: Vec<Merged> = LAYOUT.iter().map(|_| Merged { alignment: 1, ..Merged::default() }).collect();
    let mut homes = Homes::new();
    for (input, object) in inputs.iter().enumerate() {
        for (index, section) in object.sections.iter().enumerate() {
            if !program.kept[input][index] {
                continue;
            }
            let home = home_of(object, section)?;
            let target = &mut merged[home];
            let overflow = || LinkError::malformed(&object.name, "its sections do not fit in 64 bits of address space");
            let offset = target.size.checked_next_multiple_of(section.alignment).ok_or_else(overflow)?;
            target.size = offset.checked_add(section.size).ok_or_else(overflow)?;
            target.alignment = target.alignment.max(section.alignment);
            target.pieces.push((input, index, offset));
            homes.insert((input, index), (home, offset));
        }
    }
    Ok((merged, homes))
}

/// The position in [`LAYOUT`] where a section goes. Read-only data that needs absolute addresses must be writable while
/// the library is loaded, so it goes to `.data.rel.ro`.
fn home_of(input: &Input<'_>, section: &Section<'_>) -> Result<usize, LinkError> {
    let has = |flag: elf::SectionFlags| section.flags & flag.0 != 0;
    let absolute = |relocation: &Relocation| {
        let kind = relocation.r_type(LittleEndian, false);
        match input.machine {
            elf::EM_AARCH64 => kind == elf::R_AARCH64_ABS64,
            _ => kind == elf::R_X86_64_64,
        }
    };
    let large = input.machine == elf::EM_X86_64 && has(LARGE);
    let needs_absolute = section.relocations.iter().any(absolute);
    let name = if has(elf::SHF_EXECINSTR) {
        if needs_absolute {
            let name = String::from_utf8_lossy(section.name).into_owned();
            return Err(LinkError::forbidden(&input.name, format!("an absolute address in code ({name})")));
        }
        ".text"
    } else if section.kind == elf::SHT_NOBITS {
        if large { ".lbss" } else { ".bss" }
    } else if has(elf::SHF_WRITE) && !section.name.starts_with(b".data.rel.ro") {
        if large { ".ldata" } else { ".data" }
    } else if needs_absolute || has(elf::SHF_WRITE) {
        ".data.rel.ro"
    } else if large {
        ".lrodata"
    } else {
        ".rodata"
    };
    Ok(LAYOUT.iter().position(|(other, _)| *other == name).unwrap_or(0))
}

/// The symbols of the result, local ones first; how many are local (the null symbol not counted); and the position of
/// each input definition and import. The first symbols are those of the sections, in the order of [`LAYOUT`].
fn collect_symbols<'a>(
    inputs: &[Input<'a>],
    program: &Program<'a>,
    exports: &[String],
    merged: &[Merged],
    homes: &Homes,
) -> (Vec<OutputSymbol<'a>>, usize, Indices<'a>) {
    let mut local: Vec<OutputSymbol<'a>> = (0..merged.len())
        .map(|home| OutputSymbol {
            name: b"",
            bind: elf::STB_LOCAL,
            kind: elf::STT_SECTION,
            home: Some(home),
            special: elf::SHN_UNDEF,
            value: 0,
            size: 0,
        })
        .collect();
    let exported: HashSet<(usize, usize)> =
        exports.iter().filter_map(|name| program.definition(name.as_bytes())).collect();
    let mut global = Vec::new();
    let mut indices = Indices::default();
    let mut definitions = Vec::new();
    for (input, object) in inputs.iter().enumerate() {
        for (index, symbol) in object.symbols.iter().enumerate() {
            let (home, special, value) = match symbol.place {
                Place::Section(section) => match homes.get(&(input, section)) {
                    Some(&(home, offset)) => (Some(home), elf::SHN_UNDEF, offset.wrapping_add(symbol.value)),
                    None => continue,
                },
                Place::Absolute if program.referenced[input][index] => (None, elf::SHN_ABS, symbol.value),
                _ => continue,
            };
            if symbol.kind == elf::STT_SECTION || symbol.kind == elf::STT_FILE {
                continue;
            }
            let assembler_name = symbol.name.is_empty() || symbol.name.starts_with(b".L");
            if assembler_name && !program.referenced[input][index] {
                continue;
            }
            let is_exported = exported.contains(&(input, index));
            let bind = if is_exported { elf::STB_GLOBAL } else { elf::STB_LOCAL };
            let list = if is_exported { &mut global } else { &mut local };
            definitions.push(((input, index), is_exported, list.len()));
            let (name, kind, size) = (symbol.name, symbol.kind, symbol.size);
            list.push(OutputSymbol { name, bind, kind, home, special, value, size });
        }
    }
    for (&name, &weak) in &program.imports {
        indices.imports.insert(name, local.len() + global.len());
        let bind = if weak { elf::STB_WEAK } else { elf::STB_GLOBAL };
        let (kind, special) = (elf::STT_NOTYPE, elf::SHN_UNDEF);
        global.push(OutputSymbol { name, bind, kind, home: None, special, value: 0, size: 0 });
    }
    for (key, is_global, position) in definitions {
        indices.definitions.insert(key, if is_global { local.len() + position } else { position });
    }
    let local_count = local.len();
    local.extend(global);
    (local, local_count, indices)
}

/// Positions in the list of output symbols.
#[derive(Default)]
struct Indices<'a> {
    definitions: HashMap<(usize, usize), usize>,
    imports: HashMap<&'a [u8], usize>,
}

/// The relocations of one merged section. `r_sym` is the position in the list of output symbols; [`emit::emit`] turns it into
/// an index.
fn relocations(
    inputs: &[Input<'_>],
    program: &Program<'_>,
    section: &Merged,
    homes: &Homes,
    indices: &Indices<'_>,
    symbols: &[OutputSymbol<'_>],
) -> Result<Vec<Rel>, LinkError> {
    let mut result = Vec::new();
    for &(input, index, offset) in &section.pieces {
        let object = &inputs[input];
        for relocation in object.sections[index].relocations {
            let symbol = symbol_of(object, relocation)?;
            let mut addend = relocation.r_addend(LittleEndian);
            let position = match program.resolve(inputs, input, symbol) {
                Resolved::Import(name) => indices.imports.get(name).copied(),
                Resolved::Defined(owner, symbol) => {
                    let entry = &inputs[owner].symbols[symbol];
                    match entry.place {
                        Place::Section(target) if entry.kind == elf::STT_SECTION => {
                            homes.get(&(owner, target)).map(|&(home, start)| {
                                addend = addend.wrapping_add_unsigned(start);
                                home
                            })
                        }
                        _ if symbol == 0 => None,
                        _ => indices.definitions.get(&(owner, symbol)).copied(),
                    }
                }
            };
            let within = relocation.r_offset(LittleEndian);
            if within >= object.sections[index].size {
                return Err(LinkError::malformed(&object.name, "a relocation lies outside its section"));
            }
            debug_assert!(position.is_none_or(|position| position < symbols.len()));
            result.push(Rel {
                r_offset: offset + within,
                r_sym: position.map_or(0, |position| position as u32 + 1),
                r_type: relocation.r_type(LittleEndian, false),
                r_addend: addend,
            });
        }
    }
    Ok(result)
}
