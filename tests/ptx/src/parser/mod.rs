//! Parses tokens into the functions and variables of a PTX text.

mod body;
mod variable;

use crate::error::Error;
use crate::lexer::{Spanned, Token, tokenize};
use crate::statement::{Function, Space, Text, Variable};

/// Parses a whole PTX text.
pub fn parse(text: &str) -> Result<Text, Error> {
    let mut parser = Parser { tokens: tokenize(text)?, position: 0 };
    parser.header()?;
    let mut parsed = Text::default();
    while parser.peek().is_some() {
        parser.module_item(&mut parsed)?;
    }
    Ok(parsed)
}

struct Parser {
    tokens: Vec<Spanned>,
    position: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position).map(|spanned| &spanned.token)
    }

    fn line(&self) -> u32 {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens.get(self.position.min(last)).map_or(1, |spanned| spanned.line)
    }

    fn error<T>(&self, expected: &str) -> Result<T, Error> {
        let found = match self.peek() {
            Some(Token::Word(text) | Token::Directive(text)) => format!("'{text}'"),
            Some(Token::Symbol(symbol)) => format!("'{symbol}'"),
            Some(Token::Integer(value)) => format!("{value}"),
            Some(other) => format!("{other:?}"),
            None => "the end of the text".into(),
        };
        Err(Error::new(self.line(), format!("expected {expected}, found {found}")))
    }

    fn symbol(&mut self, symbol: char) -> Result<(), Error> {
        if self.accept(symbol) { Ok(()) } else { self.error(&format!("'{symbol}'")) }
    }

    fn accept(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(&Token::Symbol(symbol));
        self.position += usize::from(found);
        found
    }

    fn directive(&mut self) -> Option<String> {
        let Some(Token::Directive(name)) = self.peek() else { return None };
        let name = name.clone();
        self.position += 1;
        Some(name)
    }

    fn accept_directive(&mut self, name: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Directive(found)) if found == name);
        self.position += usize::from(found);
        found
    }

    fn word(&mut self, what: &str) -> Result<String, Error> {
        let Some(Token::Word(word)) = self.peek() else { return self.error(what) };
        let word = word.clone();
        self.position += 1;
        Ok(word)
    }

    fn integer(&mut self) -> Result<u64, Error> {
        let Some(&Token::Integer(value)) = self.peek() else { return self.error("an integer") };
        self.position += 1;
        Ok(value)
    }

    fn small(&mut self) -> Result<u32, Error> {
        let line = self.line();
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| Error::new(line, format!("{value} is too large here")))
    }

    /// `.version`, `.target` and `.address_size 64` in this order.
    fn header(&mut self) -> Result<(), Error> {
        if !self.accept_directive(".version") {
            return self.error(".version");
        }
        let Some(Token::Double(_)) = self.peek() else { return self.error("a version such as 7.0") };
        self.position += 1;
        if !self.accept_directive(".target") {
            return self.error(".target");
        }
        self.word("a target such as sm_80")?;
        while self.accept(',') {
            self.word("a target option")?;
        }
        if !self.accept_directive(".address_size") {
            return self.error(".address_size 64");
        }
        let line = self.line();
        match self.integer()? {
            64 => Ok(()),
            other => Err(Error::new(line, format!(".address_size {other}: only 64 is interpreted"))),
        }
    }

    fn module_item(&mut self, parsed: &mut Text) -> Result<(), Error> {
        let mut external = false;
        loop {
            let start = self.position;
            let Some(name) = self.directive() else { return self.error("a directive") };
            match name.as_str() {
                ".visible" | ".weak" | ".common" => {}
                ".extern" => external = true,
                ".entry" | ".func" => {
                    let function = self.function(name == ".entry")?;
                    parsed.functions.push(function);
                    return Ok(());
                }
                ".global" | ".const" | ".shared" => {
                    let space = match name.as_str() {
                        ".global" => Space::Global,
                        ".const" => Space::Constant,
                        _ => Space::Shared,
                    };
                    let variables = self.variables(space, external)?;
                    parsed.variables.extend(variables);
                    return Ok(());
                }
                ".file" | ".pragma" => {
                    let line = self.line();
                    while self.peek().is_some() && self.line() == line {
                        self.position += 1;
                    }
                    return Ok(());
                }
                _ => {
                    self.position = start;
                    return self.error("a kernel, a function, or a variable");
                }
            }
        }
    }

    fn function(&mut self, entry: bool) -> Result<Function, Error> {
        let returns = if !entry && self.peek() == Some(&Token::Symbol('(')) { self.parameters()? } else { Vec::new() };
        let name = self.word("the name of the function")?;
        let parameters = if self.peek() == Some(&Token::Symbol('(')) { self.parameters()? } else { Vec::new() };
        let mut function = Function { name, entry, parameters, returns, body: Vec::new(), block_limit: None };
        while let Some(directive) = self.directive() {
            match directive.as_str() {
                ".maxntid" | ".reqntid" => {
                    let mut limit = [self.small()?, 1, 1];
                    for slot in limit.iter_mut().skip(1) {
                        if self.accept(',') {
                            *slot = self.small()?;
                        }
                    }
                    function.block_limit = Some((limit, directive == ".reqntid"));
                }
                ".minnctapersm" | ".maxnctapersm" | ".maxnreg" => {
                    self.small()?;
                }
                ".noreturn" => {}
                _ => {
                    self.position -= 1;
                    return self.error("a performance directive or '{'");
                }
            }
        }
        if self.accept(';') {
            return Ok(function);
        }
        self.symbol('{')?;
        function.body = self.body()?;
        Ok(function)
    }

    fn parameters(&mut self) -> Result<Vec<Variable>, Error> {
        self.symbol('(')?;
        let mut parameters = Vec::new();
        while !self.accept(')') {
            if !parameters.is_empty() {
                self.symbol(',')?;
            }
            parameters.push(self.parameter()?);
        }
        Ok(parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

    #[test]
    fn a_kernel_with_every_kind_of_declaration() {
        let text = format!(
            "{HEADER}.const .align 4 .b8 table[8] = {{1, 2, 0xff}};
            .extern .shared .align 16 .b8 dynamic[];
            .global .f32 scale = 0f3F800000;
            .visible .entry k(.param .u64 .ptr .global .align 16 x, .param .align 8 .b8 s[24]) .maxntid 128, 2 {{
                .reg .f32 %f<3>, %g;
                .shared .f32 tile[4][8];
                loop: @!%p1 bra loop;
                ld.global.v2.f32 {{%f0, %f1}}, [%rd1+-16];
                {{ call (r), f, (a, b); }}
            }}"
        );
        let parsed = parse(&text).unwrap();
        assert_eq!(parsed.variables.len(), 3);
        assert_eq!(parsed.variables[0].initializer, [1, 2, 0xff]);
        assert_eq!(parsed.variables[2].initializer, 1.0f32.to_le_bytes());
        let kernel = &parsed.functions[0];
        assert_eq!(kernel.block_limit, Some(([128, 2, 1], false)));
        assert_eq!((kernel.parameters[0].pointer_align, kernel.parameters[1].bytes), (16, 24));
        assert_eq!(kernel.body.len(), 8);
    }

    #[test]
    fn errors_name_line_and_expectation() {
        let error = parse(&format!("{HEADER}.visible .entry k() {{\n mov.u32 %r1 5;\n}}")).unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (5, "expected ',' or ';', found 5"));
        assert!(parse(".target sm_80").is_err());
        assert!(parse(&format!("{HEADER}.visible .entry k() {{ ret;")).is_err());
    }
}
