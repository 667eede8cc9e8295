//! Removes casts to a type that holds every value of the first, and back.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{ElementKind, ElementType, Node};

/// The value from before both casts.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("Cast") {
        return None;
    }
    let input = node.input(0)?;
    let source = site.defined_by(input, &["Cast"])?.input(0)?;
    let (from, through, to) = (site.element(source)?, site.element(input)?, site.element(node.output(0)?)?);
    if from != to || !holds(through, from) {
        return None;
    }
    Patch::at(node).replace(node, source)
}

/// Whether every value of type `narrow` is one of type `wide`.
fn holds(wide: ElementType, narrow: ElementType) -> bool {
    use ElementKind as K;
    match (wide.kind(), narrow.kind()) {
        (K::Signed | K::Unsigned | K::Float, K::Bool) => wide.bits() >= 8,
        (K::Signed, K::Signed) | (K::Unsigned, K::Unsigned) => wide.bits() >= narrow.bits(),
        (K::Signed, K::Unsigned) => wide.bits() > narrow.bits(),
        (K::Float, K::Signed | K::Unsigned) => match wide {
            ElementType::F64 => narrow.bits() <= 32,
            ElementType::F32 => narrow.bits() <= 16,
            _ => false,
        },
        (K::Float, K::Float) => match wide {
            ElementType::F64 => matches!(narrow, ElementType::F32 | ElementType::F16 | ElementType::BF16),
            ElementType::F32 => matches!(narrow, ElementType::F16 | ElementType::BF16),
            _ => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_holds_narrower_ones() {
        use ElementType as E;
        assert!(holds(E::I64, E::U32) && holds(E::F64, E::I32) && holds(E::F32, E::BF16) && holds(E::I32, E::Bool));
        assert!(!holds(E::I32, E::U32) && !holds(E::F32, E::I32) && !holds(E::F16, E::BF16) && !holds(E::Bool, E::I8));
    }
}
