//! Reading of programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::cursor::{Cursor, ParseError, Result};
use super::parse_kernel::{in_order, kernel};
use crate::graph::{ElementType, SymbolId, Symbols, Tensor, TensorData};
use crate::loops::{Action, Buffer, BufferId, BufferKind, Kernel, Port, Program, RoutineCall, Step};

/// Deeper nesting of steps is refused.
const MAX_NESTING: usize = 100;

/// Reads a program. Symbols that are not declared have bounds `0..`. The result is not
/// [verified](crate::loops::verify).
///
/// # Errors
/// Where the text is no program.
pub fn parse_program(text: &str) -> std::result::Result<Program, ParseError> {
    let mut cursor = Cursor::new(text);
    let mut parser = Parser { cursor: &mut cursor, program: Program::default(), kernels: Vec::new() };
    parser.program()?;
    Ok(parser.program)
}

/// The one copy of a routine's name that lives as long as the process.
fn lasting_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(lasting);
    lasting
}

struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    program: Program,
    kernels: Vec<Arc<Kernel>>,
}

impl Parser<'_, '_> {
    fn program(&mut self) -> Result<()> {
        while !self.cursor.eat("steps") {
            if self.cursor.eat("symbol") {
                self.symbol_declaration()?;
            } else if self.cursor.eat("input") {
                let port = self.port()?;
                self.program.inputs.push(port);
            } else if self.cursor.eat("output") {
                let port = self.port()?;
                self.program.outputs.push(port);
            } else if self.cursor.eat("buffer") {
                let buffer = self.buffer()?;
                self.program.buffers.push(buffer);
            } else if self.cursor.eat("label") {
                self.cursor.expect("@")?;
                if self.cursor.number::<usize>()? != self.program.labels.len() {
                    return self.cursor.fail(format!("label @{} is expected", self.program.labels.len()));
                }
                let label = self.cursor.name()?;
                self.program.labels.push(label);
            } else {
                let kernel = kernel(self.cursor, &mut self.program.symbols)?;
                self.kernels.push(Arc::new(kernel));
            }
        }
        self.program.steps = self.block(0)?;
        if self.cursor.at_end() { Ok(()) } else { self.cursor.fail("the steps have ended, but the text has not") }
    }

    fn symbol_declaration(&mut self) -> Result<()> {
        let name = self.cursor.name()?;
        if name.is_empty() || self.program.symbols.find(&name).is_some() {
            return self.cursor.fail(format!("the symbol `{name}` has no name, or is there already"));
        }
        let class = self.cursor.parsed("`natural`, `positive` or `integer`", |word| match word {
            "natural" => Some(0),
            "positive" => Some(1),
            "integer" => Some(i64::MIN),
            _ => None,
        })?;
        let (least, greatest) = self.cursor.parsed("bounds such as `0..9`", |word| {
            let (least, greatest) = word.split_once("..")?;
            let least = if least.is_empty() { i64::MIN } else { least.parse().ok()? };
            Some((least, if greatest.is_empty() { None } else { Some(greatest.parse::<i64>().ok()?) }))
        })?;
        let id = self.program.symbols.fresh_within(&name, class, None);
        self.program.symbols.restrict(id, least, greatest);
        Ok(())
    }

    fn port(&mut self) -> Result<Port> {
        let name = self.cursor.name()?;
        self.cursor.expect(":")?;
        Ok(Port { name, element: self.cursor.element()?, shape: self.cursor.shape(&mut self.program.symbols)? })
    }

    fn buffer(&mut self) -> Result<Buffer> {
        in_order(self.cursor, 'b', self.program.buffers.len())?;
        self.cursor.expect(":")?;
        let (element, shape) = (self.cursor.element()?, self.cursor.shape(&mut self.program.symbols)?);
        let kind = match self.cursor.word()? {
            "input" => BufferKind::Input(self.cursor.number()?),
            "output" => BufferKind::Output(self.cursor.number()?),
            "temporary" => BufferKind::Temporary,
            "constant" => BufferKind::Constant(self.tensor(element)?),
            word => return self.cursor.fail(format!("there is no kind of buffer `{word}`")),
        };
        Ok(Buffer { element, shape, kind })
    }

