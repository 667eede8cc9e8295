//! A place in a text, and what is read there.

use std::fmt;

use super::scalar::parse_scalar;
use crate::graph::{Dim, ElementType, Symbols};
use crate::loops::Scalar;

/// Why a text is no kernel or program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

pub type Result<T> = std::result::Result<T, ParseError>;

/// Reads tokens. White space, line ends and comments from `;` to the end of the line separate them.
pub struct Cursor<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, position: 0 }
    }

    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        let line = 1 + self.text[..self.position].matches('\n').count();
        Err(ParseError { line, message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Result<T> {
        let rest: String = self.rest().chars().take_while(|&character| character != '\n').take(20).collect();
        self.fail(format!("{what} is expected, not `{rest}`"))
    }

    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn skip(&mut self) {
        loop {
            self.position = self.text.len() - self.rest().trim_start().len();
            if !self.rest().starts_with(';') {
                return;
            }
            self.position += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    pub fn at_end(&mut self) -> bool {
        self.skip();
        self.rest().is_empty()
    }

    /// Takes `token`, which must not be followed by a letter or digit if it ends in one.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let Some(after) = self.rest().strip_prefix(token) else { return false };
        let word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if token.ends_with(word) && after.starts_with(word) {
            return false;
        }
        self.position += token.len();
        true
    }

    pub fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    /// A word of letters, digits, `_`, `.` and `-`.
    pub fn word(&mut self) -> Result<&'t str> {
        self.skip();
        let plain = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
        let length = self.rest().find(|character| !plain(character)).unwrap_or(self.rest().len());
        if length == 0 {
            return self.expected("a word");
        }
        let word = &self.rest()[..length];
        self.position += length;
        Ok(word)
    }

    pub fn parsed<T>(&mut self, what: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        self.skip();
        let start = self.position;
        let word = self.word()?;
        match parse(word) {
            Some(value) => Ok(value),
            None => {
                self.position = start;
                self.expected(what)
            }
        }
    }

    pub fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        self.parsed("a number", |word| word.parse().ok())
    }

    /// A letter and a number, such as `e7`.
    pub fn id(&mut self, letter: char) -> Result<u32> {
        self.parsed(&format!("`{letter}` and a number"), |word| word.strip_prefix(letter)?.parse().ok())
    }

    pub fn element(&mut self) -> Result<ElementType> {
        self.parsed("an element type", ElementType::from_name)
    }

    pub fn scalar(&mut self, element: ElementType) -> Result<Scalar> {
        self.parsed(&format!("a constant of {element}"), |word| parse_scalar(element, word))
    }

    /// A plain or quoted name.
    pub fn name(&mut self) -> Result<String> {
        self.skip();
        let Some(inner) = self.rest().strip_prefix('"') else { return Ok(self.word()?.to_owned()) };
        let mut name = String::new();
        let mut characters = inner.char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.position += at + 2;
                    return Ok(name);
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => name.push('\n'),
                    Some((_, other)) => name.push(other),
                    None => break,
                },
                other => name.push(other),
            }
        }
        self.fail("a quote is not closed")
    }

    /// Items between `open` and `close`, separated by commas.
    pub fn list<T>(&mut self, open: &str, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A dimension expression: up to a comma, a closing bracket, an opening brace, a comment, or the end of the line,
    /// outside of parentheses.
    pub fn dim(&mut self, symbols: &mut Symbols) -> Result<Dim> {
        self.skip();
        let (mut depth, mut quoted, mut length) = (0usize, false, self.rest().len());
        for (at, character) in self.rest().char_indices() {
            match character {
                '`' => quoted = !quoted,
                _ if quoted => {}
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ',' if depth > 0 => {}
                ',' | ')' | ']' | '{' | '\n' | ';' => {
                    length = at;
                    break;
                }
                _ => {}
            }
        }
        match Dim::parse(self.rest()[..length].trim_end(), symbols) {
            Ok(dim) => {
                self.position += length;
                Ok(dim)
            }
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// `[2, n]`
    pub fn shape(&mut self, symbols: &mut Symbols) -> Result<Vec<Dim>> {
        self.list("[", "]", |cursor| cursor.dim(symbols))
    }
}
