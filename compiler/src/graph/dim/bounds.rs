//! Intervals of values that expressions can take.

use super::operator::BinaryOperator;
use super::polynomial::{Atom, Polynomial, Term};
use super::{Dim, SymbolId};

/// Bounds of symbols, both inclusive.
pub trait Bounds {
    /// The least value the symbol takes; `i64::MIN` if unbounded.
    fn minimum(&self, id: SymbolId) -> i64;
    /// The greatest value the symbol takes, if bounded.
    fn maximum(&self, id: SymbolId) -> Option<i64>;
}

/// The bounds that symbols carry in their ids.
pub struct DefaultBounds;

impl Bounds for DefaultBounds {
    fn minimum(&self, id: SymbolId) -> i64 {
        id.minimum()
    }

    fn maximum(&self, _: SymbolId) -> Option<i64> {
        None
    }
}

/// Beyond the product of any two finite ends that matter; stands for infinity.
const INFINITY: i128 = 1 << 100;

/// An inclusive interval; ends at ±`INFINITY` are open.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Range {
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Range {
    pub(super) const ALL: Range = Range { low: -INFINITY, high: INFINITY };

    pub(super) fn exactly(value: i128) -> Range {
        Range::new(value, value)
    }

    pub(super) fn new(low: i128, high: i128) -> Range {
        Range { low: low.clamp(-INFINITY, INFINITY), high: high.clamp(-INFINITY, INFINITY) }
    }

    pub(super) fn lower_bound(self) -> Option<i64> {
        i64::try_from(self.low).ok()
    }

    pub(super) fn upper_bound(self) -> Option<i64> {
        i64::try_from(self.high).ok()
    }

    pub(super) fn add(self, other: Range) -> Range {
        let low = if self.low == -INFINITY || other.low == -INFINITY { -INFINITY } else { self.low + other.low };
        let high = if self.high == INFINITY || other.high == INFINITY { INFINITY } else { self.high + other.high };
        Range::new(low, high)
    }

    pub(super) fn multiply(self, other: Range) -> Range {
        let corners = [
            self.low.saturating_mul(other.low),
            self.low.saturating_mul(other.high),
            self.high.saturating_mul(other.low),
            self.high.saturating_mul(other.high),
        ];
        Range::new(corners.into_iter().fold(i128::MAX, i128::min), corners.into_iter().fold(i128::MIN, i128::max))
    }

    fn union(self, other: Range) -> Range {
        Range::new(self.low.min(other.low), self.high.max(other.high))
    }

    fn intersect(self, other: Range) -> Range {
        Range::new(self.low.max(other.low), self.high.min(other.high))
    }

    /// `[-m, m]` with m the greatest magnitude in the interval.
    fn symmetric(self) -> Range {
        let magnitude = self.low.abs().max(self.high.abs());
        Range::new(-magnitude, magnitude)
    }

    fn floor_div(self, divisor: Range) -> Range {
        const ZERO: Range = Range { low: 0, high: 0 };
        if divisor.low < 0 {
            return self.symmetric();
        }
        if divisor.low == 0 {
            return if divisor.high == 0 { ZERO } else { self.floor_div(Range { low: 1, ..divisor }).union(ZERO) };
        }
        let low = match self.low {
            low if low == -INFINITY => -INFINITY,
            low => low.div_euclid(if low >= 0 { divisor.high } else { divisor.low }),
        };
        let high = match self.high {
            high if high == INFINITY => INFINITY,
            high => high.div_euclid(if high >= 0 { divisor.low } else { divisor.high }),
        };
        Range::new(low, high)
    }

    fn modulo(self, divisor: Range) -> Range {
        let high = if divisor.high == INFINITY { INFINITY } else { (divisor.high - 1).max(0) };
        let low = if divisor.low == -INFINITY { -INFINITY } else { (divisor.low + 1).min(0) };
        let range = Range::new(low, high);
        if self.low >= 0 && divisor.low >= 0 { range.intersect(Range::new(0, self.high)) } else { range }
    }

    fn trunc_rem(self, divisor: Range) -> Range {
        let dividend = Range::new(self.low.min(0), self.high.max(0));
        let magnitude = divisor.symmetric().high;
        if magnitude == INFINITY {
            return dividend;
        }
        let magnitude = (magnitude - 1).max(0);
        dividend.intersect(Range::new(-magnitude, magnitude))
    }
}

