//! Parses variables, parameters, and initializers.

use super::Parser;
use crate::error::Error;
use crate::lexer::Token;
use crate::statement::{Space, Variable};
use crate::types::Type;

impl Parser {
    /// The type a directive such as `.f32` names.
    pub(super) fn type_directive(&mut self) -> Result<Type, Error> {
        let parsed = match self.peek() {
            Some(Token::Directive(name)) => Type::parse(&name[1..]),
            _ => None,
        };
        let Some(parsed) = parsed else { return self.error("a type such as .f32") };
        self.position += 1;
        Ok(parsed)
    }

    /// Alignment, type and one or more declarators after the state space, through the semicolon.
    pub(super) fn variables(&mut self, space: Space, external: bool) -> Result<Vec<Variable>, Error> {
        let align = if self.accept_directive(".align") { Some(self.small()?) } else { None };
        let vector = self.vector_width();
        let element = self.type_directive()?;
        let mut variables = Vec::new();
        loop {
            variables.push(self.declarator(space, align, element, vector, external)?);
            if self.accept(';') {
                return Ok(variables);
            }
            if !self.accept(',') {
                return self.error("',' or ';'");
            }
        }
    }

    fn vector_width(&mut self) -> u32 {
        if self.accept_directive(".v2") {
            2
        } else if self.accept_directive(".v4") {
            4
        } else {
            1
        }
    }

    fn declarator(
        &mut self,
        space: Space,
        align: Option<u32>,
        element: Type,
        vector: u32,
        external: bool,
    ) -> Result<Variable, Error> {
        let line = self.line();
        let name = self.word("the name of a variable")?;
        let natural = element.bytes() * vector;
        let align = align.unwrap_or(natural).max(1);
        if !align.is_power_of_two() {
            return Err(Error::new(line, format!("{name}: alignment {align} is not a power of two")));
        }
        let mut count = 1u32;
        while self.accept('[') {
            let length = if self.peek() == Some(&Token::Symbol(']')) { 0 } else { self.small()? };
            self.symbol(']')?;
            count = count.checked_mul(length).ok_or_else(|| Error::new(line, format!("{name} is too large")))?;
        }
        let mut initializer = Vec::new();
        if self.accept('=') {
            self.initializer(element, &mut initializer)?;
        }
        let mut bytes =
            count.checked_mul(natural).ok_or_else(|| Error::new(line, format!("{name} is larger than 4 GiB")))?;
        if bytes == 0 {
            bytes = initializer.len() as u32;
        }
        if initializer.len() > bytes as usize {
            return Err(Error::new(line, format!("{name}: the initializer is longer than the variable")));
        }
        Ok(Variable { name, space, align, bytes, initializer, pointer_align: 0, register: None, external, line })
    }

    fn initializer(&mut self, element: Type, bytes: &mut Vec<u8>) -> Result<(), Error> {
        if self.accept('{') {
            while !self.accept('}') {
                self.initializer(element, bytes)?;
                if self.peek() != Some(&Token::Symbol('}')) {
                    self.symbol(',')?;
                }
            }
            return Ok(());
        }
        let negative = self.accept('-');
        let value = match (self.peek(), element) {
            (Some(&Token::Integer(value)), element) if !element.is_float() => {
                if negative {
                    value.wrapping_neg()
                } else {
                    value
                }
            }
            (Some(&Token::Single(value)), Type::F32) => u64::from(if negative { -value } else { value }.to_bits()),
            (Some(&Token::Double(value)), Type::F32) => {
                u64::from((if negative { -value } else { value } as f32).to_bits())
            }
            (Some(&Token::Double(value)), Type::F64) => if negative { -value } else { value }.to_bits(),
            _ => return self.error("a value of the variable's type"),
        };
        self.position += 1;
        bytes.extend_from_slice(&value.to_le_bytes()[..element.bytes() as usize]);
        Ok(())
    }

    /// One `.param` or `.reg` parameter.
    pub(super) fn parameter(&mut self) -> Result<Variable, Error> {
        if self.accept_directive(".reg") {
            let line = self.line();
            let register = self.type_directive()?;
            let name = self.word("the name of a parameter")?;
            let (align, bytes) = (register.bytes().max(1), register.bytes());
            let space = Space::Parameter;
            return Ok(Variable {
                name,
                space,
                align,
                bytes,
                initializer: Vec::new(),
                pointer_align: 0,
                register: Some(register),
                external: false,
                line,
            });
        }
        if !self.accept_directive(".param") {
            return self.error(".param");
        }
        let align = if self.accept_directive(".align") { Some(self.small()?) } else { None };
        let element = self.type_directive()?;
        let mut pointer_align = 0;
        if self.accept_directive(".ptr") {
            for space in [".global", ".shared", ".const", ".local"] {
                if self.accept_directive(space) {
                    break;
                }
            }
            pointer_align = if self.accept_directive(".align") { self.small()? } else { 4 };
        }
        let parameter = self.declarator(Space::Parameter, align, element, 1, false)?;
        Ok(Variable { pointer_align, ..parameter })
    }
}
