//! Reading of kernels.

use super::cursor::{Cursor, ParseError, Result};
use crate::graph::{Dim, ElementType, Symbols};
use crate::loops::{
    Access, AxisId, BinaryOp, CompareOp, Expr, ExprId, Kernel, Parameter, ParameterId, ReduceOp, Reduction,
    ReductionId, Store, StoreOp, UnaryOp,
};

/// Reads a kernel; names that `symbols` lacks are added with bounds `0..`. The result is not
/// [verified](crate::loops::verify).
///
/// # Errors
/// Where the text is no kernel.
pub fn parse_kernel(text: &str, symbols: &mut Symbols) -> std::result::Result<Kernel, ParseError> {
    let mut cursor = Cursor::new(text);
    let kernel = kernel(&mut cursor, symbols)?;
    if cursor.at_end() { Ok(kernel) } else { cursor.fail("the kernel has ended, but the text has not") }
}

/// Reads a kernel within a longer text.
pub fn kernel(cursor: &mut Cursor<'_>, symbols: &mut Symbols) -> Result<Kernel> {
    cursor.expect("kernel")?;
    let name = cursor.name()?;
    let mut count = 0;
    let parameters = cursor.list("(", ")", |cursor| {
        in_order(cursor, 'p', count)?;
        count += 1;
        cursor.expect(":")?;
        let (element, shape) = (cursor.element()?, cursor.shape(symbols)?);
        let access = cursor.parsed("`read`, `write` or `readwrite`", |word| match word {
            "read" => Some(Access::Read),
            "write" => Some(Access::Write),
            "readwrite" => Some(Access::ReadWrite),
            _ => None,
        })?;
        Ok(Parameter { element, shape, access })
    })?;
    cursor.expect("{")?;
    let mut parser = Parser { cursor, symbols, parameters, axes: Vec::new(), exprs: Vec::new(), types: Vec::new() };
    let (mut outer, mut reductions, mut stores) = (Vec::new(), Vec::new(), Vec::new());
    while !parser.cursor.eat("}") {
        if parser.cursor.eat("outer") {
            outer = parser.axes()?;
        } else if parser.cursor.eat("unused") {
            parser.axes()?;
        } else if parser.cursor.eat("store") {
            let store = parser.store()?;
            stores.push(store);
        } else if parser.reduction(&mut reductions)? {
        } else {
            parser.expr()?;
        }
    }
    let axes: Option<Vec<Dim>> = parser.axes.into_iter().collect();
    let Some(axes) = axes else { return parser.cursor.fail("an axis has no extent") };
    let (parameters, exprs, types) = (parser.parameters, parser.exprs, parser.types);
    Ok(Kernel { name, parameters, axes, outer, exprs, types, reductions, stores })
}

/// A name that must have the given number.
pub fn in_order(cursor: &mut Cursor<'_>, letter: char, number: usize) -> Result<()> {
    match cursor.id(letter)? {
        found if found as usize == number => Ok(()),
        found => cursor.fail(format!("{letter}{number} is expected, not {letter}{found}")),
    }
}

/// More axes than any kernel has.
const MAX_AXES: u32 = 1000;

struct Parser<'c, 't, 's> {
    cursor: &'c mut Cursor<'t>,
    symbols: &'s mut Symbols,
    parameters: Vec<Parameter>,
    axes: Vec<Option<Dim>>,
    exprs: Vec<Expr>,
    types: Vec<ElementType>,
}

