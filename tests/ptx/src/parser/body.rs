//! Parses the statements of a function body.

use super::Parser;
use crate::error::Error;
use crate::lexer::Token;
use crate::statement::{Instruction, Operand, Space, Statement};

impl Parser {
    /// Statements up to and including the brace that closes the body.
    pub(super) fn body(&mut self) -> Result<Vec<(Statement, u32)>, Error> {
        let mut statements = Vec::new();
        let mut depth = 0;
        loop {
            let line = self.line();
            if self.accept('}') {
                if depth == 0 {
                    return Ok(statements);
                }
                depth -= 1;
                statements.push((Statement::Close, line));
            } else if self.accept('{') {
                depth += 1;
                statements.push((Statement::Open, line));
            } else if let Some(directive) = self.directive() {
                self.body_directive(&directive, line, &mut statements)?;
            } else if self.peek() == Some(&Token::Symbol('@')) {
                statements.push((Statement::Instruction(self.instruction()?), line));
            } else if matches!(self.peek(), Some(Token::Word(_))) {
                let label = self.tokens.get(self.position + 1).is_some_and(|next| next.token == Token::Symbol(':'));
                if label {
                    let name = self.word("a label")?;
                    self.symbol(':')?;
                    statements.push((Statement::Label(name), line));
                } else {
                    statements.push((Statement::Instruction(self.instruction()?), line));
                }
            } else {
                return self.error("a statement or '}'");
            }
        }
    }

    fn body_directive(
        &mut self,
        directive: &str,
        line: u32,
        statements: &mut Vec<(Statement, u32)>,
    ) -> Result<(), Error> {
        let space = match directive {
            ".reg" => {
                let registers = self.registers()?;
                statements.push((registers, line));
                return Ok(());
            }
            ".loc" | ".pragma" => {
                while self.peek().is_some() && self.line() == line {
                    self.position += 1;
                }
                return Ok(());
            }
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".param" => Space::Parameter,
            ".const" => Space::Constant,
            ".global" => Space::Global,
            _ => {
                self.position -= 1;
                return self.error("a declaration (.reg, .shared, .local, .param)");
            }
        };
        for variable in self.variables(space, false)? {
            statements.push((Statement::Variable(variable), line));
        }
        Ok(())
    }

    fn registers(&mut self) -> Result<Statement, Error> {
        let kind = self.type_directive()?;
        let mut names = Vec::new();
        loop {
            let name = self.word("the name of a register")?;
            let mut count = None;
            if self.accept('<') {
                count = Some(self.small()?);
                self.symbol('>')?;
            }
            names.push((name, count));
            if self.accept(';') {
                return Ok(Statement::Registers(kind, names));
            }
            if !self.accept(',') {
                return self.error("',' or ';'");
            }
        }
    }

    fn instruction(&mut self) -> Result<Instruction, Error> {
        let mut guard = None;
        if self.accept('@') {
            let negated = self.accept('!');
            guard = Some((self.word("a predicate")?, negated));
        }
        let opcode = self.word("an instruction")?;
        let mut operands = Vec::new();
        while !self.accept(';') {
            if !operands.is_empty() && !self.accept(',') {
                return self.error("',' or ';'");
            }
            operands.push(self.operand()?);
        }
        Ok(Instruction { guard, opcode, operands })
    }

    fn operand(&mut self) -> Result<Operand, Error> {
        if self.accept('{') {
            return Ok(Operand::Vector(self.operands_until('}')?));
        }
        if self.accept('(') {
            return Ok(Operand::List(self.operands_until(')')?));
        }
        if self.accept('[') {
            let operand = self.address()?;
            self.symbol(']')?;
            return Ok(operand);
        }
        if self.accept('!') {
            return Ok(Operand::Not(self.word("a predicate")?));
        }
        let Some(Token::Word(_)) = self.peek() else { return self.literal() };
        let name = self.word("an operand")?;
        if self.accept('|') {
            return Ok(Operand::Pair(name, self.word("a second destination")?));
        }
        if self.accept('+') {
            return self.error("an operand without arithmetic (use an address in brackets)");
        }
        Ok(Operand::Name(name))
    }

    fn operands_until(&mut self, close: char) -> Result<Vec<Operand>, Error> {
        let mut operands = Vec::new();
        while !self.accept(close) {
            if !operands.is_empty() {
                self.symbol(',')?;
            }
            operands.push(self.operand()?);
        }
        Ok(operands)
    }

    fn literal(&mut self) -> Result<Operand, Error> {
        let negative = self.accept('-');
        let inverted = !negative && self.accept('~');
        let operand = match self.peek() {
            Some(&Token::Integer(value)) if negative => Operand::Integer(value.wrapping_neg()),
            Some(&Token::Integer(value)) if inverted => Operand::Integer(!value),
            Some(&Token::Integer(value)) => Operand::Integer(value),
            Some(&Token::Single(value)) if !inverted => {
                Operand::Float(f64::from(if negative { -value } else { value }))
            }
            Some(&Token::Double(value)) if !inverted => Operand::Float(if negative { -value } else { value }),
            _ => return self.error("an operand"),
        };
        self.position += 1;
        Ok(operand)
    }

    fn address(&mut self) -> Result<Operand, Error> {
        let mut base = None;
        let mut offset = 0i64;
        if matches!(self.peek(), Some(Token::Word(_))) {
            base = Some(self.word("an address")?);
            if self.peek() == Some(&Token::Symbol(']')) {
                return Ok(Operand::Address(base, 0));
            }
            if self.peek() != Some(&Token::Symbol('-')) {
                self.symbol('+')?;
            }
        }
        let negative = self.accept('-');
        let value = self.integer()? as i64;
        offset = offset.wrapping_add(if negative { value.wrapping_neg() } else { value });
        Ok(Operand::Address(base, offset))
    }
}
