//! Programs: buffers, and the steps that fill them.

use std::sync::Arc;

use super::Kernel;
use crate::graph::{Dim, ElementType, SymbolId, Symbols, Tensor};

/// Names a buffer of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufferId(pub u32);

/// Where a buffer's memory comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum BufferKind {
    /// The caller's input of that position; never written.
    Input(usize),
    /// The caller's output of that position.
    Output(usize),
    /// Contents known at compile time; never written.
    Constant(Tensor),
    /// Memory of the run.
    Temporary,
}

/// A piece of memory holding a row-major tensor. Kernels may see it under another shape of as many elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    /// Element type.
    pub element: ElementType,
    /// Shape as first defined; the product decides the size.
    pub shape: Vec<Dim>,
    /// Origin.
    pub kind: BufferKind,
}

/// A buffer seen under a shape: what operators read and write.
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    /// The memory.
    pub buffer: BufferId,
    /// Element type.
    pub element: ElementType,
    /// Shape.
    pub shape: Vec<Dim>,
}

/// A stub function that does what no kernel can.
///
/// It is called with the context, an array of buffer addresses (inputs, then outputs), and an array of 64-bit parameters
/// (the evaluated `parameters`, then one place for each of `binds`, which the routine fills). It gives 0 or an error code.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutineCall {
    /// Symbol of the stub function.
    pub routine: &'static str,
    /// Buffers read.
    pub inputs: Vec<BufferId>,
    /// Buffers written.
    pub outputs: Vec<BufferId>,
    /// Numbers passed.
    pub parameters: Vec<Dim>,
    /// Symbols that the routine determines.
    pub binds: Vec<SymbolId>,
}

/// A step of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Index into [`Program::labels`]: the node this belongs to, for messages and profiles.
    pub label: u32,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Runs a kernel; one buffer a parameter.
    Launch {
        /// The kernel.
        kernel: Arc<Kernel>,
        /// Its arguments.
        buffers: Vec<BufferId>,
    },
    /// Calls a stub routine.
    Routine(RoutineCall),
    /// Gives a symbol the value of an element (an integer or bool of any width) of a buffer.
    Bind {
        /// The symbol.
        symbol: SymbolId,
        /// The buffer read.
        buffer: BufferId,
        /// Position of the element.
        element: i64,
    },
    /// Gives a symbol a computed value.
    Set {
        /// The symbol.
        symbol: SymbolId,
        /// The value.
        value: Dim,
    },
    /// Fails the run unless the value is not zero.
    Check {
        /// 0 when the check fails.
        condition: Dim,
        /// What is wrong then, and what to do.
        message: String,
    },
    /// Runs one of two blocks.
    If {
        /// A symbol or expression: not zero for the first block.
        condition: Dim,
        /// Block for a true condition.
        then: Vec<Step>,
        /// Block for a false condition.
        otherwise: Vec<Step>,
    },
    /// Runs a block again and again while `counter < count` and `condition` holds.
    Loop {
        /// Counts the rounds from 0; has the number of finished rounds after the loop.
        counter: SymbolId,
        /// Most rounds.
        count: Dim,
        /// Evaluated before each round: not zero to go on.
        condition: Dim,
        /// The block.
        body: Vec<Step>,
    },
    /// Makes `to` hold what `from` held, which has no contents afterwards. Both must be of a size not known at the start
    /// of the run.
    Move {
        /// Source.
        from: BufferId,
        /// Target.
        to: BufferId,
    },
}

/// A named input or output of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Port {
    /// The name in the model.
    pub name: String,
    /// Element type.
    pub element: ElementType,
    /// Shape.
    pub shape: Vec<Dim>,
}

/// A lowered model.
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// Symbols: those bound by input shapes, and those that steps bind.
    pub symbols: Symbols,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
    /// All buffers, indexed by [`BufferId`].
    pub buffers: Vec<Buffer>,
    /// Descriptions of the nodes that steps belong to, as `name (Operator)`.
    pub labels: Vec<String>,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Program {
    /// The buffer named by `id`.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    /// Adds a buffer.
    pub fn add_buffer(&mut self, element: ElementType, shape: Vec<Dim>, kind: BufferKind) -> BufferId {
        self.buffers.push(Buffer { element, shape, kind });
        BufferId(self.buffers.len() as u32 - 1)
    }

    /// The whole of a buffer under its own shape.
    pub fn view(&self, id: BufferId) -> View {
        let buffer = self.buffer(id);
        View { buffer: id, element: buffer.element, shape: buffer.shape.clone() }
    }
}

impl Buffer {
    /// How many elements there are.
    pub fn len(&self) -> Dim {
        Dim::product(self.shape.iter().cloned())
    }

    /// Size in bytes, packed types rounded up.
    pub fn bytes(&self) -> Dim {
        let bits = self.element.bits() as i64;
        if bits >= 8 { self.len() * (bits / 8) } else { (self.len() * bits).ceil_div(&Dim::constant(8)) }
    }

    /// Whether the buffer holds no element whatever the symbols are.
    pub fn is_empty(&self) -> bool {
        self.len().as_const() == Some(0)
    }
}
