//! How large a model may be.

/// How large a model may be, so that hostile input costs bounded time and memory.
///
/// The defaults are far above the models people publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the model file, external data aside. Default 2 GiB, which protobuf itself allows at most.
    pub file_bytes: u64,
    /// Bytes that decoded messages may take beside the file, weights stored as raw bytes aside. Default 4 GiB.
    pub decoded_bytes: u64,
    /// Messages nested in one another. Default 100, which is also the most the decoder supports.
    pub message_depth: u64,
    /// Graphs nested in one another, the model's own being the first. Default 16.
    pub graph_depth: u64,
    /// Nodes in all graphs and functions. Default 1,000,000.
    pub nodes: u64,
    /// Model-local functions. Default 65,536.
    pub functions: u64,
    /// Bytes of any one name. Default 16 KiB.
    pub name_bytes: u64,
    /// Dimensions of any one tensor or stated shape. Default 32.
    pub rank: u64,
    /// Bytes of any one tensor. Default 16 GiB.
    pub tensor_bytes: u64,
    /// Bytes of any one sparse tensor once it is dense. Default 1 GiB.
    pub sparse_bytes: u64,
    /// Bytes of all tensors together. Default 64 GiB.
    pub constant_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            decoded_bytes: 4 << 30,
            message_depth: 100,
            graph_depth: 16,
            nodes: 1_000_000,
            functions: 65_536,
            name_bytes: 16 << 10,
            rank: 32,
            tensor_bytes: 16 << 30,
            sparse_bytes: 1 << 30,
            constant_bytes: 64 << 30,
        }
    }
}

/// How to load a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// How large the model may be.
    pub limits: Limits,
    /// Follow symbolic links, and accept files with several hard links, for external data. Off by default: a link can
    /// make a model read any file of the user's. Model caches that store files as links need it.
    pub follow_links: bool,
}
