//! The element types of ONNX tensors, by number: their names and their stored widths.

/// Number of the element type float (f32).
pub const FLOAT: i32 = 1;
/// Number of the element type int32.
pub const INT32: i32 = 6;
/// Number of the element type int64.
pub const INT64: i32 = 7;
/// Number of the element type string.
pub const STRING: i32 = 8;
/// Number of the element type bool.
pub const BOOL: i32 = 9;
/// Number of the element type double (f64).
pub const DOUBLE: i32 = 11;
/// Number of the element type uint32.
pub const UINT32: i32 = 12;
/// Number of the element type uint64.
pub const UINT64: i32 = 13;
/// Number of the element type complex64 (two f32).
pub const COMPLEX64: i32 = 14;
/// Number of the element type complex128 (two f64).
pub const COMPLEX128: i32 = 15;

/// Name and bits of each element type; the position is its number. Strings have no width.
const TYPES: [(&str, u32); 29] = [
    ("undefined", 0),
    ("float", 32),
    ("uint8", 8),
    ("int8", 8),
    ("uint16", 16),
    ("int16", 16),
    ("int32", 32),
    ("int64", 64),
    ("string", 0),
    ("bool", 8),
    ("float16", 16),
    ("double", 64),
    ("uint32", 32),
    ("uint64", 64),
    ("complex64", 64),
    ("complex128", 128),
    ("bfloat16", 16),
    ("float8e4m3fn", 8),
    ("float8e4m3fnuz", 8),
    ("float8e5m2", 8),
    ("float8e5m2fnuz", 8),
    ("uint4", 4),
    ("int4", 4),
    ("float4e2m1", 4),
    ("float8e8m0", 8),
    ("uint2", 2),
    ("int2", 2),
    ("float6e2m3", 6),
    ("float6e3m2", 6),
];

/// The largest element type number known.
pub const LAST: i32 = TYPES.len() as i32 - 1;

/// Name of an element type as the ONNX specification spells it; `None` for 0 and for unknown numbers.
pub fn name(element_type: i32) -> Option<&'static str> {
    known(element_type).map(|(name, _)| name)
}

/// Bits one element takes in a stored tensor; `None` for strings, for 0 and for unknown numbers.
pub fn bits(element_type: i32) -> Option<u32> {
    known(element_type).map(|(_, bits)| bits).filter(|&bits| bits != 0)
}

fn known(element_type: i32) -> Option<(&'static str, u32)> {
    if element_type == 0 {
        return None;
    }
    TYPES.get(usize::try_from(element_type).ok()?).copied()
}

/// Bytes that `count` elements take, elements below a byte packed without gaps.
pub(super) fn packed_bytes(bits: u32, count: u64) -> Option<u64> {
    u64::try_from((u128::from(count) * u128::from(bits)).div_ceil(8)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_schema() {
        let expected =
            [(FLOAT, "float"), (STRING, "string"), (COMPLEX128, "complex128"), (24, "float8e8m0"), (26, "int2")];
        for (number, spelled) in expected {
            assert_eq!(name(number), Some(spelled));
        }
        for unknown in [i32::MIN, -1, 0, LAST + 1, i32::MAX] {
            assert_eq!((name(unknown), bits(unknown)), (None, None));
        }
        assert_eq!(bits(STRING), None);
    }

    #[test]
    fn packed_sizes_round_up_and_do_not_overflow() {
        assert_eq!(packed_bytes(4, 3), Some(2));
        assert_eq!(packed_bytes(2, 5), Some(2));
        assert_eq!(packed_bytes(6, 3), Some(3));
        assert_eq!(packed_bytes(128, u64::MAX), None);
    }
}
