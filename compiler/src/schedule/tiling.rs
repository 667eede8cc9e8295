//! How large register tiles are.

/// Vectors of columns in a tile whose columns lie side by side in a packed layout.
pub const COLUMN_VECTORS: i64 = 2;

/// What the code of a register tile may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tiling {
    /// 32-bit lanes of a vector.
    pub lanes: i64,
    /// Vector registers.
    pub registers: i64,
}

impl Tiling {
    /// Tiles for code of the given number of lanes.
    ///
    /// Code of 4 lanes goes through Cranelift, whose register allocation does best well below the register file.
    pub fn of(lanes: u32) -> Self {
        let registers = match lanes {
            16 => 32,
            8 => 16,
            _ => 11,
        };
        Self { lanes: lanes.into(), registers }
    }

    /// Columns of a packed tile.
    pub fn columns(self) -> i64 {
        COLUMN_VECTORS * self.lanes
    }

    /// The most rows of a tile of so many vectors: besides the accumulators, a tile holds one row of vectors and one
    /// splatted element.
    pub fn rows(self, vectors: i64) -> i64 {
        ((self.registers - 1 - vectors) / vectors).max(1)
    }

    /// Rows of a tile that covers `extent` in as few and as equal tiles as the registers allow.
    pub fn balanced_rows(self, extent: Option<i64>, vectors: i64) -> i64 {
        let most = self.rows(vectors);
        match extent {
            Some(extent) if extent > 0 => ceil_div(extent, ceil_div(extent, most)),
            _ => most,
        }
    }

    /// Rows and vectors of the tiles that cover `rows` by `blocks` vectors in the least time: a tile's iteration takes as
    /// long as its multiply-adds, its loads, or the latency of one multiply-add, whichever is longest.
    pub fn choose(self, rows: Option<i64>, blocks: i64) -> (i64, i64) {
        // Multiply-adds in flight that hide their latency.
        const PIPELINE: i64 = 8;
        // Sizes beyond this make no difference.
        const MANY: i64 = 1 << 20;
        let extent = rows.unwrap_or(MANY).clamp(1, MANY);
        let blocks = blocks.clamp(1, MANY);
        let cost = |vectors: i64| {
            let height = self.balanced_rows(Some(extent), vectors);
            let one = |width: i64| (height * width).max(height + width).max(PIPELINE);
            let tiles = ceil_div(extent, height);
            tiles * (blocks / vectors * one(vectors) + if blocks % vectors > 0 { one(blocks % vectors) } else { 0 })
        };
        let vectors = (1..=4.min(blocks)).rev().min_by_key(|&vectors| cost(vectors)).unwrap_or(1);
        (self.balanced_rows(rows, vectors), vectors)
    }
}

fn ceil_div(dividend: i64, divisor: i64) -> i64 {
    dividend / divisor + i64::from(dividend % divisor > 0)
}

#[cfg(test)]
mod tests {
    use super::Tiling;

    #[test]
    fn tiles_fit_the_registers() {
        for lanes in [4, 8, 16] {
            let tiling = Tiling::of(lanes);
            for rows in (1..200).map(Some).chain([None]) {
                for blocks in 1..20 {
                    let (height, vectors) = tiling.choose(rows, blocks);
                    assert!(height >= 1 && vectors >= 1 && vectors <= blocks);
                    assert!(height * vectors + vectors < tiling.registers, "{lanes} lanes: {height} x {vectors}");
                }
            }
        }
    }

    #[test]
    fn tiles_of_wide_vectors_suit_the_sizes_of_convolutions() {
        let tiling = Tiling::of(16);
        assert_eq!(tiling.choose(Some(56), 4), (14, 2));
        assert_eq!(tiling.choose(Some(14), 16), (14, 2));
        assert_eq!(tiling.choose(Some(7), 32).0, 7);
        assert_eq!(tiling.balanced_rows(Some(20), 2), 10);
    }
}
