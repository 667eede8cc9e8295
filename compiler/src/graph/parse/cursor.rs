//! A place in the text of a graph, and the tokens read there.

use std::fmt;

use crate::graph::{Dim, ElementType, Symbols};

/// Why a text is no graph.
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

pub(super) type Parsed<T> = Result<T, ParseError>;

pub(super) struct Cursor<'t> {
    text: &'t str,
    position: usize,
}

fn in_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// What numbers, infinities included, are made of beside letters and digits.
fn in_number(character: char) -> bool {
    in_word(character) || matches!(character, '.' | '+' | '-')
}

impl<'t> Cursor<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, position: 0 }
    }

    pub fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let line = 1 + self.text[..self.position].matches('\n').count();
        Err(ParseError { line, message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
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

    /// Whether `token` is next.
    pub fn peek(&mut self, token: &str) -> bool {
        self.skip();
        self.rest().strip_prefix(token).is_some_and(|after| !(token.ends_with(in_word) && after.starts_with(in_word)))
    }

    /// Takes `token`, which must not be followed by a letter or digit if it ends in one.
    pub fn eat(&mut self, token: &str) -> bool {
        let found = self.peek(token);
        if found {
            self.position += token.len();
        }
        found
    }

    pub fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    /// Letters, digits, `_`, and dots between them.
    pub fn word(&mut self) -> Parsed<String> {
        self.skip();
        let is_part = |character: char| in_word(character) || character == '.';
        let length = self.rest().find(|character| !is_part(character)).unwrap_or(self.rest().len());
        if length == 0 {
            return self.expected("a word");
        }
        let word = self.rest()[..length].to_owned();
        self.position += length;
        Ok(word)
    }

    /// A number or a name that `parse` understands.
    pub fn parsed<T>(&mut self, what: &str, parse: impl FnOnce(&str) -> Option<T>) -> Parsed<T> {
        self.skip();
        let length = self.rest().find(|character| !in_number(character)).unwrap_or(self.rest().len());
        match parse(&self.rest()[..length]) {
            Some(value) => {
                self.position += length;
                Ok(value)
            }
            None => self.expected(what),
        }
    }

    /// The name of a region, with its opening brace, if one is next.
    pub fn region_name(&mut self) -> Option<String> {
        self.skip();
        let length = self.rest().find(|character| !in_word(character)).filter(|&length| length > 0)?;
        let name = &self.rest()[..length];
        let after = self.rest()[length..].trim_start();
        let brace = self.text.len() - after.len();
        if !after.starts_with('{') {
            return None;
        }
        self.position = brace + 1;
        Some(name.to_owned())
    }

    /// Whether an element type with a shape is next.
    pub fn starts_tensor(&mut self) -> bool {
        self.skip();
        let length = self.rest().find('[').unwrap_or(0);
        ElementType::from_name(&self.rest()[..length]).is_some()
    }

    /// A quoted name.
    pub fn string(&mut self) -> Parsed<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes).or_else(|_| self.fail("a name is not valid UTF-8"))
    }

    /// A quoted string with the escapes of Rust.
    pub fn bytes(&mut self) -> Parsed<Vec<u8>> {
        self.skip();
        let Some(inner) = self.rest().strip_prefix('"') else { return self.expected("a quoted string") };
        let mut bytes = Vec::new();
        let mut characters = inner.char_indices();
        let mut encoded = [0; 4];
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.position += at + 2;
                    return Ok(bytes);
                }
                '\\' => match escaped(&mut characters) {
                    Some(Escaped::Character(character)) => {
                        bytes.extend_from_slice(character.encode_utf8(&mut encoded).as_bytes());
                    }
                    Some(Escaped::Byte(byte)) => bytes.push(byte),
                    None => return self.fail("an escape is not understood"),
                },
                other => bytes.extend_from_slice(other.encode_utf8(&mut encoded).as_bytes()),
            }
        }
        self.fail("a quote is not closed")
    }

    /// Items in brackets, separated by commas.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.eat("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A dimension expression: up to a comma or a closing bracket outside of parentheses.
    pub fn dim(&mut self, symbols: &mut Symbols) -> Parsed<Dim> {
        self.skip();
        let (mut depth, mut quoted, mut length) = (0usize, false, self.rest().len());
        for (at, character) in self.rest().char_indices() {
            match character {
                '`' => quoted = !quoted,
                _ if quoted => {}
                '(' => depth += 1,
                ')' if depth > 0 => depth -= 1,
                ',' if depth > 0 => {}
                ',' | ')' | ']' | '\n' => {
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
}

enum Escaped {
    Character(char),
    Byte(u8),
}

/// What an escape stands for; the backslash has been read.
fn escaped(characters: &mut std::str::CharIndices<'_>) -> Option<Escaped> {
    Some(Escaped::Character(match characters.next()?.1 {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        'x' => {
            let digits = [characters.next()?.1, characters.next()?.1];
            let value = digits.iter().try_fold(0, |value, digit| Some(value * 16 + digit.to_digit(16)?))?;
            return u8::try_from(value).ok().map(Escaped::Byte);
        }
        'u' => {
            characters.next().filter(|(_, brace)| *brace == '{')?;
            let digits: String = characters.map(|(_, digit)| digit).take_while(|&digit| digit != '}').collect();
            char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
        }
        other => other,
    }))
}
