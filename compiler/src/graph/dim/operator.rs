//! The operators that do not expand into sums of products.

/// Operators between two integers. [`BinaryOperator::apply`] is their definition, which generated code follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BinaryOperator {
    /// Quotient rounded down; 0 when the divisor is 0.
    FloorDiv,
    /// Remainder of [`BinaryOperator::FloorDiv`], of the divisor's sign; 0 when the divisor is 0.
    Modulo,
    /// Quotient rounded towards zero; 0 when the divisor is 0.
    TruncDiv,
    /// Remainder of [`BinaryOperator::TruncDiv`], of the dividend's sign; 0 when the divisor is 0.
    TruncRem,
    /// The greater value.
    Max,
    /// The lesser value.
    Min,
    /// 1 if the values are equal, else 0.
    Equal,
    /// 1 if the first value is less than the second, else 0.
    Less,
}

impl BinaryOperator {
    /// The operator's value. `i64::MIN / -1` gives `i64::MAX`.
    pub fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            BinaryOperator::FloorDiv | BinaryOperator::TruncDiv | BinaryOperator::Modulo | BinaryOperator::TruncRem
                if b == 0 =>
            {
                0
            }
            BinaryOperator::FloorDiv => {
                let quotient = a.saturating_div(b);
                if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
            }
            BinaryOperator::Modulo => {
                let remainder = a.wrapping_rem(b);
                if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
            }
            BinaryOperator::TruncDiv => a.saturating_div(b),
            BinaryOperator::TruncRem => a.wrapping_rem(b),
            BinaryOperator::Max => a.max(b),
            BinaryOperator::Min => a.min(b),
            BinaryOperator::Equal => (a == b).into(),
            BinaryOperator::Less => (a < b).into(),
        }
    }
}

/// Comparisons for [`super::Dim::compare`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CompareOperator {
    /// `a == b`
    Equal,
    /// `a != b`
    NotEqual,
    /// `a < b`
    Less,
    /// `a <= b`
    LessEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterEqual,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_follow_their_signs() {
        for (a, b) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3)] {
            let floor = BinaryOperator::FloorDiv.apply(a, b);
            assert_eq!(floor, (a as f64 / b as f64).floor() as i64);
            assert_eq!(BinaryOperator::Modulo.apply(a, b), a - floor * b);
            assert_eq!(BinaryOperator::TruncDiv.apply(a, b), a / b);
            assert_eq!(BinaryOperator::TruncRem.apply(a, b), a % b);
        }
    }

    #[test]
    fn no_division_traps() {
        for operator in [BinaryOperator::FloorDiv, BinaryOperator::Modulo, BinaryOperator::TruncDiv] {
            assert_eq!(operator.apply(5, 0), 0);
        }
        assert_eq!(BinaryOperator::FloorDiv.apply(i64::MIN, -1), i64::MAX);
        assert_eq!(BinaryOperator::TruncRem.apply(i64::MIN, -1), 0);
    }
}
