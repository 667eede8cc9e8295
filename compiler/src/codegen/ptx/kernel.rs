//! The loop nest of a kernel.

use std::collections::HashMap;

use super::assembly::{Assembly, Class, Operand, Register};
use super::dims::emit_dim;
use super::mapping::Mapping;
use super::math::Library;
use super::module::BLOCK_THREADS;
use crate::graph::{Dim, ElementType, SymbolId};
use crate::loops::{AxisId, ExprId, Kernel, Store};

/// The register class and PTX type of a compute type; integers below 32 bits are kept extended to 32.
pub fn scalar_type(element: ElementType) -> Result<(Class, &'static str), String> {
    use ElementType as E;
    Ok(match element {
        E::F32 => (Class::Single, "f32"),
        E::F64 => (Class::Double, "f64"),
        E::I64 => (Class::Long, "s64"),
        E::U64 => (Class::Long, "u64"),
        E::I32 | E::I16 | E::I8 => (Class::Word, "s32"),
        E::U32 | E::U16 | E::U8 | E::Bool => (Class::Word, "u32"),
        _ => return Err(format!("there is no GPU code for element type {element}")),
    })
}

/// Writes one kernel.
pub(super) struct KernelEmitter<'a> {
    pub assembly: Assembly,
    pub library: &'a mut Library,
    pub kernel: &'a Kernel,
    pub mapping: Mapping,
    /// Address of each parameter.
    pub bases: Vec<Register>,
    /// Position on each axis whose loop is open.
    pub positions: Vec<Option<Register>>,
    /// Results of finished reductions.
    pub reduced: Vec<Option<Register>>,
    /// Values already computed, innermost scope last.
    pub scopes: Vec<HashMap<ExprId, Register>>,
    /// Predicates of bools that came from comparisons.
    pub predicates: HashMap<Register, Register>,
    /// Position of the thread in its block; 0 where a thread works alone.
    pub thread: Register,
    /// Where failed index checks go.
    pub fail: String,
    /// Whether something goes there.
    pub fails: bool,
    dims: HashMap<Dim, Register>,
    sizes: HashMap<SymbolId, Register>,
}

/// The text of a kernel called `name`. `symbols` is the order of the sizes that are passed.
///
/// # Errors
/// Where the kernel uses something that has no code; the message says what.
pub fn emit_kernel(
    kernel: &Kernel,
    name: &str,
    mapping: Mapping,
    symbols: &[SymbolId],
    library: &mut Library,
) -> Result<String, String> {
    for &element in &kernel.types {
        scalar_type(element)?;
    }
    let mut assembly = Assembly::default();
    let mut parameters = Vec::new();
    let mut load = |assembly: &mut Assembly, declaration: String, parameter: String, kind: &str| {
        parameters.push(format!("    .param {declaration} {parameter}"));
        assembly.before(|assembly| {
            let register = assembly.fresh(Class::Long);
            assembly.line(format_args!("ld.param.{kind} {register}, [{parameter}]"));
            register
        })
    };
    let bases = (0..kernel.parameters.len())
        .map(|place| load(&mut assembly, ".u64 .ptr .global .align 16".into(), format!("{name}_p{place}"), "u64"))
        .collect();
    let sizes = symbols
        .iter()
        .enumerate()
        .map(|(place, &symbol)| (symbol, load(&mut assembly, ".s64".into(), format!("{name}_s{place}"), "s64")))
        .collect();
    let flag = load(&mut assembly, ".u64 .ptr .global .align 4".into(), format!("{name}_flag"), "u64");
    let thread = assembly.before(|assembly| {
        let thread = assembly.fresh(Class::Word);
        assembly.line(format_args!("mov.u32 {thread}, %tid.x"));
        assembly.unary(Class::Long, "cvt.u64.u32", thread)
    });
    let fail = assembly.label();
    let mut emitter = KernelEmitter {
        assembly,
        library,
        kernel,
        mapping,
        bases,
        positions: vec![None; kernel.axes.len()],
        reduced: vec![None; kernel.reductions.len()],
        scopes: vec![HashMap::new()],
        predicates: HashMap::new(),
        thread,
        fail,
        fails: false,
        dims: HashMap::new(),
        sizes,
    };
    emitter.points()?;
    let (mut assembly, fails, fail) = (emitter.assembly, emitter.fails, emitter.fail);
    assembly.line("ret");
    if fails {
        assembly.place(&fail);
        assembly.line(format_args!("st.global.u32 [{flag}], 1"));
        assembly.line("ret");
    }
    let limit = match mapping {
        Mapping::Blocks => format!(".reqntid {BLOCK_THREADS}, 1, 1"),
        other => format!(".maxntid {}, 1, 1", other.threads()),
    };
    let shared = match mapping {
        Mapping::Blocks => format!("    .shared .align 8 .b8 partial[{}];\n", 8 * BLOCK_THREADS),
        _ => String::new(),
    };
    let (parameters, body) = (parameters.join(",\n"), assembly.finish());
    Ok(format!("\n.visible .entry {name}(\n{parameters}\n)\n{limit}\n{{\n{shared}{body}}}\n"))
}

