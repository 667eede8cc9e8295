//! The types of PTX.

/// A fundamental PTX type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Type {
    Predicate,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    BF16,
    BF16x2,
    F32,
    F64,
}

impl Type {
    /// The type a modifier such as `u32` names.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pred" => Self::Predicate,
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::BF16,
            "bf16x2" => Self::BF16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of one value; 0 for a predicate.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Predicate => 0,
            Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::BF16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::BF16x2 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Bits of one value; 0 for a predicate.
    pub fn bits(self) -> u32 {
        8 * self.bytes()
    }

    /// Whether the type is an integer with a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether the type is an integer with or without a sign.
    pub fn is_integer(self) -> bool {
        self.is_signed() || matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Whether the type is a bag of bits; the packed halves count, since their registers are declared `.b32`.
    pub fn is_bits(self) -> bool {
        matches!(self, Self::B8 | Self::B16 | Self::B32 | Self::B64 | Self::F16x2 | Self::BF16x2)
    }

    /// Whether the type is a single floating-point value.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64)
    }

    /// Whether an instruction of this type may name a register of type `register`: the sizes are equal, and the kinds
    /// are equal unless one of the two is untyped bits. `.bf16` instructions take `.b16` registers.
    pub fn accepts(self, register: Self) -> bool {
        if self == Self::Predicate || register == Self::Predicate {
            return self == register;
        }
        self.bytes() == register.bytes()
            && (self.is_bits() || register.is_bits() || self.is_float() == register.is_float())
    }

    /// All bits of a value of this type.
    pub fn mask(self) -> u64 {
        match self.bits() {
            0 => 1,
            64 => u64::MAX,
            bits => (1 << bits) - 1,
        }
    }
}
