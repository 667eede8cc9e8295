//! The decoded form of a kernel.

use crate::lanes::{Binary, Conversion, Quaternary, Ternary, Test, Unary};
use crate::statement::{Space, Variable};
use crate::types::Type;

/// Index of a register in a warp's register file.
pub type Register = u32;
/// Index of a predicate in a warp's predicate file.
pub type Predicate = u32;

/// The destination `_` of a vector load.
pub const SINK: Register = u32::MAX;

/// How `setp` and `set` join a comparison with another predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    /// Applies the function to the lanes of two predicates.
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// A predicate operand, negated when the flag is set.
pub type PredicateSource = (Predicate, bool);

/// The read-modify-write functions, of `atom`, `red`, and `redux`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicFunction {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

/// How `shfl` picks its source lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `vote` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// An access to memory: `count` values of `bytes` at a register's address plus an offset.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// State space.
    pub space: Space,
    /// Register with the address.
    pub base: Register,
    /// Bytes added to it.
    pub offset: i64,
    /// Bytes of one value.
    pub bytes: u32,
    /// Values a lane.
    pub count: u32,
}

/// What an instruction does.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Operation {
    Unary {
        function: Unary,
        d: Register,
        a: Register,
    },
    Binary {
        function: Binary,
        d: Register,
        a: Register,
        b: Register,
    },
    /// Like `Binary`; the lanes where `b` is zero are left unspecified.
    Divide {
        function: Binary,
        d: Register,
        a: Register,
        b: Register,
    },
    Ternary {
        function: Ternary,
        d: Register,
        a: Register,
        b: Register,
        c: Register,
    },
    Quaternary {
        function: Quaternary,
        d: Register,
        sources: [Register; 4],
    },
    /// `lop3` with its truth table.
    LogicTable {
        table: u8,
        d: Register,
        a: Register,
        b: Register,
        c: Register,
    },
    Convert {
        conversion: Conversion,
        d: Register,
        a: Register,
    },
    /// `mov` from a vector: parts of `bits` each, the first lowest.
    Pack {
        d: Register,
        parts: [Register; 4],
        count: u32,
        bits: u32,
    },
    /// `mov` to a vector.
    Unpack {
        parts: [Register; 4],
        a: Register,
        count: u32,
        bits: u32,
    },
    Compare {
        test: Test,
        p: Option<Predicate>,
        q: Option<Predicate>,
        a: Register,
        b: Register,
        join: Option<(Logic, PredicateSource)>,
    },
    /// `set`: `one` where the comparison holds, else zero.
    Set {
        test: Test,
        one: u64,
        d: Register,
        a: Register,
        b: Register,
        join: Option<(Logic, PredicateSource)>,
    },
    Select {
        d: Register,
        a: Register,
        b: Register,
        p: Predicate,
    },
    /// Logic on predicates; `mov.pred` and `not.pred` join a predicate with itself.
    PredicateLogic {
        logic: Logic,
        d: Predicate,
        a: PredicateSource,
        b: PredicateSource,
    },
    /// Load; where `sign` is given, values are sign-extended from their size to this many bits.
    Load {
        access: Access,
        d: [Register; 4],
        sign: Option<u32>,
    },
    Store {
        access: Access,
        sources: [Register; 4],
    },
    Atomic {
        access: Access,
        function: AtomicFunction,
        kind: Type,
        d: Option<Register>,
        b: Register,
        c: Register,
    },
    Branch {
        target: u32,
    },
    Exit,
    Trap,
    /// An instruction without an effect on this memory model.
    Nothing,
    Barrier {
        id: Register,
        threads: Option<Register>,
        arrive: bool,
    },
    WarpBarrier {
        members: Register,
    },
    Shuffle {
        mode: ShuffleMode,
        d: Register,
        p: Option<Predicate>,
        a: Register,
        b: Register,
        c: Register,
        members: Register,
    },
    Vote {
        mode: VoteMode,
        d: u32,
        a: PredicateSource,
        members: Register,
    },
    ActiveMask {
        d: Register,
    },
    Reduce {
        function: AtomicFunction,
        kind: Type,
        d: Register,
        a: Register,
        members: Register,
    },
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub operation: Operation,
    /// Only the lanes where this predicate holds execute it.
    pub guard: Option<PredicateSource>,
    /// Line of the text.
    pub line: u32,
}

/// The registers that hardware fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Special {
    ThreadIndex(usize),
    BlockSize(usize),
    BlockIndex(usize),
    GridSize(usize),
    Lane,
    Warp,
    WarpCount,
    LanesEqual,
    LanesBelow,
    LanesUpTo,
    LanesAbove,
    LanesFrom,
}

/// A register that is filled before a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// The same bits in every lane.
    Bits(u64),
    /// A special register.
    Special(Special),
    /// Address of a variable of the module.
    Global(usize),
    /// Address in dynamic shared memory; placed, and thereby turned into bits, once the other variables are known.
    DynamicShared {
        /// Alignment of the variable.
        align: u32,
        /// Bytes from its start.
        offset: i64,
    },
}

/// A decoded kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Instructions; the last one is always an exit.
    pub steps: Vec<Step>,
    /// Registers filled before a warp starts, with their indices.
    pub constants: Vec<(Register, Constant)>,
    /// Names of the registers, for reports.
    pub register_names: Vec<String>,
    /// Names of the predicates, for reports.
    pub predicate_names: Vec<String>,
    /// Parameters and their offsets.
    pub parameters: Vec<(u32, Variable)>,
    /// Bytes of all parameters.
    pub parameter_bytes: u32,
    /// Bytes of shared memory known from the text.
    pub shared_bytes: u32,
    /// Bytes of local memory a lane.
    pub local_bytes: u32,
    /// `.maxntid`, or `.reqntid` with the flag set.
    pub block_limit: Option<([u32; 3], bool)>,
    /// Bytes of the smallest access to shared memory: what one entry of the race shadow stands for.
    pub shared_grain: u32,
}
