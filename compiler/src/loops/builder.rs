//! Builds kernels, sharing equal expressions.

use std::collections::HashMap;

use super::{
    Access, AxisId, BinaryOp, CompareOp, Expr, ExprId, Kernel, Parameter, ParameterId, ReduceOp, Reduction,
    ReductionId, Scalar, Store, StoreOp, UnaryOp,
};
use crate::graph::{Dim, ElementType};

/// Builds one [`Kernel`].
///
/// Operand types and ranks must agree, as [`verify`](super::verify) states. The first that do not are remembered, as a
/// model may ask for them: [`KernelBuilder::fault`] tells, and a kernel with a fault must not be used.
#[derive(Debug)]
pub struct KernelBuilder {
    kernel: Kernel,
    shared: HashMap<Expr, ExprId>,
    fault: Option<String>,
}

impl KernelBuilder {
    /// Starts a kernel without axes.
    pub fn new(name: impl Into<String>) -> Self {
        let kernel = Kernel {
            name: name.into(),
            parameters: Vec::new(),
            axes: Vec::new(),
            outer: Vec::new(),
            exprs: Vec::new(),
            types: Vec::new(),
            reductions: Vec::new(),
            stores: Vec::new(),
        };
        Self { kernel, shared: HashMap::new(), fault: None }
    }

    /// Adds a buffer parameter.
    pub fn parameter(&mut self, element: ElementType, shape: &[Dim], access: Access) -> ParameterId {
        self.kernel.parameters.push(Parameter { element, shape: shape.to_vec(), access });
        ParameterId(self.kernel.parameters.len() as u32 - 1)
    }

    /// Adds an outer axis and gives the position on it.
    pub fn outer_axis(&mut self, extent: impl Into<Dim>) -> ExprId {
        let axis = self.axis(extent);
        self.kernel.outer.push(axis);
        self.push(Expr::Axis(axis), ElementType::I64)
    }

    /// Adds an outer axis for each extent.
    pub fn outer_axes(&mut self, extents: &[Dim]) -> Vec<ExprId> {
        extents.iter().map(|extent| self.outer_axis(extent.clone())).collect()
    }

    fn axis(&mut self, extent: impl Into<Dim>) -> AxisId {
        self.kernel.axes.push(extent.into());
        AxisId(self.kernel.axes.len() as u32 - 1)
    }

    /// Adds a reduction over new axes of the given extents; `value` builds what is combined from the positions on them.
    pub fn reduce(
        &mut self,
        op: ReduceOp,
        extents: &[Dim],
        value: impl FnOnce(&mut Self, &[ExprId]) -> ExprId,
    ) -> ExprId {
        let axes: Vec<AxisId> = extents.iter().map(|extent| self.axis(extent.clone())).collect();
        let positions: Vec<ExprId> = axes.iter().map(|&axis| self.push(Expr::Axis(axis), ElementType::I64)).collect();
        let value = value(self, &positions);
        let element = if op.is_position() { ElementType::I64 } else { self.kernel.type_of(value) };
        self.kernel.reductions.push(Reduction { axes, op, value });
        self.push(Expr::Reduced(ReductionId(self.kernel.reductions.len() as u32 - 1)), element)
    }

    /// Stores `value` at `index` for each point of the outer axes.
    pub fn store(&mut self, parameter: ParameterId, index: &[ExprId], value: ExprId) {
        self.push_store(parameter, Vec::new(), index.to_vec(), value, None, StoreOp::Set);
    }

    /// Combines `value` into the element at `index` where `guard` holds, for each point of the outer axes.
    pub fn update(
        &mut self,
        parameter: ParameterId,
        index: &[ExprId],
        value: ExprId,
        guard: Option<ExprId>,
        op: StoreOp,
    ) {
        self.push_store(parameter, Vec::new(), index.to_vec(), value, guard, op);
    }

    /// Stores over new inner axes of the given extents; `value` builds index and value from the positions on them.
    pub fn store_over(
        &mut self,
        parameter: ParameterId,
        extents: &[Dim],
        value: impl FnOnce(&mut Self, &[ExprId]) -> (Vec<ExprId>, ExprId),
    ) {
        let axes: Vec<AxisId> = extents.iter().map(|extent| self.axis(extent.clone())).collect();
        let positions: Vec<ExprId> = axes.iter().map(|&axis| self.push(Expr::Axis(axis), ElementType::I64)).collect();
        let (index, value) = value(self, &positions);
        self.push_store(parameter, axes, index, value, None, StoreOp::Set);
    }

