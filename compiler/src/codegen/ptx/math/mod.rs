//! Scalar mathematics as PTX device functions over `f64`.
//!
//! Every function is written once into a module that uses it. Results are within 4 ulp in `f64`, powers of large exponents
//! within 8; `f32` values are converted, computed so and rounded, so that their error is below 1 ulp.

mod error_function;
mod exponential;
mod logarithm;
mod power;
mod remainder;
mod trigonometric;

use super::assembly::{Assembly, Class, Operand, Register};
use crate::loops::UnaryOp;

/// What a function is: its name, the class of arguments and result, how many arguments, and what writes its body.
type Definition = (&'static str, Class, usize, fn(&mut Math<'_>, &[Register]) -> Register);

const DEFINITIONS: &[Definition] = &[
    ("exp", Class::Double, 1, |m, x| m.exp(x[0])),
    ("expm1", Class::Double, 1, |m, x| m.expm1(x[0])),
    ("sigmoid", Class::Double, 1, |m, x| m.sigmoid(x[0])),
    ("tanh", Class::Double, 1, |m, x| m.tanh(x[0])),
    ("sinh", Class::Double, 1, |m, x| m.sinh(x[0])),
    ("cosh", Class::Double, 1, |m, x| m.cosh(x[0])),
    ("log", Class::Double, 1, |m, x| m.log(x[0])),
    ("log1p", Class::Double, 1, |m, x| m.log1p(x[0])),
    ("asinh", Class::Double, 1, |m, x| m.asinh(x[0])),
    ("acosh", Class::Double, 1, |m, x| m.acosh(x[0])),
    ("atanh", Class::Double, 1, |m, x| m.atanh(x[0])),
    ("erf", Class::Double, 1, |m, x| m.erf(x[0])),
    ("sin", Class::Double, 1, |m, x| m.sin(x[0])),
    ("cos", Class::Double, 1, |m, x| m.cos(x[0])),
    ("tan", Class::Double, 1, |m, x| m.tan(x[0])),
    ("atan", Class::Double, 1, |m, x| m.atan(x[0])),
    ("asin", Class::Double, 1, |m, x| m.asin(x[0])),
    ("acos", Class::Double, 1, |m, x| m.acos(x[0])),
    ("atan2", Class::Double, 2, |m, x| m.atan2(x[0], x[1])),
    ("pow", Class::Double, 2, |m, x| m.pow(x[0], x[1])),
    ("rem", Class::Double, 2, |m, x| m.remainder(x[0], x[1])),
    ("mod", Class::Double, 2, |m, x| m.modulo(x[0], x[1])),
    ("pow_s64", Class::Long, 2, |m, x| m.integer_power(x[0], x[1], true)),
    ("pow_u64", Class::Long, 2, |m, x| m.integer_power(x[0], x[1], false)),
];

/// The device functions of a module.
#[derive(Debug, Default)]
pub struct Library {
    names: Vec<&'static str>,
    text: String,
    uses_table: bool,
}

impl Library {
    /// The symbol of the function called `name`, which is written if it is not there; `None` if there is no such function.
    pub fn function(&mut self, name: &str) -> Option<String> {
        let &(name, class, count, body) = DEFINITIONS.iter().find(|definition| definition.0 == name)?;
        let symbol = format!("lithify_{name}");
        if self.names.contains(&name) {
            return Some(symbol);
        }
        let mut math = Math { assembly: Assembly::default(), library: self };
        let arguments: Vec<Register> = (0..count).map(|_| math.assembly.fresh(class)).collect();
        for (position, argument) in arguments.iter().enumerate() {
            math.assembly.emit_to_named(*argument, position);
        }
        let result = body(&mut math, &arguments);
        math.assembly.line(format_args!("mov.{} %result, {result}", class.name()));
        math.assembly.line("ret");
        let body = math.assembly.finish();
        let kind = class.name();
        let parameters: Vec<String> = (0..count).map(|position| format!(".reg .{kind} %argument{position}")).collect();
        let parameters = parameters.join(", ");
        // Functions that this one calls have been written by now.
        self.text += &format!("\n.func (.reg .{kind} %result) {symbol} ({parameters})\n{{\n{body}}}\n");
        self.names.push(name);
        Some(symbol)
    }

