//! PTX text while it is written: registers, labels and instructions of one function.

use std::fmt::{self, Display, Write};

/// The sorts of register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// A truth value.
    Predicate,
    /// 16 bits.
    Half,
    /// 32 bits of an integer.
    Word,
    /// 64 bits of an integer or an address.
    Long,
    /// An `f32`.
    Single,
    /// An `f64`.
    Double,
}

impl Class {
    const ALL: [Self; 6] = [Self::Predicate, Self::Half, Self::Word, Self::Long, Self::Single, Self::Double];

    fn prefix(self) -> &'static str {
        match self {
            Self::Predicate => "p",
            Self::Half => "h",
            Self::Word => "r",
            Self::Long => "rd",
            Self::Single => "f",
            Self::Double => "fd",
        }
    }

    /// The type of moves, selections, and declarations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Predicate => "pred",
            Self::Half => "b16",
            Self::Word => "b32",
            Self::Long => "b64",
            Self::Single => "f32",
            Self::Double => "f64",
        }
    }
}

/// A virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register {
    /// Its sort.
    pub class: Class,
    number: u32,
}

impl Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}", self.class.prefix(), self.number)
    }
}

/// An operand of an instruction: a register or a literal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// An integer.
    Integer(i64),
    /// An `f32`.
    Single(f32),
    /// An `f64`.
    Double(f64),
}

impl Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(register) => register.fmt(f),
            Self::Integer(value) if value.unsigned_abs() < 1 << 32 => value.fmt(f),
            Self::Integer(value) => write!(f, "{value:#x}"),
            Self::Single(value) => write!(f, "0f{:08X}", value.to_bits()),
            Self::Double(value) => write!(f, "0d{:016X}", value.to_bits()),
        }
    }
}

macro_rules! operands {
    ($($type:ty = $variant:ident;)*) => {$(
        impl From<$type> for Operand {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

operands! { Register = Register; i32 = Integer; i64 = Integer; u32 = Integer; f32 = Single; f64 = Double; }

/// The body of a kernel or function.
#[derive(Debug, Default)]
pub struct Assembly {
    /// Instructions that come before all others.
    prologue: String,
    text: String,
    counts: [u32; 6],
    labels: u32,
}

impl Assembly {
    /// A register that nothing uses yet.
    pub fn fresh(&mut self, class: Class) -> Register {
        let count = &mut self.counts[class as usize];
        *count += 1;
        Register { class, number: *count - 1 }
    }

    /// A label that stands nowhere yet.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    /// Sets a label here.
    pub fn place(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// Writes an instruction as it is given, without its semicolon.
    pub fn line(&mut self, instruction: impl Display) {
        let _ = writeln!(self.text, "    {instruction};");
    }

    /// Writes `opcode result, operands...`, where the result is a new register.
    pub fn emit(&mut self, class: Class, opcode: &str, operands: &[Operand]) -> Register {
        let result = self.fresh(class);
        self.emit_to(result, opcode, operands);
        result
    }

    /// Writes `opcode result, operands...`.
    pub fn emit_to(&mut self, result: Register, opcode: &str, operands: &[Operand]) {
        let _ = write!(self.text, "    {opcode} {result}");
        for operand in operands {
            let _ = write!(self.text, ", {operand}");
        }
        self.text.push_str(";\n");
    }

    /// An instruction with one operand.
    pub fn unary(&mut self, class: Class, opcode: &str, a: impl Into<Operand>) -> Register {
        self.emit(class, opcode, &[a.into()])
    }

    /// An instruction with two operands.
    pub fn binary(&mut self, class: Class, opcode: &str, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.emit(class, opcode, &[a.into(), b.into()])
    }

    /// A new register that holds `value`.
    pub fn constant(&mut self, class: Class, value: impl Into<Operand>) -> Register {
        let opcode = format!("mov.{}", class.name());
        self.unary(class, &opcode, value)
    }

    /// Copies `value` to `target`.
    pub fn assign(&mut self, target: Register, value: impl Into<Operand>) {
        let opcode = format!("mov.{}", target.class.name());
        self.emit_to(target, &opcode, &[value.into()]);
    }

    /// `a` where the predicate holds, else `b`.
    pub fn select(
        &mut self,
        class: Class,
        predicate: Register,
        a: impl Into<Operand>,
        b: impl Into<Operand>,
    ) -> Register {
        let opcode = format!("selp.{}", class.name());
        self.emit(class, &opcode, &[a.into(), b.into(), predicate.into()])
    }

    /// The bits of a register in another class of the same width.
    pub fn bits(&mut self, class: Class, value: Register) -> Register {
        let opcode = if matches!(class, Class::Word | Class::Single) { "mov.b32" } else { "mov.b64" };
        self.unary(class, opcode, value)
    }

    /// Writes the call of a device function.
    pub fn call(&mut self, class: Class, name: &str, arguments: &[Register]) -> Register {
        let result = self.fresh(class);
        let arguments: Vec<String> = arguments.iter().map(Register::to_string).collect();
        self.line(format_args!("call ({result}), {name}, ({})", arguments.join(", ")));
        result
    }

    /// Writes what `body` writes before everything else; it may use nothing but what was written so before.
    pub fn before<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(&mut self.prologue, &mut self.text);
        let result = body(self);
        std::mem::swap(&mut self.prologue, &mut self.text);
        result
    }

    /// The declarations of registers, and the instructions.
    pub fn finish(self) -> String {
        let mut text = String::new();
        for class in Class::ALL {
            let count = self.counts[class as usize];
            if count > 0 {
                let _ = writeln!(text, "    .reg .{} %{}<{count}>;", class.name(), class.prefix());
            }
        }
        text + &self.prologue + &self.text
    }
}
