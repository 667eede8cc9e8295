//! Loading a model: from a file, or from bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use prost::Message;

use super::check::check;
use super::element::STRING;
use super::error::LoadError;
use super::external::ExternalFiles;
use super::limits::{Limits, LoadOptions};
use super::onnx::{GraphProto, ModelProto, SparseTensorProto, TensorProto};
use super::scan::scan;
use super::sparse::decode_sparse_with;
use super::tensor::{HostTensor, bytes_of, check_header, declared_bytes, decode_tensor, is_external};

/// The newest version of the intermediate representation that is understood.
const NEWEST_IR_VERSION: i64 = 14;

/// A loaded model: its messages, and the way to its tensors.
#[derive(Clone, Debug)]
pub struct Model {
    /// The decoded messages.
    pub proto: ModelProto,
    external: Option<ExternalFiles>,
    limits: Limits,
}

impl Model {
    /// The model's main graph.
    pub fn graph(&self) -> &GraphProto {
        &self.proto.graph
    }

    /// Turns one of the model's tensors into plain bytes, reading them from its external file if they are in one.
    pub fn tensor(&self, tensor: &TensorProto) -> Result<HostTensor, LoadError> {
        let Some(files) = self.external.as_ref().filter(|_| is_external(tensor)) else {
            return decode_tensor(tensor, &self.limits);
        };
        let count = check_header(tensor, &self.limits)?;
        if tensor.data_type() == STRING {
            return Err(LoadError::tensor(tensor.name(), "strings cannot be external data; save them in the model"));
        }
        let needed = declared_bytes(tensor.name(), tensor.data_type(), &tensor.dims, &self.limits)?;
        let data = bytes_of(tensor, count, files.read(tensor, needed)?)?;
        Ok(HostTensor { element_type: tensor.data_type(), dims: tensor.dims.clone(), data })
    }

    /// Turns one of the model's sparse tensors into a dense one.
    pub fn sparse_tensor(&self, sparse: &SparseTensorProto) -> Result<HostTensor, LoadError> {
        decode_sparse_with(sparse, &self.limits, |tensor| self.tensor(tensor))
    }
}

/// Loads a model from a file; external data is looked for in the file's directory, when a tensor is asked for.
pub fn load_path(path: &Path, options: &LoadOptions) -> Result<Model, LoadError> {
    let failed = |source| LoadError::File { path: path.to_owned(), source };
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(LoadError::NotAModel { problem: format!("{} is not a regular file", path.display()) });
    }
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let limit = options.limits.file_bytes;
    check_file_size(path, size, limit)?;
    let mut encoded = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut encoded).map_err(failed)?;
    check_file_size(path, encoded.len() as u64, limit)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    load_bytes(encoded.into(), Some(directory), options)
        .map_err(|error| error.within(format!("model {}", path.display())))
}

/// Loads a model from its encoded bytes; without a directory, it must not have external data.
pub fn load_bytes(encoded: Bytes, directory: Option<&Path>, options: &LoadOptions) -> Result<Model, LoadError> {
    let limits = &options.limits;
    if let Some(problem) = foreign_format(&encoded) {
        return Err(LoadError::NotAModel { problem: problem.into() });
    }
    if !scan(&encoded, limits)? {
        return Err(LoadError::NotAModel { problem: "it has no graph; is it another kind of protobuf file?".into() });
    }
    let proto = ModelProto::decode(encoded).map_err(|error| LoadError::Schema { problem: error.to_string() })?;
    if proto.ir_version() > NEWEST_IR_VERSION {
        return Err(LoadError::IrVersion { found: proto.ir_version(), newest: NEWEST_IR_VERSION });
    }
    check(&proto, limits, directory.is_some())?;
    let external = directory
        .map(|directory| ExternalFiles { directory: directory.to_owned(), follow_links: options.follow_links });
    Ok(Model { proto, external, limits: limits.clone() })
}

fn check_file_size(path: &Path, found: u64, limit: u64) -> Result<(), LoadError> {
    if found <= limit {
        return Ok(());
    }
    let place = format!("model {}", path.display());
    Err(LoadError::Limit { place, what: "its size in bytes", found, limit, field: "file_bytes" })
}

/// Recognizes files that people take for ONNX models.
fn foreign_format(encoded: &[u8]) -> Option<&'static str> {
    if encoded.is_empty() {
        return Some("the file is empty");
    }
    if encoded.starts_with(b"version https://git-lfs") {
        return Some("it is a Git LFS pointer; fetch the model with `git lfs pull`");
    }
    if encoded.starts_with(b"PK\x03\x04") {
        return Some("it is a zip archive, perhaps of PyTorch; export the model to ONNX, or unpack it");
    }
    if encoded.get(4..8) == Some(b"ORTM") {
        return Some("it is in the ORT format; use the ONNX file it was made from");
    }
    if encoded.starts_with(b"<!") || encoded.starts_with(b"<html") {
        return Some("it is a web page; download the model itself");
    }
    None
}
