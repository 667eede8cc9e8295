//! Symbol resolution, and the set of sections reachable from the model.

use super::super::LinkError;
use super::super::imports::is_allowed;
use super::input::{Input, Place, Relocation, Section, Symbol};
use object::LittleEndian;
use object::elf;
use std::collections::{BTreeMap, HashMap};

/// What of the inputs goes into the result.
pub(super) struct Program<'a> {
    /// By input, by section: whether the section is kept.
    pub kept: Vec<Vec<bool>>,
    /// By input, by symbol: whether a kept relocation refers to it after resolution.
    pub referenced: Vec<Vec<bool>>,
    /// Imported names; true where every reference is weak.
    pub imports: BTreeMap<&'a [u8], bool>,
    definitions: HashMap<&'a [u8], (usize, usize)>,
}

/// What a reference to a symbol means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolved<'a> {
    /// A definition: input and symbol index.
    Defined(usize, usize),
    /// Nothing defines it.
    Import(&'a [u8]),
}

impl<'a> Program<'a> {
    /// The meaning of symbol `symbol` in input `input`.
    pub fn resolve(&self, inputs: &[Input<'a>], input: usize, symbol: usize) -> Resolved<'a> {
        let entry = &inputs[input].symbols[symbol];
        if entry.bind == elf::STB_LOCAL {
            return Resolved::Defined(input, symbol);
        }
        match self.definitions.get(entry.name) {
            Some(&(input, symbol)) => Resolved::Defined(input, symbol),
            None => Resolved::Import(entry.name),
        }
    }

    /// The definition of the exported `name`.
    pub fn definition(&self, name: &[u8]) -> Option<(usize, usize)> {
        self.definitions.get(name).copied()
    }
}

/// Resolves the symbols of `inputs` (the first is the model) and marks what is reachable.
pub(super) fn reach<'a>(
    inputs: &[Input<'a>],
    exports: &[String],
    allowed_imports: &[String],
) -> Result<Program<'a>, LinkError> {
    let mut program = Program {
        kept: inputs.iter().map(|input| vec![false; input.sections.len()]).collect(),
        referenced: inputs.iter().map(|input| vec![false; input.symbols.len()]).collect(),
        imports: BTreeMap::new(),
        definitions: definitions(inputs),
    };
    let mut pending = Vec::new();
    for (index, section) in inputs[0].sections.iter().enumerate() {
        if is_constructor(section) {
            let content = format!("a constructor table ({})", String::from_utf8_lossy(section.name));
            return Err(LinkError::forbidden(&inputs[0].name, content));
        }
        if is_content(section) {
            program.kept[0][index] = true;
            pending.push((0, index));
        }
    }
    for export in exports {
        let (input, symbol) =
            program.definition(export.as_bytes()).ok_or_else(|| LinkError::MissingExport(export.clone()))?;
        program.visit(inputs, input, symbol, &mut pending)?;
    }
    let mut missing = BTreeMap::new();
    while let Some((input, section)) = pending.pop() {
        check_section(&inputs[input], section)?;
        for relocation in inputs[input].sections[section].relocations {
            let symbol = symbol_of(&inputs[input], relocation)?;
            match program.resolve(inputs, input, symbol) {
                Resolved::Defined(input, symbol) => program.visit(inputs, input, symbol, &mut pending)?,
                Resolved::Import(name) => {
                    let entry: &Symbol<'_> = &inputs[input].symbols[symbol];
                    if name != b"_GLOBAL_OFFSET_TABLE_" && !is_allowed(name, allowed_imports) {
                        missing.entry(name).or_insert(input);
                    }
                    let weak = entry.bind == elf::STB_WEAK;
                    program.imports.entry(name).and_modify(|all_weak| *all_weak &= weak).or_insert(weak);
                }
            }
        }
    }
    if !missing.is_empty() {
        let describe =
            |(name, input): (&[u8], usize)| (String::from_utf8_lossy(name).into_owned(), inputs[input].name.clone());
        return Err(LinkError::Unresolved(missing.into_iter().map(describe).collect()));
    }
    Ok(program)
}

impl<'a> Program<'a> {
    /// Marks a definition as referenced and its section as kept.
    fn visit(
        &mut self,
        inputs: &[Input<'a>],
        input: usize,
        symbol: usize,
        pending: &mut Vec<(usize, usize)>,
    ) -> Result<(), LinkError> {
        self.referenced[input][symbol] = true;
        let entry = &inputs[input].symbols[symbol];
        let name = || String::from_utf8_lossy(entry.name).into_owned();
        if entry.kind == elf::STT_TLS {
            return Err(LinkError::forbidden(&inputs[input].name, format!("the thread-local variable `{}`", name())));
        }
        if entry.kind == elf::STT_GNU_IFUNC {
            return Err(LinkError::forbidden(&inputs[input].name, format!("the indirect function `{}`", name())));
        }
        let section = match entry.place {
            Place::Section(section) => section,
            // Symbol 0 and absolute values stand for numbers.
            Place::Absolute => return Ok(()),
            Place::Undefined if symbol == 0 => return Ok(()),
            Place::Undefined => {
                return Err(LinkError::malformed(&inputs[input].name, format!("`{}` has no section", name())));
            }
            Place::Common => {
                return Err(LinkError::Unsupported(format!(
                    "the common symbol `{}` in {}; compile it with -fno-common",
                    name(),
                    inputs[input].name
                )));
            }
        };
        if !is_content(&inputs[input].sections[section]) {
            let section = String::from_utf8_lossy(inputs[input].sections[section].name).into_owned();
            return Err(LinkError::forbidden(&inputs[input].name, format!("a reference to the dropped {section}")));
        }
        if !self.kept[input][section] {
            self.kept[input][section] = true;
            pending.push((input, section));
        }
        Ok(())
    }
}

/// The symbol index of a relocation, checked.
pub(super) fn symbol_of(input: &Input<'_>, relocation: &Relocation) -> Result<usize, LinkError> {
    let symbol = relocation.r_sym(LittleEndian, false) as usize;
    if symbol < input.symbols.len() {
        Ok(symbol)
    } else {
        Err(LinkError::malformed(&input.name, "a relocation names a missing symbol"))
    }
}

/// The definition that each global name resolves to: the first strong one, else the first weak one.
fn definitions<'a>(inputs: &[Input<'a>]) -> HashMap<&'a [u8], (usize, usize)> {
    let mut found: HashMap<&'a [u8], (usize, usize)> = HashMap::new();
    for (input, object) in inputs.iter().enumerate() {
        for (index, symbol) in object.symbols.iter().enumerate() {
            if symbol.bind == elf::STB_LOCAL || symbol.place == Place::Undefined || symbol.name.is_empty() {
                continue;
            }
            let is_weak = |symbol: &Symbol<'_>| symbol.bind == elf::STB_WEAK;
            found
                .entry(symbol.name)
                .and_modify(|(earlier_input, earlier)| {
                    if is_weak(&inputs[*earlier_input].symbols[*earlier]) && !is_weak(symbol) {
                        (*earlier_input, *earlier) = (input, index);
                    }
                })
                .or_insert((input, index));
        }
    }
    found
}

