//! Kernels: one iteration space with reductions and stores.
//!
//! For every point of the outer axes, which are independent of each other, a kernel evaluates its reductions in order,
//! each over its own axes, then its stores in order, each over its own inner axes:
//!
//! ```text
//! for outer axes (parallel) {
//!     r0 = reduce over its axes { expression }          may use nothing but the outer axes
//!     r1 = reduce over its axes { expression }          may use r0
//!     for inner axes of store 0 { buffer[index] = expression }
//!     for inner axes of store 1 { buffer[index] = expression }
//! }
//! ```
//!
//! Elementwise operators have neither reductions nor inner axes; a contraction has one reduction and its epilogue is the
//! store; softmax and normalizations have reductions over a row and a store over the row.

use std::collections::BTreeSet;

use super::{AxisId, Expr, ExprId, ParameterId, ReductionId, Scalar};
use crate::graph::{Dim, ElementType, SymbolId};

/// How a kernel uses a buffer parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only read.
    Read,
    /// Only written.
    Write,
    /// Read and written: the kernel runs in order on one thread, and reads see earlier writes.
    ReadWrite,
}

/// A buffer parameter: a row-major tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Parameter {
    /// Storage type.
    pub element: ElementType,
    /// Dimensions.
    pub shape: Vec<Dim>,
    /// Use.
    pub access: Access,
}

/// How a reduction combines values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReduceOp {
    /// Sum from 0.
    Sum,
    /// Product from 1.
    Product,
    /// Least value from the type's highest; NaN if any is.
    Min,
    /// Greatest value from the type's lowest; NaN if any is.
    Max,
    /// Conjunction from true (all bits set).
    And,
    /// Disjunction from false.
    Or,
    /// Exclusive or from false.
    Xor,
    /// Position (`i64`, on the single axis) of the least value; of equal ones the first, or the last. NaN counts as least.
    ArgMin {
        /// Take the last of equal values.
        last: bool,
    },
    /// Position (`i64`, on the single axis) of the greatest value; of equal ones the first, or the last. NaN counts as greatest.
    ArgMax {
        /// Take the last of equal values.
        last: bool,
    },
}

impl ReduceOp {
    /// The name in text forms.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::ArgMin { last: false } => "argmin",
            Self::ArgMin { last: true } => "argmin_last",
            Self::ArgMax { last: false } => "argmax",
            Self::ArgMax { last: true } => "argmax_last",
        }
    }

    /// The operation of that name.
    pub fn from_name(text: &str) -> Option<Self> {
        let all = [Self::Sum, Self::Product, Self::Min, Self::Max, Self::And, Self::Or, Self::Xor];
        let positions = [false, true].into_iter().flat_map(|last| [Self::ArgMin { last }, Self::ArgMax { last }]);
        all.into_iter().chain(positions).find(|op| op.name() == text)
    }

    /// Whether the result is a position rather than a value.
    pub fn is_position(self) -> bool {
        matches!(self, Self::ArgMin { .. } | Self::ArgMax { .. })
    }

    /// The value that a reduction of this kind starts from, in the compute type of `element`.
    /// For positions: the value that the first element is compared with.
    pub fn identity(self, element: ElementType) -> Scalar {
        let element = element.compute_type();
        match self {
            Self::Sum | Self::Or | Self::Xor => Scalar::from_i64(element, 0),
            Self::Product => Scalar::from_i64(element, 1),
            Self::And => Scalar::from_i64(element, if element == ElementType::Bool { 1 } else { -1 }),
            Self::Min | Self::ArgMin { .. } => Scalar::highest(element),
            Self::Max | Self::ArgMax { .. } => Scalar::lowest(element),
        }
    }
}

/// A reduction over its own axes at each point of the outer axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reduction {
    /// Axes reduced over, outermost first.
    pub axes: Vec<AxisId>,
    /// Combination.
    pub op: ReduceOp,
    /// What is combined.
    pub value: ExprId,
}

