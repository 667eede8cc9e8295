//! Decodes loads, stores, and atomics.

use super::Decoder;
use super::modifiers::Modifiers;
use crate::error::Error;
use crate::operation::{AtomicFunction, Operation};
use crate::statement::{Operand, Space};
use crate::types::Type;

fn space(modifiers: &mut Modifiers<'_>) -> Space {
    match modifiers.take(&["global", "shared", "shared::cta", "local", "const", "param"]) {
        Some("global") => Space::Global,
        Some("shared" | "shared::cta") => Space::Shared,
        Some("local") => Space::Local,
        Some("const") => Space::Constant,
        Some(_) => Space::Parameter,
        None => Space::Generic,
    }
}

/// Order, scope, and cache modifiers change nothing where one warp runs at a time.
fn ignore_order(modifiers: &mut Modifiers<'_>) {
    modifiers.ignore(&[
        "volatile", "relaxed", "acquire", "release", "acq_rel", "weak", "cta", "cluster", "gpu", "sys", "nc", "ca",
        "cg", "cs", "cv", "lu", "wb", "wt", "noftz",
    ]);
    modifiers.ignore_prefixed(&["L1::", "L2::"]);
}

/// The read-modify-write function a modifier names.
pub fn atomic_function(modifiers: &mut Modifiers<'_>) -> Result<AtomicFunction, Error> {
    let names = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];
    Ok(match modifiers.take(&names) {
        Some("add") => AtomicFunction::Add,
        Some("min") => AtomicFunction::Min,
        Some("max") => AtomicFunction::Max,
        Some("and") => AtomicFunction::And,
        Some("or") => AtomicFunction::Or,
        Some("xor") => AtomicFunction::Xor,
        Some("exch") => AtomicFunction::Exchange,
        Some("cas") => AtomicFunction::CompareAndSwap,
        Some("inc") => AtomicFunction::Increment,
        Some("dec") => AtomicFunction::Decrement,
        _ => return Err(modifiers.error("needs a function such as .add")),
    })
}

/// Whether a function exists for a type.
fn applies(function: AtomicFunction, kind: Type) -> bool {
    use AtomicFunction as F;
    match function {
        F::Add => matches!(kind, Type::U32 | Type::S32 | Type::U64 | Type::F32 | Type::F64),
        F::Min | F::Max => matches!(kind, Type::U32 | Type::S32 | Type::U64 | Type::S64),
        F::And | F::Or | F::Xor => matches!(kind, Type::B32 | Type::B64),
        F::Exchange | F::CompareAndSwap => matches!(kind, Type::B32 | Type::B64 | Type::U32 | Type::S32 | Type::U64),
        F::Increment | F::Decrement => kind == Type::U32,
    }
}

impl Decoder<'_> {
    pub(super) fn load_store(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let load = modifiers.name != "st";
        ignore_order(modifiers);
        let space = space(modifiers);
        let count = match modifiers.take(&["v2", "v4"]) {
            Some("v2") => 2,
            Some(_) => 4,
            None => 1,
        };
        let kind = modifiers.kind()?;
        if kind.bytes() == 0 || kind.bytes() * count > 16 {
            return Err(modifiers.error("an access has 1 to 16 bytes"));
        }
        let [first, second] = self.exactly(operands)?;
        let (address, values) = if load { (second, first) } else { (first, second) };
        let access = self.access(address, space, kind.bytes(), count)?;
        if !load && matches!(access.space, Space::Constant | Space::Parameter) {
            return Err(modifiers.error("constants and the parameters of a kernel cannot be written"));
        }
        // A load tells floats from integers only for its assembler; registers are checked by size here, since
        // `ld.f16` and narrow integers go to registers of other types.
        let registers = self.registers(values, if kind.bytes() < 4 { Type::B8 } else { kind }, count, load)?;
        self.check_narrow(values, kind)?;
        let operation = if load {
            let sign = if kind.is_signed() && kind.bytes() < 8 { self.register_bits(values)? } else { None };
            Operation::Load { access, d: registers, sign }
        } else {
            Operation::Store { access, sources: registers }
        };
        self.step(operation);
        Ok(())
    }

    fn named(values: &Operand) -> impl Iterator<Item = &Operand> {
        let list = match values {
            Operand::Vector(list) => list.as_slice(),
            other => std::slice::from_ref(other),
        };
        list.iter().filter(|operand| matches!(operand, Operand::Name(name) if name != "_"))
    }

    fn check_narrow(&self, values: &Operand, kind: Type) -> Result<(), Error> {
        for operand in Self::named(values) {
            self.wide_register(operand, if kind.is_float() && kind.bytes() == 2 { Type::B16 } else { kind })?;
        }
        Ok(())
    }

    /// Bits of the registers of a load, to which its values are extended.
    fn register_bits(&self, values: &Operand) -> Result<Option<u32>, Error> {
        let mut bits = None;
        for operand in Self::named(values) {
            let found = self.wide_register(operand, Type::B8)?.1.bits();
            if bits.is_some_and(|bits| bits != found) {
                return self.error("the registers of one load have different sizes");
            }
            bits = Some(found);
        }
        Ok(bits)
    }

    pub(super) fn atomic(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let returns = modifiers.name == "atom";
        ignore_order(modifiers);
        let space = space(modifiers);
        let function = atomic_function(modifiers)?;
        let kind = modifiers.kind()?;
        if !applies(function, kind) || !matches!(space, Space::Global | Space::Shared | Space::Generic) {
            return Err(modifiers.error(&format!("there is no {function:?} of {kind:?} in this space")));
        }
        let (d, operands) = match operands {
            [d, rest @ ..] if returns => {
                (if *d == Operand::Name("_".into()) { None } else { Some(self.destination(d, kind)?) }, rest)
            }
            _ => (None, operands),
        };
        let compares = function == AtomicFunction::CompareAndSwap;
        let (address, b, c) = match operands {
            [address, b, c] if compares => (address, b, c),
            [address, b] if !compares => (address, b, b),
            _ => return self.error("the operands do not fit this atomic"),
        };
        let access = self.access(address, space, kind.bytes(), 1)?;
        let (b, c) = (self.source(b, kind)?, self.source(c, kind)?);
        self.step(Operation::Atomic { access, function, kind, d, b, c });
        Ok(())
    }
}