impl Parser<'_, '_, '_> {
    fn axes(&mut self) -> Result<Vec<AxisId>> {
        let mut ids = Vec::new();
        loop {
            let id = self.cursor.id('a')?;
            if id >= MAX_AXES {
                return self.cursor.fail("too many axes");
            }
            self.cursor.expect("<")?;
            let extent = self.cursor.dim(self.symbols)?;
            if self.axes.len() <= id as usize {
                self.axes.resize(id as usize + 1, None);
            }
            let place = &mut self.axes[id as usize];
            if place.as_ref().is_some_and(|present| *present != extent) {
                return self.cursor.fail(format!("a{id} has another extent before"));
            }
            *place = Some(extent);
            ids.push(AxisId(id));
            if !self.cursor.eat(",") {
                return Ok(ids);
            }
        }
    }

    fn operand(&mut self) -> Result<ExprId> {
        Ok(ExprId(self.cursor.id('e')?))
    }

    fn index(&mut self) -> Result<Vec<ExprId>> {
        self.cursor.list("[", "]", |cursor| Ok(ExprId(cursor.id('e')?)))
    }

    fn parameter(&mut self) -> Result<ParameterId> {
        match self.cursor.id('p')? {
            id if (id as usize) < self.parameters.len() => Ok(ParameterId(id)),
            id => self.cursor.fail(format!("there is no p{id}")),
        }
    }

    fn reduction(&mut self, reductions: &mut Vec<Reduction>) -> Result<bool> {
        if !self.cursor.eat(&format!("r{}", reductions.len())) {
            return Ok(false);
        }
        self.cursor.expect("=")?;
        let op = self.cursor.parsed("a reduction", ReduceOp::from_name)?;
        self.cursor.expect("over")?;
        let axes = self.axes()?;
        self.cursor.expect("{")?;
        let value = self.operand()?;
        self.cursor.expect("}")?;
        reductions.push(Reduction { axes, op, value });
        Ok(true)
    }

    fn store(&mut self) -> Result<Store> {
        let over = self.cursor.eat("over");
        let axes = if over { self.axes()? } else { Vec::new() };
        if over {
            self.cursor.expect("{")?;
        }
        let (parameter, index) = (self.parameter()?, self.index()?);
        let ops = [
            ("=", StoreOp::Set),
            ("+=", StoreOp::Add),
            ("*=", StoreOp::Mul),
            ("min=", StoreOp::Min),
            ("max=", StoreOp::Max),
        ];
        let Some((_, op)) = ops.into_iter().find(|(token, _)| self.cursor.eat(token)) else {
            return self.cursor.fail("`=`, `+=`, `*=`, `min=` or `max=` is expected");
        };
        let value = self.operand()?;
        let guard = if self.cursor.eat("if") { Some(self.operand()?) } else { None };
        if over {
            self.cursor.expect("}")?;
        }
        Ok(Store { axes, parameter, index, value, guard, op })
    }

    fn expr(&mut self) -> Result<()> {
        in_order(self.cursor, 'e', self.exprs.len())?;
        self.cursor.expect(":")?;
        let element = self.cursor.element()?;
        self.cursor.expect("=")?;
        let expr = match self.cursor.word()? {
            "const" => Expr::Const(self.cursor.scalar(element)?),
            "axis" => Expr::Axis(AxisId(self.cursor.id('a')?)),
            "dim" => Expr::Dim(self.cursor.dim(self.symbols)?),
            "load" => {
                let (parameter, index) = (self.parameter()?, self.index()?);
                let guard = if self.cursor.eat("if") {
                    let condition = self.operand()?;
                    self.cursor.expect("else")?;
                    let element = self.parameters[parameter.0 as usize].element.compute_type();
                    Some((condition, self.cursor.scalar(element)?))
                } else {
                    None
                };
                Expr::Load { parameter, index, guard }
            }
            "select" => Expr::Select(self.operand()?, self.operand()?, self.operand()?),
            "cast" => {
                let to = self.cursor.element()?;
                let saturate = !self.cursor.eat("wrapping");
                Expr::Cast { to, saturate, value: self.operand()? }
            }
            "bitcast" => Expr::Bitcast(self.cursor.element()?, self.operand()?),
            "reduced" => Expr::Reduced(ReductionId(self.cursor.id('r')?)),
            "checked" => {
                let index = self.operand()?;
                self.cursor.expect("<")?;
                Expr::Checked { index, extent: self.operand()? }
            }
            word => {
                if let Some(op) = UnaryOp::from_name(word) {
                    Expr::Unary(op, self.operand()?)
                } else if let Some(op) = BinaryOp::from_name(word) {
                    Expr::Binary(op, self.operand()?, self.operand()?)
                } else if let Some(op) = CompareOp::from_name(word) {
                    Expr::Compare(op, self.operand()?, self.operand()?)
                } else {
                    return self.cursor.fail(format!("there is no operation `{word}`"));
                }
            }
        };
        self.exprs.push(expr);
        self.types.push(element);
        Ok(())
    }
}