    fn push_store(
        &mut self,
        parameter: ParameterId,
        axes: Vec<AxisId>,
        index: Vec<ExprId>,
        value: ExprId,
        guard: Option<ExprId>,
        op: StoreOp,
    ) {
        self.agree("a store", self.kernel.parameter(parameter).element.compute_type(), self.type_of(value));
        self.ranks_agree(parameter, &index);
        self.kernel.stores.push(Store { axes, parameter, index, value, guard, op });
    }

    fn note(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    fn agree(&mut self, what: &str, a: ElementType, b: ElementType) {
        if a != b {
            self.note(format!("{what} of {a} and {b}: these inputs or outputs must be of one element type"));
        }
    }

    fn ranks_agree(&mut self, parameter: ParameterId, index: &[ExprId]) {
        let rank = self.kernel.parameter(parameter).shape.len();
        if rank != index.len() {
            self.note(format!("an input or output has rank {rank}, where rank {} is needed", index.len()));
        }
    }

    /// What makes the kernel unusable, if anything.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn push(&mut self, expr: Expr, element: ElementType) -> ExprId {
        if let Some(&id) = self.shared.get(&expr) {
            return id;
        }
        let id = ExprId(self.kernel.exprs.len() as u32);
        self.kernel.exprs.push(expr.clone());
        self.kernel.types.push(element);
        self.shared.insert(expr, id);
        id
    }

    /// The type of an expression.
    pub fn type_of(&self, id: ExprId) -> ElementType {
        self.kernel.type_of(id)
    }

    /// A constant of the compute type of `element`.
    pub fn float(&mut self, element: ElementType, value: f64) -> ExprId {
        self.scalar(Scalar::from_f64(element.compute_type(), value))
    }

    /// A constant of the compute type of `element`, from an integer.
    pub fn integer(&mut self, element: ElementType, value: i64) -> ExprId {
        self.scalar(Scalar::from_i64(element.compute_type(), value))
    }

    /// An index constant, `i64`.
    pub fn index(&mut self, value: i64) -> ExprId {
        self.integer(ElementType::I64, value)
    }

    /// A constant.
    pub fn scalar(&mut self, value: Scalar) -> ExprId {
        let value = Scalar { element: value.element.compute_type(), ..value };
        self.push(Expr::Const(value), value.element)
    }

    /// A size known when the kernel starts, `i64`.
    pub fn dim(&mut self, dim: &Dim) -> ExprId {
        match dim.as_const() {
            Some(value) => self.index(value),
            None => self.push(Expr::Dim(dim.clone()), ElementType::I64),
        }
    }

    /// The element of a parameter at an index.
    pub fn load(&mut self, parameter: ParameterId, index: &[ExprId]) -> ExprId {
        self.ranks_agree(parameter, index);
        let element = self.kernel.parameter(parameter).element.compute_type();
        self.push(Expr::Load { parameter, index: index.to_vec(), guard: None }, element)
    }

    /// The element of a parameter at an index where `guard` holds, `otherwise` elsewhere.
    pub fn load_where(&mut self, parameter: ParameterId, index: &[ExprId], guard: ExprId, otherwise: Scalar) -> ExprId {
        self.ranks_agree(parameter, index);
        let element = self.kernel.parameter(parameter).element.compute_type();
        let otherwise = Scalar { element, ..otherwise };
        self.push(Expr::Load { parameter, index: index.to_vec(), guard: Some((guard, otherwise)) }, element)
    }

    /// An operation on one operand.
    pub fn unary(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        let element = if op == UnaryOp::IsNan { ElementType::Bool } else { self.type_of(value) };
        self.push(Expr::Unary(op, value), element)
    }