/// What a store does to the element it meets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum StoreOp {
    /// Replaces it.
    Set,
    /// Adds to it. This and the following need a [`Access::ReadWrite`] parameter.
    Add,
    /// Multiplies it.
    Mul,
    /// Keeps the lesser.
    Min,
    /// Keeps the greater.
    Max,
}

/// A store over its own inner axes at each point of the outer axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Store {
    /// Inner axes, outermost first.
    pub axes: Vec<AxisId>,
    /// The buffer written.
    pub parameter: ParameterId,
    /// One `i64` expression a dimension.
    pub index: Vec<ExprId>,
    /// The value, in the compute type of the parameter's storage type.
    pub value: ExprId,
    /// Condition (bool) of the store.
    pub guard: Option<ExprId>,
    /// What is done.
    pub op: StoreOp,
}

/// One loop nest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// A short name for people; not part of the kernel's meaning.
    pub name: String,
    /// Buffers.
    pub parameters: Vec<Parameter>,
    /// Extents of all axes.
    pub axes: Vec<Dim>,
    /// The outer axes, outermost first.
    pub outer: Vec<AxisId>,
    /// Expressions; operands precede their uses.
    pub exprs: Vec<Expr>,
    /// Types of the expressions: always compute types.
    pub types: Vec<ElementType>,
    /// Reductions, in order.
    pub reductions: Vec<Reduction>,
    /// Stores, in order.
    pub stores: Vec<Store>,
}

impl Kernel {
    /// The expression named by `id`.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The type of an expression.
    pub fn type_of(&self, id: ExprId) -> ElementType {
        self.types[id.0 as usize]
    }

    /// The extent of an axis.
    pub fn extent(&self, axis: AxisId) -> &Dim {
        &self.axes[axis.0 as usize]
    }

    /// The parameter named by `id`.
    pub fn parameter(&self, id: ParameterId) -> &Parameter {
        &self.parameters[id.0 as usize]
    }

    /// The reduction named by `id`.
    pub fn reduction(&self, id: ReductionId) -> &Reduction {
        &self.reductions[id.0 as usize]
    }

    /// Whether the points of the outer axes may run in any order and at once.
    pub fn is_parallel(&self) -> bool {
        self.parameters.iter().all(|parameter| parameter.access != Access::ReadWrite)
    }

    /// Whether any expression checks an index, so that the kernel can fail.
    pub fn can_fail(&self) -> bool {
        self.exprs.iter().any(|expr| matches!(expr, Expr::Checked { .. }))
    }

    /// The symbols used by shapes, extents and expressions.
    pub fn symbols(&self) -> BTreeSet<SymbolId> {
        let dims = self.parameters.iter().flat_map(|parameter| &parameter.shape).chain(&self.axes);
        let exprs = self.exprs.iter().filter_map(|expr| if let Expr::Dim(dim) = expr { Some(dim) } else { None });
        dims.chain(exprs).flat_map(Dim::symbols).collect()
    }

    /// For each expression, the set of axes its value depends on, reductions counted by what their values depend on
    /// besides their own axes.
    pub fn dependencies(&self) -> Vec<BTreeSet<AxisId>> {
        let mut all: Vec<BTreeSet<AxisId>> = Vec::with_capacity(self.exprs.len());
        for expr in &self.exprs {
            let mut set: BTreeSet<AxisId> =
                expr.operands().iter().flat_map(|operand| all[operand.0 as usize].iter().copied()).collect();
            match expr {
                Expr::Axis(axis) => {
                    set.insert(*axis);
                }
                Expr::Reduced(id) => {
                    let reduction = self.reduction(*id);
                    let inner = &all[reduction.value.0 as usize];
                    set.extend(inner.iter().filter(|axis| !reduction.axes.contains(axis)));
                }
                _ => {}
            }
            all.push(set);
        }
        all
    }
}
