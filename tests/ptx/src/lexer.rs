//! Splits PTX text into tokens.

use crate::error::Error;

/// One token of PTX text.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A name or an opcode with its modifiers: `%f1`, `$done`, `ld.global.f32`, `%tid.x`.
    Word(String),
    /// A directive with its dot: `.reg`, `.f32`. Directives written without a space between them are split.
    Directive(String),
    /// An integer literal.
    Integer(u64),
    /// `0f` followed by the eight hexadecimal digits of a single.
    Single(f32),
    /// `0d` followed by the sixteen hexadecimal digits of a double, or a decimal literal.
    Double(f64),
    /// Text in double quotes.
    Text(String),
    /// One character of punctuation.
    Symbol(char),
}

/// A token and the line it stands on.
#[derive(Clone, Debug)]
pub struct Spanned {
    /// The token.
    pub token: Token,
    /// Line from 1.
    pub line: u32,
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

fn is_word_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// Splits `text` into tokens; comments and blanks are dropped. A NUL ends the text, as it does for the driver.
pub fn tokenize(text: &str) -> Result<Vec<Spanned>, Error> {
    let bytes = text.split('\0').next().unwrap_or("").as_bytes();
    let mut lexer = Lexer { bytes, position: 0, line: 1, tokens: Vec::new() };
    while lexer.position < bytes.len() {
        lexer.step()?;
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    bytes: &'a [u8],
    position: usize,
    line: u32,
    tokens: Vec<Spanned>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.position + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, token: Token) {
        self.tokens.push(Spanned { token, line: self.line });
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> String {
        let start = self.position;
        while self.position < self.bytes.len() && keep(self.bytes[self.position]) {
            self.position += 1;
        }
        String::from_utf8_lossy(&self.bytes[start..self.position]).into_owned()
    }

    fn step(&mut self) -> Result<(), Error> {
        match self.peek(0) {
            b'\n' => {
                self.line += 1;
                self.position += 1;
            }
            byte if byte.is_ascii_whitespace() => self.position += 1,
            b'/' if self.peek(1) == b'/' => {
                self.take_while(|byte| byte != b'\n');
            }
            b'/' if self.peek(1) == b'*' => self.block_comment()?,
            b'"' => {
                self.position += 1;
                let text = self.take_while(|byte| byte != b'"' && byte != b'\n');
                if self.peek(0) != b'"' {
                    return Err(Error::new(self.line, "text in quotes does not end on its line"));
                }
                self.position += 1;
                self.push(Token::Text(text));
            }
            b'.' if is_word_start(self.peek(1)) => {
                self.position += 1;
                let name = self.take_while(is_word_part);
                self.push(Token::Directive(format!(".{name}")));
            }
            byte if is_word_start(byte) => self.word(),
            byte if byte.is_ascii_digit() => self.number()?,
            byte if byte.is_ascii() => {
                self.push(Token::Symbol(char::from(byte)));
                self.position += 1;
            }
            _ => return Err(Error::new(self.line, "a character outside ASCII")),
        }
        Ok(())
    }

    fn block_comment(&mut self) -> Result<(), Error> {
        let start = self.line;
        while !(self.peek(0) == b'*' && self.peek(1) == b'/') {
            if self.position >= self.bytes.len() {
                return Err(Error::new(start, "a comment does not end"));
            }
            self.line += u32::from(self.peek(0) == b'\n');
            // The opening "/*" is skipped as two plain bytes; "/*/" therefore does not close itself.
            self.position += if self.peek(0) == b'/' && self.peek(1) == b'*' { 2 } else { 1 };
        }
        self.position += 2;
        Ok(())
    }

    fn word(&mut self) {
        let mut word = String::new();
        word.push(char::from(self.peek(0)));
        self.position += 1;
        word += &self.take_while(is_word_part);
        loop {
            if self.peek(0) == b'.' && is_word_part(self.peek(1)) {
                self.position += 1;
                word.push('.');
            } else if self.peek(0) == b':' && self.peek(1) == b':' && is_word_part(self.peek(2)) {
                self.position += 2;
                word += "::";
            } else {
                break;
            }
            word += &self.take_while(is_word_part);
        }
        self.push(Token::Word(word));
    }

    fn number(&mut self) -> Result<(), Error> {
        let line = self.line;
        let mut text = self.take_while(is_word_part);
        let bad = |text: &str| Error::new(line, format!("{text} is not a number"));
        if let Some(digits) = text.strip_prefix("0f").or(text.strip_prefix("0F")) {
            let bits = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 8).ok_or_else(|| bad(&text))?;
            self.push(Token::Single(f32::from_bits(bits)));
            return Ok(());
        }
        if let Some(digits) = text.strip_prefix("0d").or(text.strip_prefix("0D")) {
            let bits = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16).ok_or_else(|| bad(&text))?;
            self.push(Token::Double(f64::from_bits(bits)));
            return Ok(());
        }
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.position += 1;
            text.push('.');
            text += &self.take_while(is_word_part);
            self.push(Token::Double(text.parse().map_err(|_| bad(&text))?));
            return Ok(());
        }
        let digits = text.strip_suffix('U').unwrap_or(&text);
        let value = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2),
            [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
            _ => digits.parse(),
        };
        self.push(Token::Integer(value.map_err(|_| bad(&text))?));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_directives_and_numbers_are_told_apart() {
        let tokens = tokenize("/* a\n b */ ld.global.v4.f32 %f1, .param.u64 0x1F 0f3F800000 // end").unwrap();
        let kinds: Vec<_> = tokens.iter().map(|spanned| spanned.token.clone()).collect();
        assert_eq!(
            kinds,
            [
                Token::Word("ld.global.v4.f32".into()),
                Token::Word("%f1".into()),
                Token::Symbol(','),
                Token::Directive(".param".into()),
                Token::Directive(".u64".into()),
                Token::Integer(31),
                Token::Single(1.0),
            ]
        );
        assert_eq!(tokens[0].line, 2);
    }

    #[test]
    fn bad_numbers_name_their_line() {
        assert_eq!(tokenize("\n0f12").unwrap_err().line, 2);
        assert_eq!(tokenize("\n\n12q").unwrap_err().line, 3);
        assert!(tokenize("/* open").is_err());
    }
}
