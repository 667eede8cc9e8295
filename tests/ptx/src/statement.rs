//! The parsed form of a PTX text.

use crate::types::Type;

/// A state space in which a variable or an access lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Space {
    Generic,
    Global,
    Constant,
    Shared,
    Local,
    Parameter,
}

/// A variable: at module scope, in a body, or a parameter.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes; 0 for an array of open length.
    pub bytes: u32,
    /// Bytes of the initializer, shorter than the variable where the rest is zero; empty without one.
    pub initializer: Vec<u8>,
    /// Alignment promised for the address in a pointer parameter (`.ptr .align`), 0 without a promise.
    pub pointer_align: u32,
    /// The parameter is a register (only in device functions).
    pub register: Option<Type>,
    /// Declared `.extern`: of open length.
    pub external: bool,
    /// Line of the declaration.
    pub line: u32,
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, variable, label, or function.
    Name(String),
    /// `!p`.
    Not(String),
    /// An integer literal; negative ones as two's complement.
    Integer(u64),
    /// A floating-point literal, exact in a double.
    Float(f64),
    /// `[base + offset]`; an address without a base is absolute.
    Address(Option<String>, i64),
    /// `{a, b, c, d}`.
    Vector(Vec<Self>),
    /// `p|q`.
    Pair(String, String),
    /// `(a, b)` of a call.
    List(Vec<Self>),
}

/// An instruction as written.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Guard predicate and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// Opcode with its modifiers, separated by dots.
    pub opcode: String,
    /// Operands in order.
    pub operands: Vec<Operand>,
}

/// A statement of a body.
#[derive(Clone, Debug)]
pub enum Statement {
    /// `name:`.
    Label(String),
    /// An instruction.
    Instruction(Instruction),
    /// `.reg .f32 %f<10>, %x;`: names, with a count where one is given.
    Registers(Type, Vec<(String, Option<u32>)>),
    /// A variable of the body.
    Variable(Variable),
    /// `{`.
    Open,
    /// `}`.
    Close,
}

/// A kernel or a device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether it is an `.entry`.
    pub entry: bool,
    /// Parameters in order.
    pub parameters: Vec<Variable>,
    /// Return values (device functions).
    pub returns: Vec<Variable>,
    /// Statements and their lines; none for a forward declaration.
    pub body: Vec<(Statement, u32)>,
    /// `.maxntid`, or `.reqntid` with the flag set.
    pub block_limit: Option<([u32; 3], bool)>,
}

/// A whole PTX text.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// Kernels and device functions.
    pub functions: Vec<Function>,
}
