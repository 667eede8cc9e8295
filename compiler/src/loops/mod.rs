//! Tensor programs: the form between operators and code, the same for every target.

mod builder;
mod collapse;
mod expr;
pub mod generate;
pub mod interpret;
mod kernel;
mod lower;
mod program;
pub mod symbolic;
pub mod text;
mod unread;
pub mod verify;
mod work;

pub use builder::KernelBuilder;
pub use collapse::{collapse, collapse_all};
pub use expr::{AxisId, BinaryOp, CompareOp, Expr, ExprId, ParameterId, ReductionId, Scalar, UnaryOp};
pub use kernel::{Access, Kernel, Parameter, ReduceOp, Reduction, Store, StoreOp};
pub use lower::{constant_len, lower};
pub use program::{Action, Buffer, BufferId, BufferKind, Port, Program, RoutineCall, Step, View};
pub use unread::drop_unread;
pub use work::multiply_accumulates;
