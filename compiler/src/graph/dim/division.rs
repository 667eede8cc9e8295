//! Quotients and remainders.

use super::operator::BinaryOperator;
use super::polynomial::{Atom, Part, Term, gcd};
use super::{Dim, structure};

/// Steps after which exact division of sums gives up.
const MAX_DIVISION_STEPS: usize = 64;

impl Dim {
    /// The quotient rounded down; 0 where `divisor` is 0.
    pub fn floor_div(&self, divisor: &Dim) -> Dim {
        use BinaryOperator::FloorDiv;
        match (self, divisor) {
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Const(a), Dim::Const(b)) => Dim::Const(FloorDiv.apply(*a, *b)),
            (_, Dim::Const(0)) | (Dim::Const(0), _) => Dim::ZERO,
            (_, Dim::Const(1)) => self.clone(),
            (_, Dim::Const(divisor @ 2..)) => floor_div_by_positive(self, *divisor),
            (_, Dim::Const(divisor)) if *divisor > i64::MIN => (-self).floor_div(&Dim::Const(-divisor)),
            _ => {
                if let Some((dividend, divisor)) = reduce_fraction(self, divisor) {
                    return dividend.floor_div(&divisor);
                }
                floor_div_by_expression(self, divisor)
            }
        }
    }

    /// The quotient rounded up; 0 where `divisor` is 0.
    pub fn ceil_div(&self, divisor: &Dim) -> Dim {
        if divisor.is_positive() && !self.is_const() {
            return (self + divisor - 1).floor_div(divisor);
        }
        -(-self).floor_div(divisor)
    }

    /// The remainder of [`Dim::floor_div`], of the divisor's sign; 0 where `divisor` is 0.
    pub fn modulo(&self, divisor: &Dim) -> Dim {
        use BinaryOperator::Modulo;
        match (self, divisor) {
            (Dim::Unknown, _) | (_, Dim::Unknown) => Dim::Unknown,
            (Dim::Const(a), Dim::Const(b)) => Dim::Const(Modulo.apply(*a, *b)),
            (_, Dim::Const(-1..=1)) | (Dim::Const(0), _) => Dim::ZERO,
            (_, Dim::Const(divisor @ 2..)) => modulo_positive(self, *divisor),
            (_, Dim::Const(divisor)) if *divisor > i64::MIN => -(-self).modulo(&Dim::Const(-divisor)),
            _ if self.divide_exact(divisor).is_some() => Dim::ZERO,
            _ if self.is_nonnegative() && self.known_less(divisor) => self.clone(),
            _ => Dim::from_binary(Modulo, self, divisor),
        }
    }

    /// The quotient rounded towards zero, ONNX's `Div`; 0 where `divisor` is 0.
    pub fn trunc_div(&self, divisor: &Dim) -> Dim {
        use BinaryOperator::TruncDiv;
        match (self, divisor) {
            (Dim::Unknown, _) | (_, Dim::Unknown) => return Dim::Unknown,
            (Dim::Const(a), Dim::Const(b)) => return Dim::Const(TruncDiv.apply(*a, *b)),
            (_, Dim::Const(0)) => return Dim::ZERO,
            (_, Dim::Const(i64::MIN)) => return Dim::from_binary(TruncDiv, self, divisor),
            _ => {}
        }
        let (a, b) = (self.range(), divisor.range());
        if b.low < 0 && b.high <= 0 {
            -self.trunc_div(&-divisor)
        } else if a.low >= 0 && b.low >= 0 {
            self.floor_div(divisor)
        } else if a.high <= 0 && b.low >= 0 {
            -(-self).floor_div(divisor)
        } else {
            match self.divide_exact(divisor) {
                Some(quotient) if b.low > 0 => quotient,
                _ => Dim::from_binary(TruncDiv, self, divisor),
            }
        }
    }

    /// The remainder of [`Dim::trunc_div`], of the dividend's sign, ONNX's `Mod` with `fmod`; 0 where `divisor` is 0.
    pub fn trunc_rem(&self, divisor: &Dim) -> Dim {
        use BinaryOperator::TruncRem;
        match (self, divisor) {
            (Dim::Unknown, _) | (_, Dim::Unknown) => return Dim::Unknown,
            (Dim::Const(a), Dim::Const(b)) => return Dim::Const(TruncRem.apply(*a, *b)),
            (_, Dim::Const(0)) => return Dim::ZERO,
            (_, Dim::Const(i64::MIN)) => return Dim::from_binary(TruncRem, self, divisor),
            _ => {}
        }
        let (a, b) = (self.range(), divisor.range());
        if b.low < 0 && b.high <= 0 {
            self.trunc_rem(&-divisor)
        } else if a.low >= 0 && b.low >= 0 {
            self.modulo(divisor)
        } else if a.high <= 0 && b.low >= 0 {
            -(-self).modulo(divisor)
        } else if self.divide_exact(divisor).is_some() {
            Dim::ZERO
        } else {
            Dim::from_binary(TruncRem, self, divisor)
        }
    }

    /// The expression whose product with `divisor` is `self`, if division of their canonical forms finds one.
    pub fn divide_exact(&self, divisor: &Dim) -> Option<Dim> {
        if self.is_unknown() || divisor.is_unknown() || *divisor == Dim::ZERO {
            return None;
        }
        let divisor_lead = lead(divisor.parts())?;
        let (mut rest, mut quotient) = (self.clone(), Dim::ZERO);
        for _ in 0..MAX_DIVISION_STEPS {
            if rest == Dim::ZERO {
                return Some(quotient);
            }
            let step = Dim::from_parts(vec![divide_part(&lead(rest.parts())?, &divisor_lead)?]);
            rest = rest - &step * divisor;
            quotient = quotient + step;
        }
        None
    }
}

