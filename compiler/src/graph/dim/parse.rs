//! Reading of expressions.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = unary { ("*" | "//" | "%") unary }
//! unary   = "-" unary | factor
//! factor  = number | name | "`" name "`" | "?"
//!         | "(" sum [ ("==" | "!=" | "<=" | "<" | ">=" | ">") sum ] ")"
//!         | ("floor" | "ceil" | "trunc") "(" product "/" unary ")"
//!         | ("max" | "min" | "rem") "(" sum "," sum ")" | "group" "(" sum ")"
//! ```
//!
//! `//` and `%` round down.

use super::polynomial::Atom;
use super::text::{RESERVED, is_name_character, is_name_start};
use super::{CompareOperator, Dim, Symbols};
use std::fmt;

/// Deeper nesting is refused.
const MAX_NESTING: usize = 200;

/// Why a text is no expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseDimError {
    /// Byte offset in the text.
    pub position: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for ParseDimError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "expected {} at byte {} of the dimension", self.expected, self.position)
    }
}

impl std::error::Error for ParseDimError {}

impl Dim {
    /// Reads an expression; names that `symbols` lacks are added with bounds `0..`.
    pub fn parse(text: &str, symbols: &mut Symbols) -> Result<Dim, ParseDimError> {
        let mut parser = Parser { text, position: 0, nesting: 0, symbols };
        let dim = parser.sum()?;
        parser.skip_spaces();
        if parser.position < text.len() { parser.fail("an operator or the end") } else { Ok(dim) }
    }
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    nesting: usize,
    symbols: &'a mut Symbols,
}

type Parsed = Result<Dim, ParseDimError>;

impl Parser<'_> {
    fn fail<T>(&self, expected: &'static str) -> Result<T, ParseDimError> {
        Err(ParseDimError { position: self.position, expected })
    }

    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn skip_spaces(&mut self) {
        self.position = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    fn expect(&mut self, token: &'static str) -> Result<(), ParseDimError> {
        if self.eat(token) { Ok(()) } else { self.fail(token) }
    }

    fn sum(&mut self) -> Parsed {
        let mut sum = self.product()?;
        loop {
            if self.eat("+") {
                sum = sum + self.product()?;
            } else if self.eat("-") {
                sum = sum - self.product()?;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Parsed {
        let mut product = self.unary()?;
        loop {
            if self.eat("*") {
                product = product * self.unary()?;
            } else if self.eat("//") {
                product = product.floor_div(&self.unary()?);
            } else if self.eat("%") {
                product = product.modulo(&self.unary()?);
            } else {
                return Ok(product);
            }
        }
    }

    /// Every cycle of the grammar passes here, so this is where nesting is counted.
    fn unary(&mut self) -> Parsed {
        if self.nesting >= MAX_NESTING {
            return self.fail("less nesting");
        }
        self.nesting += 1;
        let negative = self.eat("-");
        self.skip_spaces();
        let dim = if self.rest().starts_with(|character: char| character.is_ascii_digit()) {
            self.number(negative)?
        } else if negative {
            -self.unary()?
        } else {
            self.factor()?
        };
        self.nesting -= 1;
        Ok(dim)
    }

    fn number(&mut self, negative: bool) -> Parsed {
        let length = self.rest().find(|character: char| !character.is_ascii_digit()).unwrap_or(self.rest().len());
        let value: Option<i128> = self.rest()[..length].parse().ok();
        match value.and_then(|value| i64::try_from(if negative { -value } else { value }).ok()) {
            Some(value) => {
                self.position += length;
                Ok(Dim::Const(value))
            }
            None => self.fail("a number of 64 bits"),
        }
    }

    fn factor(&mut self) -> Parsed {
        if self.eat("?") {
            return Ok(Dim::Unknown);
        }
        if self.eat("(") {
            let mut dim = self.sum()?;
            if let Some(operator) = self.comparison() {
                dim = dim.compare(operator, &self.sum()?);
            }
            self.expect(")")?;
            return Ok(dim);
        }
        if self.eat("`") {
            return self.quoted_name();
        }
        if !self.rest().starts_with(is_name_start) {
            return self.fail("a number, a name or a parenthesis");
        }
        let length = self.rest().find(|character| !is_name_character(character)).unwrap_or(self.rest().len());
        let name = self.rest()[..length].to_string();
        self.position += length;
        if RESERVED.contains(&&name[..]) { self.call(&name) } else { Ok(Dim::symbol(self.symbols.named(&name))) }
    }

    fn comparison(&mut self) -> Option<CompareOperator> {
        let operators = [
            ("==", CompareOperator::Equal),
            ("!=", CompareOperator::NotEqual),
            ("<=", CompareOperator::LessEqual),
            ("<", CompareOperator::Less),
            (">=", CompareOperator::GreaterEqual),
            (">", CompareOperator::Greater),
        ];
        operators.into_iter().find(|(token, _)| self.eat(token)).map(|(_, operator)| operator)
    }

    /// After the opening quote; two quotes stand for one in the name.
    fn quoted_name(&mut self) -> Parsed {
        let mut name = String::new();
        loop {
            let Some(length) = self.rest().find('`') else { return self.fail("a closing quote") };
            let end = self.position + length;
            name.push_str(&self.text[self.position..end]);
            self.position = end + 1;
            if !self.rest().starts_with('`') {
                break;
            }
            name.push('`');
            self.position += 1;
        }
        if name.is_empty() { self.fail("a name") } else { Ok(Dim::symbol(self.symbols.named(&name))) }
    }

    fn call(&mut self, function: &str) -> Parsed {
        self.expect("(")?;
        let dim = match function {
            "floor" | "ceil" | "trunc" => {
                let dividend = self.product()?;
                self.expect("/")?;
                let divisor = self.unary()?;
                match function {
                    "floor" => dividend.floor_div(&divisor),
                    "ceil" => dividend.ceil_div(&divisor),
                    _ => dividend.trunc_div(&divisor),
                }
            }
            "group" => match self.sum()? {
                group @ Dim::Expression(_) => Dim::from_atom(Atom::Group(group)),
                other => other,
            },
            _ => {
                let first = self.sum()?;
                self.expect(",")?;
                let second = self.sum()?;
                match function {
                    "max" => first.max(&second),
                    "min" => first.min(&second),
                    _ => first.trunc_rem(&second),
                }
            }
        };
        self.expect(")")?;
        Ok(dim)
    }
}
