//! Writing the merged object as an ELF file.

use super::input::Input;
use super::output::{LAYOUT, Merged, OutputSymbol};
use object::elf;
use object::endian::Endianness;
use object::write::elf::{FileHeader, SectionHeader, SectionIndex, Sym, TwoPhase, Writer};

/// Writes the file: one copy of each section's bytes into one buffer of the final size.
pub(super) fn emit(
    inputs: &[Input<'_>],
    merged: &mut [Merged],
    symbols: &[OutputSymbol<'_>],
    local_count: usize,
    bytes: &mut Vec<u8>,
) -> object::write::Result<()> {
    const IS_RELA: bool = true;
    let relocation_names: Vec<String> = LAYOUT.iter().map(|(name, _)| format!(".rela{name}")).collect();
    let mut writer: Writer<'_, TwoPhase> = Writer::new(Endianness::Little, true, bytes);
    writer.reserve_file_header();
    // All merged sections are written, empty or not, so that section symbols need no renumbering.
    let names: Vec<_> = LAYOUT.iter().map(|(name, _)| writer.add_section_name(name.as_bytes())).collect();
    for section in merged.iter_mut() {
        section.index = writer.reserve_section_index().0;
    }
    let mut relocation_sections = Vec::new();
    for (home, section) in merged.iter().enumerate() {
        if !section.relocations.is_empty() {
            relocation_sections.push((home, writer.add_section_name(relocation_names[home].as_bytes())));
            writer.reserve_section_index();
        }
    }
    let stack_name = writer.add_section_name(b".note.GNU-stack");
    writer.reserve_section_index();
    let symbol_table = writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();
    let string_ids: Vec<_> =
        symbols.iter().map(|symbol| (!symbol.name.is_empty()).then(|| writer.add_string(symbol.name))).collect();
    writer.reserve_null_symbol_index();
    for symbol in symbols {
        writer.reserve_symbol_index(symbol.home.map(|home| SectionIndex(merged[home].index)));
    }
    for (home, section) in merged.iter_mut().enumerate() {
        let in_file = if is_zero(home) { 0 } else { section.size };
        section.file_offset = writer.reserve(in_file, section.alignment);
    }
    for &(home, _) in &relocation_sections {
        merged[home].relocations_offset = writer.reserve_relocations(merged[home].relocations.len(), IS_RELA);
    }
    writer.reserve_symtab();
    writer.reserve_strtab()?;
    writer.reserve_shstrtab()?;
    writer.reserve_section_headers();

    writer.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_SYSV,
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: inputs[0].machine,
        e_entry: 0,
        e_flags: inputs[0].file_flags,
    })?;
    for (home, section) in merged.iter().enumerate() {
        if is_zero(home) {
            continue;
        }
        writer.pad_until(section.file_offset);
        for &(input, index, offset) in &section.pieces {
            writer.pad_until(section.file_offset + offset);
            writer.write(inputs[input].sections[index].data);
        }
    }
    for &(home, _) in &relocation_sections {
        writer.write_align_relocation();
        for relocation in &merged[home].relocations {
            writer.write_relocation(IS_RELA, relocation);
        }
    }
    writer.write_null_symbol();
    for (symbol, id) in symbols.iter().zip(&string_ids) {
        writer.write_symbol(&Sym {
            section: symbol.home.map(|home| merged[home].index),
            st_name: writer.string_offset(*id),
            st_info: elf::SymbolInfo::new(symbol.bind, symbol.kind),
            st_other: elf::SymbolOther(0),
            st_shndx: symbol.special,
            st_value: symbol.value,
            st_size: symbol.size,
        });
    }
    writer.write_strtab();
    writer.write_shstrtab();
    writer.write_null_section_header();
    for (home, section) in merged.iter().enumerate() {
        writer.write_section_header(&SectionHeader {
            sh_name: writer.section_name_offset(Some(names[home])),
            sh_type: if is_zero(home) { elf::SHT_NOBITS } else { elf::SHT_PROGBITS },
            sh_flags: elf::SectionFlags(LAYOUT[home].1),
            sh_addr: 0,
            sh_offset: section.file_offset,
            sh_size: section.size,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: section.alignment,
            sh_entsize: 0,
        });
    }
    for &(home, name) in &relocation_sections {
        let section = &merged[home];
        writer.write_relocation_section_header(
            name,
            SectionIndex(section.index),
            symbol_table,
            section.relocations_offset,
            section.relocations.len(),
            IS_RELA,
        );
    }
    writer.write_section_header(&SectionHeader {
        sh_name: writer.section_name_offset(Some(stack_name)),
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SectionFlags(0),
        sh_addr: 0,
        sh_offset: 0,
        sh_size: 0,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 1,
        sh_entsize: 0,
    });
    writer.write_symtab_section_header(local_count as u32 + 1);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Ok(())
}

/// Whether a section of [`LAYOUT`] has no bytes in the file.
fn is_zero(home: usize) -> bool {
    LAYOUT[home].0.ends_with("bss")
}