/// The greatest term: of the highest degree, and among those the first.
fn lead(parts: Vec<Part>) -> Option<Part> {
    parts.into_iter().min_by(|a, b| {
        b.factors.len().cmp(&a.factors.len()).then_with(|| structure::compare_products(&a.factors, &b.factors))
    })
}

fn divide_part(dividend: &Part, divisor: &Part) -> Option<Part> {
    if dividend.coefficient % divisor.coefficient != 0 {
        return None;
    }
    let mut factors = dividend.factors.clone();
    for factor in &divisor.factors {
        factors.remove(factors.binary_search_by(|candidate| structure::compare_atoms(candidate, factor)).ok()?);
    }
    Some(Part { factors, coefficient: dividend.coefficient / divisor.coefficient })
}

/// Divides both by their common content and makes the divisor's first coefficient positive.
fn reduce_fraction(dividend: &Dim, divisor: &Dim) -> Option<(Dim, Dim)> {
    let content = i128::from(gcd(dividend.content(), divisor.content()).max(1));
    let negative = divisor.parts().first().is_some_and(|part| part.coefficient < 0);
    let scale = if negative { -content } else { content };
    let divide = |dim: &Dim| -> Option<Dim> {
        let parts: Vec<Part> =
            dim.parts().into_iter().map(|part| Part { coefficient: part.coefficient / scale, ..part }).collect();
        parts.iter().all(Part::fits).then(|| Dim::from_parts(parts))
    };
    if scale == 1 { None } else { Some((divide(dividend)?, divide(divisor)?)) }
}

fn floor_div_by_expression(dividend: &Dim, divisor: &Dim) -> Dim {
    let range = divisor.range();
    if range.low > 0 || range.high < 0 {
        if let Some(quotient) = dividend.divide_exact(divisor) {
            return quotient;
        }
        // A divisor of one term divides some terms of the dividend and leaves the others.
        if let [divisor_part] = &divisor.parts()[..] {
            let (mut quotient, mut rest) = (Vec::new(), Vec::new());
            for part in dividend.parts() {
                match divide_part(&part, divisor_part) {
                    Some(part) => quotient.push(part),
                    None => rest.push(part),
                }
            }
            if !quotient.is_empty() {
                return Dim::from_parts(quotient) + Dim::from_parts(rest).floor_div(divisor);
            }
        }
    }
    if dividend.is_nonnegative() && dividend.known_less(divisor) {
        return Dim::ZERO;
    }
    Dim::from_binary(BinaryOperator::FloorDiv, dividend, divisor)
}

/// Coefficients of the terms with factors and `divisor` have this common divisor.
fn common_divisor(parts: &[Part], divisor: i64) -> i128 {
    let terms = parts.iter().filter(|part| !part.factors.is_empty());
    terms.fold(divisor.unsigned_abs(), |common, part| gcd(common, part.coefficient.unsigned_abs() as u64)).into()
}

