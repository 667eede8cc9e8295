//! Identifiers of C, C++ and Rust made from the names in a model, which may be any text.

use std::collections::BTreeSet;

/// Longest identifier made, without a number that makes it unique.
const GREATEST_LENGTH: usize = 60;

/// Words that are no identifiers in C, C++ or Rust, and macros that compilers and usual headers define.
const RESERVED: &str = "alignas alignof and and_eq as asm async auto await become bitand bitor bool box break case catch \
    char char16_t char32_t char8_t class co_await co_return co_yield compl complex concept const const_cast consteval \
    constexpr constinit continue crate decltype default delete do double dyn dynamic_cast else enum errno explicit export \
    extern false final float fn for friend gen goto i386 if impl import in inline int let linux long loop macro match mod \
    module move mut mutable namespace new noexcept not not_eq nullptr operator or or_eq override priv private protected pub \
    public ref register reinterpret_cast requires restrict return self short signed sizeof static static_assert \
    static_cast struct super switch template this thread_local throw trait true try type typedef typeid typename typeof \
    union unix unsafe unsigned unsized use using virtual void volatile wchar_t where while xor xor_eq yield Self NULL EOF I";

/// Whether `name` can begin the symbols of a model: a letter, then letters, digits and underscores, and no reserved word.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is_reserved(name)
}

fn is_reserved(name: &str) -> bool {
    RESERVED.split_whitespace().any(|word| word == name)
}

/// Makes identifiers that differ from one another.
#[derive(Default)]
pub(super) struct Identifiers {
    taken: BTreeSet<String>,
}

impl Identifiers {
    /// Identifiers that also differ from those that generated code uses itself.
    pub fn avoiding(own: &[&str]) -> Self {
        Self { taken: own.iter().map(|&name| name.to_owned()).collect() }
    }

    /// A new identifier that resembles `name`.
    pub fn make(&mut self, name: &str) -> String {
        let cleaned: String =
            name.chars().take(GREATEST_LENGTH).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let cleaned = cleaned.trim_start_matches('_');
        let mut base = match cleaned.chars().next() {
            None => "tensor".to_owned(),
            Some(first) if first.is_ascii_digit() => format!("tensor_{cleaned}"),
            Some(_) => cleaned.to_owned(),
        };
        if is_reserved(&base) {
            base.push('_');
        }
        let unique = std::iter::once(base.clone())
            .chain((2..).map(|number| format!("{}_{number}", base.trim_end_matches('_'))))
            .find(|candidate| !self.taken.contains(candidate))
            .unwrap_or(base);
        self.taken.insert(unique.clone());
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_real_models() {
        let mut identifiers = Identifiers::avoiding(&["context"]);
        let made: Vec<String> =
            ["53", "x.1", "x_1", "x:1", "class", "class", "", "_", "__x", "größe", "context", "int"]
                .iter()
                .map(|name| identifiers.make(name))
                .collect();
        let expected = [
            "tensor_53",
            "x_1",
            "x_1_2",
            "x_1_3",
            "class_",
            "class_2",
            "tensor",
            "tensor_2",
            "x",
            "gr__e",
            "context_2",
            "int_",
        ];
        assert_eq!(made, expected);
    }

    #[test]
    fn names_of_models() {
        assert!(is_identifier("digits_2"));
        for name in ["", "2d", "_x", "a-b", "int", "größe"] {
            assert!(!is_identifier(name), "{name}");
        }
    }
}