/// Whether a section is part of the running program; unwind tables, notes, debug information and tables for the linker
/// are not.
fn is_content(section: &Section<'_>) -> bool {
    let flags = section.flags;
    if flags & elf::SHF_ALLOC.0 == 0 || flags & elf::SHF_EXCLUDE.0 != 0 {
        return false;
    }
    let kind = section.kind;
    if kind == elf::SHT_NOTE || kind == elf::SHT_X86_64_UNWIND || is_constructor(section) {
        return false;
    }
    let dropped: [&[u8]; 4] = [b".eh_frame", b".gcc_except_table", b".note", b".llvm"];
    !dropped.iter().any(|beginning| section.name.starts_with(beginning))
}

/// Whether a section is a table of functions to run at load or unload. Those of the stub's archive are dropped: the only
/// one there is the choice of atomic instructions on aarch64, whose default is right everywhere.
fn is_constructor(section: &Section<'_>) -> bool {
    let tables: [&[u8]; 5] = [b".init_array", b".fini_array", b".preinit_array", b".ctors", b".dtors"];
    let kinds = [elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY, elf::SHT_PREINIT_ARRAY];
    kinds.contains(&section.kind)
        || tables.iter().any(|name| section.name.starts_with(name))
        || section.name == b".init"
        || section.name == b".fini"
}

/// Refuses content that an artifact must not have.
fn check_section(input: &Input<'_>, section: usize) -> Result<(), LinkError> {
    let section = &input.sections[section];
    let name = || String::from_utf8_lossy(section.name).into_owned();
    if section.flags & elf::SHF_TLS.0 != 0 {
        return Err(LinkError::forbidden(&input.name, format!("thread-local storage ({})", name())));
    }
    if section.flags & elf::SHF_COMPRESSED.0 != 0 {
        return Err(LinkError::Unsupported(format!("the compressed section {} in {}", name(), input.name)));
    }
    Ok(())
}