fn floor_div_by_positive(dividend: &Dim, divisor: i64) -> Dim {
    let wide = i128::from(divisor);
    let (mut quotient, mut rest) = (Vec::new(), Vec::new());
    for part in dividend.parts() {
        let (whole, left) = if part.factors.is_empty() {
            (part.coefficient.div_euclid(wide), part.coefficient.rem_euclid(wide))
        } else {
            (part.coefficient / wide, part.coefficient % wide)
        };
        rest.push(Part { factors: part.factors.clone(), coefficient: left });
        quotient.push(Part { factors: part.factors, coefficient: whole });
    }
    rest.retain(|part| part.coefficient != 0);
    let constant = rest.iter().find(|part| part.factors.is_empty()).map_or(0, |part| part.coefficient);
    let remainder = Dim::from_parts(rest.clone());
    let range = remainder.range();
    let (low, high) = (range.low.div_euclid(wide), range.high.div_euclid(wide));
    if low == high && range.lower_bound().is_some() {
        quotient.push(Part::constant(low));
        return Dim::from_parts(quotient);
    }
    let common = common_divisor(&rest, divisor);
    if common > 1 {
        let reduced = rest.into_iter().map(|part| Part { coefficient: part.coefficient.div_euclid(common), ..part });
        let reduced = Dim::from_parts(reduced.collect());
        return Dim::from_parts(quotient) + reduced.floor_div(&Dim::Const((wide / common) as i64));
    }
    // floor((floor(a/b) + c)/d) = floor((a + b*c)/(b*d))
    if let [Part { factors, coefficient: 1 }, others @ ..] = &rest[..]
        && let [Atom::Binary(BinaryOperator::FloorDiv, inner, Dim::Const(inner_divisor @ 1..))] = &factors[..]
        && others.iter().all(|part| part.factors.is_empty())
        && let Some(product) = inner_divisor.checked_mul(divisor)
        && let Ok(offset) = i64::try_from(constant * i128::from(*inner_divisor))
    {
        return Dim::from_parts(quotient) + (inner + offset).floor_div(&Dim::Const(product));
    }
    Dim::from_parts(quotient) + Dim::from_binary(BinaryOperator::FloorDiv, &remainder, &Dim::Const(divisor))
}

fn modulo_positive(dividend: &Dim, divisor: i64) -> Dim {
    let wide = i128::from(divisor);
    let within = |dim: &Dim| dim.range().low >= 0 && dim.range().high < wide;
    if within(dividend) {
        return dividend.clone();
    }
    let mut rest = dividend.parts();
    for part in &mut rest {
        part.coefficient = part.coefficient.rem_euclid(wide);
    }
    rest.retain(|part| part.coefficient != 0);
    let remainder = Dim::from_parts(rest.clone());
    if remainder.is_const() || within(&remainder) {
        return remainder;
    }
    let common = common_divisor(&rest, divisor);
    if common > 1 {
        let constant = rest.iter().find(|part| part.factors.is_empty()).map_or(0, |part| part.coefficient);
        let reduced = rest.into_iter().map(|part| Part { coefficient: part.coefficient / common, ..part });
        let reduced = Dim::from_parts(reduced.collect()).modulo(&Dim::Const((wide / common) as i64));
        return reduced * (common as i64) + (constant % common) as i64;
    }
    if let Some(unwrapped) = unwrap_remainders(&remainder, divisor) {
        return unwrapped.modulo(&Dim::Const(divisor));
    }
    Dim::from_binary(BinaryOperator::Modulo, &remainder, &Dim::Const(divisor))
}

/// Replaces terms `c*(a % m)` by `c*a` where `divisor` divides m; `None` if there are none.
fn unwrap_remainders(dim: &Dim, divisor: i64) -> Option<Dim> {
    let Dim::Expression(polynomial) = dim else { return None };
    let inner = |term: &Term| match &term.factors[..] {
        [Atom::Binary(BinaryOperator::Modulo, inner, Dim::Const(modulus))] if modulus % divisor == 0 => {
            Some(inner * term.coefficient)
        }
        _ => None,
    };
    polynomial.terms().iter().find_map(|term| {
        let whole = Dim::from_parts(vec![Part { factors: term.factors.clone(), coefficient: term.coefficient.into() }]);
        inner(term).map(|inner| dim - whole + inner)
    })
}