    /// An operation on two operands; trivial index arithmetic is folded.
    pub fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let element = self.type_of(a);
        self.agree(op.name(), element, self.type_of(b));
        if element == ElementType::I64
            && let Some(folded) = self.fold_index(op, a, b)
        {
            return folded;
        }
        self.push(Expr::Binary(op, a, b), element)
    }

    fn fold_index(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<ExprId> {
        let constant = |id: ExprId| match self.kernel.expr(id) {
            Expr::Const(scalar) => Some(scalar.bits as i64),
            _ => None,
        };
        Some(match (op, constant(a), constant(b)) {
            (BinaryOp::Add, Some(x), Some(y)) => self.index(x.wrapping_add(y)),
            (BinaryOp::Sub, Some(x), Some(y)) => self.index(x.wrapping_sub(y)),
            (BinaryOp::Mul, Some(x), Some(y)) => self.index(x.wrapping_mul(y)),
            (BinaryOp::Add, Some(0), _) | (BinaryOp::Mul, Some(1), _) => b,
            (BinaryOp::Add | BinaryOp::Sub, _, Some(0)) => a,
            (BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv, _, Some(1)) => a,
            (BinaryOp::Mul, Some(0), _) => a,
            (BinaryOp::Mul, _, Some(0)) => b,
            (BinaryOp::Mod | BinaryOp::Rem, _, Some(1)) => self.index(0),
            _ => return None,
        })
    }

    /// Sum.
    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Add, a, b)
    }

    /// Difference.
    pub fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// Product.
    pub fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// Quotient.
    pub fn div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Div, a, b)
    }

    /// The lesser.
    pub fn min(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Min, a, b)
    }

    /// The greater.
    pub fn max(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Max, a, b)
    }

    /// Conjunction.
    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::And, a, b)
    }

    /// A comparison.
    pub fn compare(&mut self, op: CompareOp, a: ExprId, b: ExprId) -> ExprId {
        self.agree(op.name(), self.type_of(a), self.type_of(b));
        self.push(Expr::Compare(op, a, b), ElementType::Bool)
    }

    /// The first value where the condition holds, the second elsewhere.
    pub fn select(&mut self, condition: ExprId, a: ExprId, b: ExprId) -> ExprId {
        self.agree("select", self.type_of(a), self.type_of(b));
        let element = self.type_of(a);
        self.push(Expr::Select(condition, a, b), element)
    }

    /// Conversion with rounding to `to` itself, saturating for 8-bit floats. The result has the compute type of `to`.
    pub fn cast(&mut self, to: ElementType, value: ExprId) -> ExprId {
        self.cast_with(to, true, value)
    }

    /// Conversion with the choice of saturation for 8-bit floats.
    pub fn cast_with(&mut self, to: ElementType, saturate: bool, value: ExprId) -> ExprId {
        if self.type_of(value) == to {
            return value;
        }
        self.push(Expr::Cast { to, saturate, value }, to.compute_type())
    }

    /// The same bits as another type.
    pub fn bitcast(&mut self, to: ElementType, value: ExprId) -> ExprId {
        self.push(Expr::Bitcast(to, value), to)
    }

    /// `index` with a run-time check against `extent`.
    pub fn checked(&mut self, index: ExprId, extent: &Dim) -> ExprId {
        let extent = self.dim(extent);
        self.push(Expr::Checked { index, extent }, ElementType::I64)
    }

    /// A possibly negative index counted from the end, checked: the usual form of ONNX data-dependent indices.
    pub fn wrapped(&mut self, index: ExprId, extent: &Dim) -> ExprId {
        let index = self.cast(ElementType::I64, index);
        let zero = self.index(0);
        let size = self.dim(extent);
        let negative = self.compare(CompareOp::Lt, index, zero);
        let from_end = self.add(index, size);
        let position = self.select(negative, from_end, index);
        self.checked(position, extent)
    }

    /// Whether 0 <= index < extent, as a bool.
    pub fn in_range(&mut self, index: ExprId, extent: &Dim) -> ExprId {
        let (zero, size) = (self.index(0), self.dim(extent));
        let (low, high) = (self.compare(CompareOp::Ge, index, zero), self.compare(CompareOp::Lt, index, size));
        self.and(low, high)
    }

    /// The index into a tensor of `shape` that broadcasts (numpy rules, right-aligned) to an iteration space whose
    /// positions are `axes`. A dimension of unknown size that may be 1 selects at run time.
    pub fn broadcast(&mut self, shape: &[Dim], axes: &[ExprId], extents: &[Dim]) -> Vec<ExprId> {
        let Some(skip) = axes.len().checked_sub(shape.len()) else {
            self.note(format!("a tensor of rank {} does not broadcast to rank {}", shape.len(), axes.len()));
            return vec![self.index(0); shape.len()];
        };
        shape
            .iter()
            .enumerate()
            .map(|(i, dim)| {
                let (axis, extent) = (axes[skip + i], &extents[skip + i]);
                if dim == extent {
                    return axis;
                }
                let zero = self.index(0);
                match dim.as_const() {
                    Some(1) => zero,
                    Some(_) => axis,
                    None => {
                        let (size, one) = (self.dim(dim), self.index(1));
                        let is_one = self.compare(CompareOp::Eq, size, one);
                        self.select(is_one, zero, axis)
                    }
                }
            })
            .collect()
    }

    /// The finished kernel.
    pub fn finish(self) -> Kernel {
        self.kernel
    }
}