    fn tensor(&mut self, element: ElementType) -> Result<Tensor> {
        let dims: Vec<i64> = self.cursor.list("[", "]", |cursor| cursor.number())?;
        let count = dims.iter().try_fold(1u64, |count, &dim| count.checked_mul(u64::try_from(dim).ok()?));
        let (data, fits) = match self.cursor.word()? {
            "bytes" => {
                let bytes = hex(self.cursor)?;
                let fits = count.and_then(|count| element.bytes_of(count)) == Some(bytes.len() as u64);
                (TensorData::Bytes(bytes.into()), fits)
            }
            "splat" => {
                let bytes = hex(self.cursor)?;
                let fits = bytes.len() == element.bits().div_ceil(8);
                (TensorData::Splat(bytes.into()), fits && count.is_some())
            }
            "strings" => {
                let strings = self.cursor.list("(", ")", hex)?;
                let fits = count == Some(strings.len() as u64);
                (TensorData::Strings(strings.into()), fits)
            }
            word => return self.cursor.fail(format!("there is no form of constant `{word}`")),
        };
        if fits { Ok(Tensor { element, dims, data }) } else { self.cursor.fail("the constant does not fill its shape") }
    }

    fn symbol(&mut self) -> Result<SymbolId> {
        let symbols: &mut Symbols = &mut self.program.symbols;
        match self.cursor.dim(symbols)?.as_symbol() {
            Some(symbol) => Ok(symbol),
            None => self.cursor.fail("a symbol is expected"),
        }
    }

    fn ids(&mut self) -> Result<Vec<BufferId>> {
        self.cursor.list("(", ")", |cursor| Ok(BufferId(cursor.id('b')?)))
    }

    fn block(&mut self, nesting: usize) -> Result<Vec<Step>> {
        if nesting > MAX_NESTING {
            return self.cursor.fail("steps are nested too deeply");
        }
        self.cursor.expect("{")?;
        let mut steps = Vec::new();
        while !self.cursor.eat("}") {
            self.cursor.expect("@")?;
            let label = self.cursor.number()?;
            steps.push(Step { label, action: self.action(nesting)? });
        }
        Ok(steps)
    }

    fn action(&mut self, nesting: usize) -> Result<Action> {
        Ok(match self.cursor.word()? {
            "launch" => {
                let place = self.cursor.id('k')? as usize;
                let Some(kernel) = self.kernels.get(place).cloned() else {
                    return self.cursor.fail(format!("there is no kernel k{place}"));
                };
                self.cursor.name()?;
                Action::Launch { kernel, buffers: self.ids()? }
            }
            "routine" => {
                let routine = lasting_name(self.cursor.word()?);
                let inputs = self.ids()?;
                self.cursor.expect("->")?;
                let outputs = self.ids()?;
                self.cursor.expect("with")?;
                let symbols = &mut self.program.symbols;
                let parameters = self.cursor.list("(", ")", |cursor| cursor.dim(symbols))?;
                self.cursor.expect("binds")?;
                let names = self.cursor.list("(", ")", |cursor| cursor.dim(symbols))?;
                let Some(binds) = names.iter().map(crate::graph::Dim::as_symbol).collect() else {
                    return self.cursor.fail("a routine binds symbols");
                };
                Action::Routine(RoutineCall { routine, inputs, outputs, parameters, binds })
            }
            "bind" => {
                let symbol = self.symbol()?;
                self.cursor.expect(",")?;
                let buffer = BufferId(self.cursor.id('b')?);
                self.cursor.expect("[")?;
                let element = self.cursor.number()?;
                self.cursor.expect("]")?;
                Action::Bind { symbol, buffer, element }
            }
            "set" => {
                let symbol = self.symbol()?;
                self.cursor.expect(",")?;
                Action::Set { symbol, value: self.cursor.dim(&mut self.program.symbols)? }
            }
            "check" => {
                let condition = self.cursor.dim(&mut self.program.symbols)?;
                self.cursor.expect(",")?;
                Action::Check { condition, message: self.cursor.name()? }
            }
            "move" => {
                let from = BufferId(self.cursor.id('b')?);
                self.cursor.expect("->")?;
                Action::Move { from, to: BufferId(self.cursor.id('b')?) }
            }
            "if" => {
                let condition = self.cursor.dim(&mut self.program.symbols)?;
                let then = self.block(nesting + 1)?;
                self.cursor.expect("else")?;
                Action::If { condition, then, otherwise: self.block(nesting + 1)? }
            }
            "loop" => {
                let counter = self.symbol()?;
                self.cursor.expect(",")?;
                let count = self.cursor.dim(&mut self.program.symbols)?;
                self.cursor.expect(",")?;
                let condition = self.cursor.dim(&mut self.program.symbols)?;
                Action::Loop { counter, count, condition, body: self.block(nesting + 1)? }
            }
            word => return self.cursor.fail(format!("there is no step `{word}`")),
        })
    }
}

/// `x` and two digits a byte.
fn hex(cursor: &mut Cursor<'_>) -> Result<Vec<u8>> {
    cursor.parsed("bytes such as `x00ff`", |word| {
        let digits = word.strip_prefix('x').filter(|digits| digits.len() % 2 == 0)?;
        (0..digits.len() / 2).map(|place| u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()).collect()
    })
}
