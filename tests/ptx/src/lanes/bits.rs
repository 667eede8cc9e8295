//! Bitwise functions, counts, and fields.

use super::{Binary, Quaternary, Ternary, Unary, binary, ternary, unary};
use crate::types::Type;

/// `not`, `cnot`, `popc`, `clz`, `brev`; counts are 32 bits wide.
pub fn bitwise_unary(name: &str, kind: Type) -> Option<Unary> {
    Some(match (name, kind.bits()) {
        ("not", 16) => unary!(u16, |a| !a),
        ("not", 32) => unary!(u32, |a| !a),
        ("not", 64) => unary!(u64, |a| !a),
        ("cnot", 16 | 32 | 64) => unary!(u64, |a| u64::from(a == 0)),
        ("popc", 32 | 64) => unary!(u64, |a| a.count_ones()),
        ("clz", 32) => unary!(u32, |a| a.leading_zeros()),
        ("clz", 64) => unary!(u64, |a| a.leading_zeros()),
        ("brev", 32) => unary!(u32, |a| a.reverse_bits()),
        ("brev", 64) => unary!(u64, |a| a.reverse_bits()),
        ("bfind", 32) => match kind {
            Type::S32 => unary!(i32, |a| top_bit(u64::from(if a < 0 { !a } else { a } as u32))),
            _ => unary!(u32, |a| top_bit(u64::from(a))),
        },
        _ => return None,
    })
}

fn top_bit(value: u64) -> u32 {
    if value == 0 { u32::MAX } else { value.ilog2() }
}

/// `and`, `or`, `xor`, `shl`. Amounts of `shl` are 32 bits wide; those beyond the width give zero.
pub fn bitwise_binary(name: &str, kind: Type) -> Option<Binary> {
    Some(match (name, kind.bits()) {
        ("and", 16 | 32 | 64) => binary!(u64, |a, b| a & b),
        ("or", 16 | 32 | 64) => binary!(u64, |a, b| a | b),
        ("xor", 16 | 32 | 64) => binary!(u64, |a, b| a ^ b),
        ("shl", 16) => binary!(u64, |a, b| if b >= 16 { 0 } else { (a << b) as u16 }),
        ("shl", 32) => binary!(u64, |a, b| if b >= 32 { 0 } else { (a << b) as u32 }),
        ("shl", 64) => binary!(u64, |a, b| if b >= 64 { 0 } else { a << b }),
        _ => return None,
    })
}

/// `bfe`, `prmt`, `shf` and `dp4a`; the name carries the mode.
pub fn bitwise_ternary(name: &str, kind: Type) -> Option<Ternary> {
    Some(match (name, kind) {
        ("bfe", Type::U32) => ternary!(u64, u64, |a, b, c| extract(a, b, c, 32, false)),
        ("bfe", Type::S32) => ternary!(u64, u64, |a, b, c| extract(a, b, c, 32, true) as u32),
        ("bfe", Type::U64) => ternary!(u64, u64, |a, b, c| extract(a, b, c, 64, false)),
        ("bfe", Type::S64) => ternary!(u64, u64, |a, b, c| extract(a, b, c, 64, true)),
        ("prmt", Type::B32) => ternary!(u32, u32, |a, b, c| permute(a, b, c)),
        ("shf.l.wrap", Type::B32) => ternary!(u32, u32, |a, b, c| funnel_left(a, b, c & 31)),
        ("shf.l.clamp", Type::B32) => ternary!(u32, u32, |a, b, c| funnel_left(a, b, c.min(32))),
        ("shf.r.wrap", Type::B32) => ternary!(u32, u32, |a, b, c| funnel_right(a, b, c & 31)),
        ("shf.r.clamp", Type::B32) => ternary!(u32, u32, |a, b, c| funnel_right(a, b, c.min(32))),
        ("dp4a", Type::S32) => ternary!(u32, i32, |a, b, c| {
            let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            products.fold(c, |sum, (a, b)| sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8)))
        }),
        ("dp4a", Type::U32) => ternary!(u32, u32, |a, b, c| {
            let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            products.fold(c, |sum, (a, b)| sum.wrapping_add(u32::from(a) * u32::from(b)))
        }),
        _ => return None,
    })
}

fn funnel(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn funnel_left(a: u32, b: u32, amount: u32) -> u32 {
    ((funnel(b, a) << amount) >> 32) as u32
}

fn funnel_right(a: u32, b: u32, amount: u32) -> u32 {
    (funnel(b, a) >> amount) as u32
}

/// Field of `length` bits from bit `start`; beyond the top, the sign of the field's last bit, or zero.
fn extract(value: u64, start: u64, length: u64, width: u64, signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let last = (start + length).min(width).saturating_sub(1);
    let sign = signed && length != 0 && value >> last & 1 == 1;
    let field = if start >= width { 0 } else { value >> start };
    // Bits of the field that exist in the value; the rest takes the sign.
    let kept = length.min(width.saturating_sub(start));
    let mask = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    (field & mask) | if sign { !mask } else { 0 }
}

fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = funnel(b, a).to_le_bytes();
    let mut result = [0; 4];
    for (index, slot) in result.iter_mut().enumerate() {
        let nibble = selector >> (4 * index);
        let byte = bytes[(nibble & 7) as usize];
        *slot = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
    }
    u32::from_le_bytes(result)
}

/// `bfi`: the low bits of the first source, put into the second.
pub fn insert_field(kind: Type) -> Option<Quaternary> {
    fn insert<const WIDTH: u64>(d: &mut [u64; 32], a: &[u64; 32], b: &[u64; 32], c: &[u64; 32], e: &[u64; 32]) {
        for lane in 0..super::LANES {
            let (start, length) = (c[lane] & 255, (e[lane] & 255).min(WIDTH));
            let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
            let (mask, field) = if start >= WIDTH { (0, 0) } else { (ones << start, a[lane] << start) };
            let mask = if WIDTH == 32 { mask & 0xFFFF_FFFF } else { mask };
            d[lane] = (b[lane] & !mask) | (field & mask);
        }
    }
    match kind {
        Type::B32 => Some(insert::<32>),
        Type::B64 => Some(insert::<64>),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_permutations() {
        assert_eq!(extract(0xABCD, 4, 8, 32, false), 0xBC);
        assert_eq!(extract(0xABCD, 4, 8, 32, true), 0xFFFF_FFFF_FFFF_FFBC);
        assert_eq!(extract(0x8000_0000, 28, 8, 32, true) as u32, 0xFFFF_FFF8);
        assert_eq!(extract(0x8000_0000, 28, 8, 32, false), 8);
        assert_eq!(extract(0x8000_0000, 40, 8, 32, true) as u32, 0xFFFF_FFFF);
        assert_eq!(extract(0xFF, 0, 0, 32, true), 0);
        assert_eq!(permute(0x3322_1180, 0x7766_5544, 0x8740), 0xFF77_4480);
        assert_eq!(funnel_left(0x8000_0000, 1, 1), 3);
        assert_eq!(funnel_right(0x8000_0000, 1, 32), 1);
    }
}
