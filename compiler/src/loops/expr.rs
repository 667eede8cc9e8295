//! Scalar expressions: what is computed at one point of an iteration space.

use crate::graph::{Dim, ElementType};

/// Names an expression of a [`Kernel`](super::Kernel).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(pub u32);

/// Names an axis of a [`Kernel`](super::Kernel).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AxisId(pub u32);

/// Names a buffer parameter of a [`Kernel`](super::Kernel).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ParameterId(pub u32);

/// Names a reduction of a [`Kernel`](super::Kernel).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReductionId(pub u32);

/// A constant of one element type. Narrow floats are held as the `f32` they are computed in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Scalar {
    /// Type of the constant.
    pub element: ElementType,
    /// The bits of an `f32` or `f64`, or the sign- or zero-extended integer.
    pub bits: u64,
}

impl Scalar {
    /// `value` rounded to a float type, or converted with saturation to an integer or bool type.
    pub fn from_f64(element: ElementType, value: f64) -> Self {
        let bits = match element.compute_type() {
            ElementType::F64 => value.to_bits(),
            ElementType::F32 => u64::from((value as f32).to_bits()),
            ElementType::Bool => u64::from(value != 0.0),
            _ => return Self::from_i64(element, value as i64),
        };
        Self { element, bits }
    }

    /// `value` converted to `element`, integers wrapping to its width.
    pub fn from_i64(element: ElementType, value: i64) -> Self {
        let bits = match element {
            ElementType::Bool => u64::from(value != 0),
            other if other.is_float() => return Self::from_f64(element, value as f64),
            other => {
                let unused = 64 - other.bits().min(64) as u32;
                if other.is_signed() {
                    ((value << unused) >> unused) as u64
                } else {
                    ((value as u64) << unused) >> unused
                }
            }
        };
        Self { element, bits }
    }

    /// The least finite or infinite value of the type: the start of a maximum.
    pub fn lowest(element: ElementType) -> Self {
        match element {
            other if other.is_float() => Self::from_f64(element, f64::NEG_INFINITY),
            other if other.is_signed() => Self::from_i64(element, -1 << (other.bits() - 1)),
            _ => Self { element, bits: 0 },
        }
    }

    /// The greatest value of the type: the start of a minimum.
    pub fn highest(element: ElementType) -> Self {
        match element {
            other if other.is_float() => Self::from_f64(element, f64::INFINITY),
            ElementType::Bool => Self { element, bits: 1 },
            other if other.is_signed() => Self::from_i64(element, i64::MAX >> (64 - other.bits())),
            other => Self { element, bits: u64::MAX >> (64 - other.bits()) },
        }
    }

    /// The value in `f64`.
    pub fn to_f64(self) -> f64 {
        match self.element.compute_type() {
            ElementType::F64 => f64::from_bits(self.bits),
            ElementType::F32 => f64::from(f32::from_bits(self.bits as u32)),
            other if other.is_signed() => self.bits as i64 as f64,
            _ => self.bits as f64,
        }
    }

    /// The value as an integer; floats truncate.
    pub fn to_i64(self) -> i64 {
        if self.element.is_float() { self.to_f64() as i64 } else { self.bits as i64 }
    }
}