    /// Tables and functions, callees before callers.
    pub fn finish(self) -> String {
        let table = if self.uses_table { trigonometric::table() } else { String::new() };
        table + &self.text
    }
}

/// The function of an operation on one operand, if it takes one.
pub fn function_of(op: UnaryOp) -> Option<&'static str> {
    DEFINITIONS.iter().map(|definition| definition.0).find(|&name| name == op.name())
}

/// Writes a function body.
struct Math<'a> {
    assembly: Assembly,
    library: &'a mut Library,
}

impl Assembly {
    fn emit_to_named(&mut self, target: Register, position: usize) {
        self.line(format_args!("mov.{} {target}, %argument{position}", target.class.name()));
    }
}

/// Operations on `f64`, each one instruction unless stated.
impl Math<'_> {
    fn add(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Double, "add.rn.f64", a, b)
    }

    fn sub(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Double, "sub.rn.f64", a, b)
    }

    fn mul(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Double, "mul.rn.f64", a, b)
    }

    fn div(&mut self, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Double, "div.rn.f64", a, b)
    }

    /// `a * b + c`, rounded once.
    fn fma(&mut self, a: impl Into<Operand>, b: impl Into<Operand>, c: impl Into<Operand>) -> Register {
        self.assembly.emit(Class::Double, "fma.rn.f64", &[a.into(), b.into(), c.into()])
    }

    fn sqrt(&mut self, a: Register) -> Register {
        self.assembly.unary(Class::Double, "sqrt.rn.f64", a)
    }

    fn neg(&mut self, a: Register) -> Register {
        self.assembly.unary(Class::Double, "neg.f64", a)
    }

    fn abs(&mut self, a: Register) -> Register {
        self.assembly.unary(Class::Double, "abs.f64", a)
    }

    fn round(&mut self, a: Register) -> Register {
        self.assembly.unary(Class::Double, "cvt.rni.f64.f64", a)
    }

    /// The magnitude of `a` with the sign of `b`.
    fn copy_sign(&mut self, a: impl Into<Operand>, b: Register) -> Register {
        self.assembly.binary(Class::Double, "copysign.f64", b, a)
    }

    /// A comparison such as `lt`.
    fn compare(&mut self, comparison: &str, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Predicate, &format!("setp.{comparison}.f64"), a, b)
    }

    fn select(&mut self, predicate: Register, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.select(Class::Double, predicate, a, b)
    }

    fn and(&mut self, a: Register, b: Register) -> Register {
        self.assembly.binary(Class::Predicate, "and.pred", a, b)
    }

    fn constant(&mut self, value: f64) -> Register {
        self.assembly.constant(Class::Double, value)
    }

    fn call(&mut self, name: &str, arguments: &[Register]) -> Register {
        // Names come from this module's own table.
        let symbol = self.library.function(name).unwrap_or_default();
        self.assembly.call(Class::Double, &symbol, arguments)
    }

    /// The value brought into a range; NaN stays NaN.
    fn clamp(&mut self, x: Register, low: f64, high: f64) -> Register {
        let below = self.compare("lt", x, low);
        let x = self.select(below, low, x);
        let above = self.compare("gt", x, high);
        self.select(above, high, x)
    }

    /// A polynomial, the constant coefficient first.
    fn polynomial(&mut self, x: Register, coefficients: &[f64]) -> Register {
        let (&last, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
        let mut sum = self.constant(last);
        for &coefficient in rest.iter().rev() {
            sum = self.fma(sum, x, coefficient);
        }
        sum
    }

    /// `f64` bits as an integer, and an integer as `f64` bits.
    fn bits_of(&mut self, x: Register) -> Register {
        self.assembly.bits(Class::Long, x)
    }

    fn double_of(&mut self, x: Register) -> Register {
        self.assembly.bits(Class::Double, x)
    }

    fn long(&mut self, opcode: &str, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Long, opcode, a, b)
    }
}