/// The interval of `operator(a, b)`.
fn binary(operator: BinaryOperator, a: Range, b: Range) -> Range {
    match operator {
        BinaryOperator::FloorDiv => a.floor_div(b),
        BinaryOperator::Modulo => a.modulo(b),
        BinaryOperator::TruncDiv => a.symmetric(),
        BinaryOperator::TruncRem => a.trunc_rem(b),
        BinaryOperator::Max => Range::new(a.low.max(b.low), a.high.max(b.high)),
        BinaryOperator::Min => Range::new(a.low.min(b.low), a.high.min(b.high)),
        BinaryOperator::Equal | BinaryOperator::Less => Range::new(0, 1),
    }
}

/// `bounds` of `None` takes the intervals kept in the expressions, which follow from the symbols' ids.
fn atom(atom: &Atom, bounds: Option<&dyn Bounds>) -> Range {
    match atom {
        Atom::Symbol(id) => match bounds {
            None if id.minimum() == i64::MIN => Range::ALL,
            None => Range::new(id.minimum().into(), INFINITY),
            Some(bounds) => {
                let minimum = bounds.minimum(*id).max(id.minimum());
                let low = if minimum == i64::MIN { -INFINITY } else { minimum.into() };
                Range::new(low, bounds.maximum(*id).map_or(INFINITY, i128::from))
            }
        },
        Atom::Binary(operator, a, b) => binary(*operator, dim(a, bounds), dim(b, bounds)),
        Atom::Group(inner) => dim(inner, bounds),
    }
}

/// The interval of the product of `factors`, in canonical order.
pub(super) fn product(factors: &[Atom], bounds: Option<&dyn Bounds>) -> Range {
    let mut range = Range::exactly(1);
    for run in factors.chunk_by(|a, b| a == b) {
        let factor = atom(&run[0], bounds);
        let mut power = run.iter().fold(Range::exactly(1), |power, _| power.multiply(factor));
        if run.len() % 2 == 0 {
            power = power.intersect(Range::new(0, INFINITY));
        }
        range = range.multiply(power);
    }
    range
}

pub(super) fn sum(terms: &[Term], constant: i64, bounds: Option<&dyn Bounds>) -> Range {
    terms.iter().fold(Range::exactly(constant.into()), |range, term| {
        range.add(product(&term.factors, bounds).multiply(Range::exactly(term.coefficient.into())))
    })
}

fn dim(dim: &Dim, bounds: Option<&dyn Bounds>) -> Range {
    match (dim, bounds) {
        (Dim::Const(value), _) => Range::exactly((*value).into()),
        (Dim::Unknown, _) => Range::ALL,
        (Dim::Expression(polynomial), None) => polynomial.range,
        (Dim::Expression(polynomial), Some(_)) => polynomial_range(polynomial, bounds),
    }
}

fn polynomial_range(polynomial: &Polynomial, bounds: Option<&dyn Bounds>) -> Range {
    sum(polynomial.terms(), polynomial.constant(), bounds).intersect(polynomial.range)
}

impl Dim {
    pub(super) fn range(&self) -> Range {
        dim(self, None)
    }

    /// A number that no value of the expression is below, by what the symbols' ids say.
    pub fn lower_bound(&self) -> Option<i64> {
        self.range().lower_bound()
    }

    /// A number that no value of the expression is above, by what the symbols' ids say.
    pub fn upper_bound(&self) -> Option<i64> {
        self.range().upper_bound()
    }

    /// As [`Dim::lower_bound`], with the bounds of a table.
    pub fn lower_bound_within(&self, bounds: &dyn Bounds) -> Option<i64> {
        dim(self, Some(bounds)).lower_bound()
    }

    /// As [`Dim::upper_bound`], with the bounds of a table.
    pub fn upper_bound_within(&self, bounds: &dyn Bounds) -> Option<i64> {
        dim(self, Some(bounds)).upper_bound()
    }

    /// Whether the value is at least 0 whatever the symbols are.
    pub fn is_nonnegative(&self) -> bool {
        self.range().low >= 0
    }

    /// Whether the value is at least 1 whatever the symbols are.
    pub fn is_positive(&self) -> bool {
        self.range().low >= 1
    }

    /// Whether both have the same value whatever the symbols are.
    pub fn known_equal(&self, other: &Dim) -> bool {
        *self != Dim::Unknown && (self == other || self.difference_range(other) == Range::exactly(0))
    }

    /// Whether the values differ whatever the symbols are.
    pub fn known_unequal(&self, other: &Dim) -> bool {
        let difference = self.difference_range(other);
        difference.low > 0 || difference.high < 0
    }

    /// Whether `self < other` whatever the symbols are.
    pub fn known_less(&self, other: &Dim) -> bool {
        self.difference_range(other).high < 0
    }

    /// Whether `self >= other` whatever the symbols are.
    pub fn provably_ge(&self, other: &Dim) -> bool {
        self.difference_range(other).low >= 0
    }
}