macro_rules! operations {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every operation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in text forms.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The operation of that name.
            pub fn from_name(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

operations! {
    /// Operations on one operand, whose type is also the result's unless stated.
    UnaryOp {
        /// Negation; integers wrap.
        Neg = "neg",
        /// Magnitude; the least integer stays as it is.
        Abs = "abs",
        /// Logical negation of a bool, bitwise of an integer.
        Not = "not",
        /// -1, 0 or 1; NaN stays NaN.
        Sign = "sign",
        /// Largest integral value not above.
        Floor = "floor",
        /// Smallest integral value not below.
        Ceil = "ceil",
        /// Nearest integral value, ties to even.
        Round = "round",
        /// Integral part.
        Trunc = "trunc",
        /// Square root.
        Sqrt = "sqrt",
        /// e to the power.
        Exp = "exp",
        /// Natural logarithm.
        Log = "log",
        /// Sine of radians.
        Sin = "sin",
        /// Cosine of radians.
        Cos = "cos",
        /// Tangent of radians.
        Tan = "tan",
        /// Arc sine in radians.
        Asin = "asin",
        /// Arc cosine in radians.
        Acos = "acos",
        /// Arc tangent in radians.
        Atan = "atan",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Inverse hyperbolic sine.
        Asinh = "asinh",
        /// Inverse hyperbolic cosine.
        Acosh = "acosh",
        /// Inverse hyperbolic tangent.
        Atanh = "atanh",
        /// Error function.
        Erf = "erf",
        /// 1 / (1 + exp(-x)).
        Sigmoid = "sigmoid",
        /// log(1 + x).
        Log1p = "log1p",
        /// exp(x) - 1.
        Expm1 = "expm1",
        /// Whether a float is NaN; the result is a bool.
        IsNan = "isnan",
    }
}

operations! {
    /// Operations on two operands of one type, which is also the result's.
    BinaryOp {
        /// Sum; integers wrap.
        Add = "add",
        /// Difference; integers wrap.
        Sub = "sub",
        /// Product; integers wrap.
        Mul = "mul",
        /// Quotient; integers truncate, x/0 is 0 and MIN/-1 wraps.
        Div = "div",
        /// Remainder with the dividend's sign (`fmod`); integer x%0 is 0.
        Rem = "rem",
        /// Remainder with the divisor's sign; integer x mod 0 is 0.
        Mod = "mod",
        /// Quotient rounded to minus infinity; integer x/0 is 0.
        FloorDiv = "floordiv",
        /// Power. Integers wrap; a negative integer exponent gives the truncated reciprocal.
        Pow = "pow",
        /// The lesser; NaN if either is.
        Min = "min",
        /// The greater; NaN if either is.
        Max = "max",
        /// Logical or bitwise and.
        And = "and",
        /// Logical or bitwise or.
        Or = "or",
        /// Logical or bitwise exclusive or.
        Xor = "xor",
        /// Shift to the left; a count outside the width gives 0.
        ShiftLeft = "shl",
        /// Shift to the right, logical for unsigned and arithmetic for signed types; a count outside the width gives 0.
        ShiftRight = "shr",
        /// Angle of the point (second, first).
        Atan2 = "atan2",
    }
}

operations! {
    /// Comparisons of two operands of one type, giving a bool. With NaN only `ne` holds.
    CompareOp {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Less.
        Lt = "lt",
        /// Less or equal.
        Le = "le",
        /// Greater.
        Gt = "gt",
        /// Greater or equal.
        Ge = "ge",
    }
}

/// A scalar expression. Operands come earlier in the kernel's list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A constant.
    Const(Scalar),
    /// The position on an axis, `i64`.
    Axis(AxisId),
    /// A number known when the kernel starts, `i64`.
    Dim(Dim),
    /// The element of a parameter at an index, converted to the compute type of its storage type.
    /// With a guard, memory is read only where the guard holds and the value is `otherwise` elsewhere.
    Load {
        /// The buffer read.
        parameter: ParameterId,
        /// One `i64` expression a dimension.
        index: Vec<ExprId>,
        /// Condition (bool) of the access, and the value where it fails.
        guard: Option<(ExprId, Scalar)>,
    },
    /// An operation on one operand.
    Unary(UnaryOp, ExprId),
    /// An operation on two operands.
    Binary(BinaryOp, ExprId, ExprId),
    /// A comparison.
    Compare(CompareOp, ExprId, ExprId),
    /// The first value where the condition holds, the second elsewhere; both are evaluated.
    Select(ExprId, ExprId, ExprId),
    /// Conversion to another type. To a narrow float: rounding to nearest even. Float to integer truncates and
    /// saturates, NaN gives 0. Integer to integer wraps. To bool: not equal to zero.
    Cast {
        /// Target type.
        to: ElementType,
        /// For 8-bit floats: whether values beyond the range saturate (else infinity or NaN).
        saturate: bool,
        /// What is converted.
        value: ExprId,
    },
    /// The same bits as another type of the same width.
    Bitcast(ElementType, ExprId),
    /// The result of an earlier reduction.
    Reduced(ReductionId),
    /// `index`, after a check that 0 <= index < extent; the kernel fails where it does not hold.
    Checked {
        /// The index, `i64`.
        index: ExprId,
        /// The bound, `i64`.
        extent: ExprId,
    },
}

impl Expr {
    /// The operands.
    pub fn operands(&self) -> Vec<ExprId> {
        match self {
            Self::Const(_) | Self::Axis(_) | Self::Dim(_) | Self::Reduced(_) => Vec::new(),
            Self::Load { index, guard, .. } => {
                index.iter().copied().chain(guard.map(|(condition, _)| condition)).collect()
            }
            Self::Unary(_, value) | Self::Cast { value, .. } | Self::Bitcast(_, value) => vec![*value],
            Self::Binary(_, a, b) | Self::Compare(_, a, b) => vec![*a, *b],
            Self::Select(condition, a, b) => vec![*condition, *a, *b],
            Self::Checked { index, extent } => vec![*index, *extent],
        }
    }

    /// The same expression with every operand replaced.
    pub fn map_operands(&self, mut map: impl FnMut(ExprId) -> ExprId) -> Self {
        match self {
            Self::Const(_) | Self::Axis(_) | Self::Dim(_) | Self::Reduced(_) => self.clone(),
            Self::Load { parameter, index, guard } => Self::Load {
                parameter: *parameter,
                index: index.iter().map(|&expr| map(expr)).collect(),
                guard: guard.map(|(condition, otherwise)| (map(condition), otherwise)),
            },
            Self::Unary(op, value) => Self::Unary(*op, map(*value)),
            Self::Cast { to, saturate, value } => Self::Cast { to: *to, saturate: *saturate, value: map(*value) },
            Self::Bitcast(to, value) => Self::Bitcast(*to, map(*value)),
            Self::Binary(op, a, b) => Self::Binary(*op, map(*a), map(*b)),
            Self::Compare(op, a, b) => Self::Compare(*op, map(*a), map(*b)),
            Self::Select(condition, a, b) => Self::Select(map(*condition), map(*a), map(*b)),
            Self::Checked { index, extent } => Self::Checked { index: map(*index), extent: map(*extent) },
        }
    }
}