impl KernelEmitter<'_> {
    /// The value of a dimension expression, computed once when the kernel starts.
    pub fn dim(&mut self, dim: &Dim) -> Result<Register, String> {
        if let Some(&register) = self.dims.get(dim) {
            return Ok(register);
        }
        let sizes = &self.sizes;
        let symbol = |id| sizes.get(&id).copied().ok_or_else(|| "a size is not passed".to_string());
        let register = self.assembly.before(|assembly| emit_dim(assembly, dim, &symbol))?;
        self.dims.insert(dim.clone(), register);
        Ok(register)
    }

    fn extent(&mut self, axis: AxisId) -> Result<Register, String> {
        let extent = self.kernel.extent(axis).clone();
        self.dim(&extent)
    }

    /// Writes `for position = start; position < end; position += step { body }`.
    pub fn repeat(
        &mut self,
        start: impl Into<Operand>,
        end: Register,
        step: impl Into<Operand>,
        body: &mut dyn FnMut(&mut Self, Register) -> Result<(), String>,
    ) -> Result<(), String> {
        let position = self.assembly.fresh(Class::Long);
        self.assembly.assign(position, start);
        let (head, exit) = (self.assembly.label(), self.assembly.label());
        self.assembly.place(&head);
        let done = self.assembly.binary(Class::Predicate, "setp.ge.s64", position, end);
        self.assembly.line(format_args!("@{done} bra {exit}"));
        self.scopes.push(HashMap::new());
        body(self, position)?;
        self.scopes.pop();
        self.assembly.emit_to(position, "add.s64", &[position.into(), step.into()]);
        self.assembly.line(format_args!("bra {head}"));
        self.assembly.place(&exit);
        Ok(())
    }

    /// Runs `body` at each point of `axes`, in order.
    pub fn over(
        &mut self,
        axes: &[AxisId],
        body: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some((&axis, inner)) = axes.split_first() else { return body(self) };
        let end = self.extent(axis)?;
        self.repeat(0, end, 1, &mut |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.over(inner, body)
        })
    }

    /// Runs `body` at the points of `axes` whose number, counted row by row, is `start`, `start + step`, ...
    fn over_strided(
        &mut self,
        axes: &[AxisId],
        start: Register,
        step: impl Into<Operand>,
        body: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let kernel = self.kernel;
        let total = Dim::product(axes.iter().map(|&axis| kernel.extent(axis)));
        let end = if total.is_unknown() {
            let mut end = self.assembly.constant(Class::Long, 1);
            for &axis in axes {
                let extent = self.extent(axis)?;
                end = self.assembly.binary(Class::Long, "mul.lo.s64", end, extent);
            }
            end
        } else {
            self.dim(&total)?
        };
        self.repeat(start, end, step, &mut |emitter, number| {
            let mut rest = number;
            for (level, &axis) in axes.iter().enumerate().rev() {
                let position = if level == 0 {
                    rest
                } else {
                    let extent = emitter.extent(axis)?;
                    let position = emitter.assembly.binary(Class::Long, "rem.u64", rest, extent);
                    rest = emitter.assembly.binary(Class::Long, "div.u64", rest, extent);
                    position
                };
                emitter.positions[axis.0 as usize] = Some(position);
            }
            body(emitter)
        })
    }

    /// Runs `body` at the points of inner axes that this thread has to do.
    pub fn over_inner(
        &mut self,
        axes: &[AxisId],
        body: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.mapping == Mapping::Blocks {
            let thread = self.thread;
            self.over_strided(axes, thread, BLOCK_THREADS, body)
        } else {
            self.over(axes, body)
        }
    }

    /// A special register in 64 bits.
    fn special(&mut self, name: &str) -> Register {
        let narrow = self.assembly.fresh(Class::Word);
        self.assembly.line(format_args!("mov.u32 {narrow}, {name}"));
        self.assembly.unary(Class::Long, "cvt.u64.u32", narrow)
    }

    fn points(&mut self) -> Result<(), String> {
        let kernel = self.kernel;
        match self.mapping {
            Mapping::Single => self.over(&kernel.outer, &mut |emitter| emitter.point()),
            Mapping::Threads => {
                let (block, blocks) = (self.special("%ctaid.x"), self.special("%nctaid.x"));
                let start = self.assembly.fresh(Class::Long);
                let thread = self.thread;
                self.assembly.emit_to(start, "mad.lo.s64", &[block.into(), BLOCK_THREADS.into(), thread.into()]);
                let step = self.assembly.binary(Class::Long, "mul.lo.s64", blocks, BLOCK_THREADS);
                self.over_strided(&kernel.outer, start, step, &mut |emitter| emitter.point())
            }
            Mapping::Blocks => {
                let (block, blocks) = (self.special("%ctaid.x"), self.special("%nctaid.x"));
                self.over_strided(&kernel.outer, block, blocks, &mut |emitter| emitter.point())
            }
        }
    }

    /// One point of the outer axes.
    fn point(&mut self) -> Result<(), String> {
        let kernel = self.kernel;
        for (index, reduction) in kernel.reductions.iter().enumerate() {
            self.reduced[index] = Some(self.reduce(reduction)?);
        }
        for store in &kernel.stores {
            self.scopes.push(HashMap::new());
            if store.axes.is_empty() && self.mapping == Mapping::Blocks {
                self.store_once(store)?;
            } else {
                self.over_inner(&store.axes, &mut |emitter| emitter.store(store))?;
            }
            self.scopes.pop();
        }
        Ok(())
    }

    /// A store without inner axes: one thread of the block does it.
    fn store_once(&mut self, store: &Store) -> Result<(), String> {
        let thread = self.thread;
        let skip = self.assembly.label();
        let other = self.assembly.binary(Class::Predicate, "setp.ne.s64", thread, 0);
        self.assembly.line(format_args!("@{other} bra {skip}"));
        self.store(store)?;
        self.assembly.place(&skip);
        Ok(())
    }
}
