//! Sparse tensors, made dense.

use super::element::{self, INT64};
use super::error::{LoadError, Quoted};
use super::limits::Limits;
use super::onnx::{SparseTensorProto, TensorProto};
use super::tensor::{HostData, HostTensor, declared_bytes, decode_tensor, element_count};

/// Turns a sparse tensor into a dense one: zero, or the empty string, wherever it has no element.
pub fn decode_sparse(sparse: &SparseTensorProto, limits: &Limits) -> Result<HostTensor, LoadError> {
    decode_sparse_with(sparse, limits, |tensor| decode_tensor(tensor, limits))
}

/// As [`decode_sparse`], with a way to decode the dense tensors that make up the sparse one.
pub(super) fn decode_sparse_with(
    sparse: &SparseTensorProto,
    limits: &Limits,
    decode: impl Fn(&TensorProto) -> Result<HostTensor, LoadError>,
) -> Result<HostTensor, LoadError> {
    let name = name_of(sparse);
    let refuse = |problem: String| LoadError::tensor(name, problem);
    let (Some(values), Some(indices)) = (&sparse.values, &sparse.indices) else {
        return Err(refuse("it is sparse, and lacks its values or its indices".into()));
    };
    let dense_bytes = check_dense_size(sparse, limits)?;
    let values = decode(values)?;
    let indices = decode(indices)?;
    let [count] = values.dims[..] else {
        return Err(refuse(format!("it is sparse, and its values have shape {:?} in place of [count]", values.dims)));
    };
    let positions = positions(sparse, &indices, count)?;
    let total = element_count(name, &sparse.dims)? as usize;
    let data = match &values.data {
        HostData::Strings(strings) => {
            let mut dense = vec![Vec::new(); total];
            for (&position, string) in positions.iter().zip(strings) {
                dense[position].clone_from(string);
            }
            HostData::Strings(dense)
        }
        HostData::Bytes(bytes) => {
            let bits = element::bits(values.element_type).unwrap_or(8) as usize;
            let mut dense = vec![0; dense_bytes as usize];
            for (from, &to) in positions.iter().enumerate() {
                copy_element(bytes, from, &mut dense, to, bits);
            }
            HostData::Bytes(dense.into())
        }
    };
    Ok(HostTensor { element_type: values.element_type, dims: sparse.dims.clone(), data })
}

/// Name of a sparse tensor: that of its values.
pub(super) fn name_of(sparse: &SparseTensorProto) -> &str {
    sparse.values.as_ref().map_or("", |values| values.name())
}

/// Checks the dense size against the limits and returns it, in bytes.
pub(super) fn check_dense_size(sparse: &SparseTensorProto, limits: &Limits) -> Result<u64, LoadError> {
    let name = name_of(sparse);
    let element_type = sparse.values.as_ref().map_or(0, |values| values.data_type());
    let found = declared_bytes(name, element_type, &sparse.dims, limits)?;
    if found > limits.sparse_bytes {
        let place = format!("sparse tensor {}", Quoted(name));
        let (what, limit, field) = ("its dense size in bytes", limits.sparse_bytes, "sparse_bytes");
        return Err(LoadError::Limit { place, what, found, limit, field });
    }
    Ok(found)
}

/// The linear position of each element, checked to be inside the tensor and strictly ascending.
fn positions(sparse: &SparseTensorProto, indices: &HostTensor, count: i64) -> Result<Vec<usize>, LoadError> {
    let refuse = |problem: String| LoadError::tensor(name_of(sparse), problem);
    let rank = sparse.dims.len();
    let linear = match indices.dims[..] {
        [stored] if stored == count => true,
        [stored, width] if stored == count && usize::try_from(width) == Ok(rank) => false,
        _ => {
            let problem = format!(
                "it is sparse, with {count} elements of rank {rank}, and its indices have shape {:?} in place of [{count}] or [{count}, {rank}]",
                indices.dims
            );
            return Err(refuse(problem));
        }
    };
    let bytes = match &indices.data {
        HostData::Bytes(bytes) if indices.element_type == INT64 => bytes,
        _ => return Err(refuse("it is sparse, and its indices are not int64".into())),
    };
    let numbers: Vec<i64> =
        bytes.chunks_exact(8).map(|chunk| i64::from_le_bytes(chunk.try_into().unwrap_or_default())).collect();
    let total = element_count(name_of(sparse), &sparse.dims)? as i64;
    let (extents, width) = if linear { (std::slice::from_ref(&total), 1) } else { (&sparse.dims[..], rank) };
    let mut positions: Vec<usize> = Vec::with_capacity(count as usize);
    for element in 0..count as usize {
        let mut position = 0;
        for (&index, &extent) in numbers[element * width..][..width].iter().zip(extents) {
            if !(0..extent).contains(&index) {
                let problem = format!("it is sparse, and index {index} of its element {element} is not in 0..{extent}");
                return Err(refuse(problem));
            }
            // Wraps only if another dimension is zero, and then no position is valid.
            position = usize::wrapping_mul(position, extent as usize).wrapping_add(index as usize);
        }
        if position >= total as usize || positions.last().is_some_and(|&before| before >= position) {
            return Err(refuse(format!(
                "it is sparse, and its indices are not strictly ascending at element {element}"
            )));
        }
        positions.push(position);
    }
    Ok(positions)
}

/// Copies one element, of whole bytes or of a few bits, onto zeros.
fn copy_element(from: &[u8], from_index: usize, to: &mut [u8], to_index: usize, bits: usize) {
    if bits >= 8 {
        let size = bits / 8;
        to[to_index * size..][..size].copy_from_slice(&from[from_index * size..][..size]);
        return;
    }
    for bit in 0..bits {
        let (source, target) = (from_index * bits + bit, to_index * bits + bit);
        to[target / 8] |= (from[source / 8] >> (source % 8) & 1) << (target % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::element::STRING;

    fn sparse(
        element_type: i32,
        values: Vec<u8>,
        count: i64,
        indices: &[i64],
        shape: &[i64],
        dims: &[i64],
    ) -> SparseTensorProto {
        SparseTensorProto {
            values: Some(TensorProto {
                name: Some("s".into()),
                data_type: Some(element_type),
                dims: vec![count],
                raw_data: Some(values.into()),
                ..Default::default()
            }),
            indices: Some(TensorProto {
                data_type: Some(INT64),
                dims: shape.to_vec(),
                int64_data: indices.to_vec(),
                ..Default::default()
            }),
            dims: dims.to_vec(),
        }
    }

    fn decoded(sparse: &SparseTensorProto) -> Vec<u8> {
        decode_sparse(sparse, &Limits::default()).unwrap().bytes().unwrap().to_vec()
    }

    fn refused(sparse: &SparseTensorProto) -> String {
        decode_sparse(sparse, &Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn both_index_forms_give_the_same_tensor() {
        assert_eq!(decoded(&sparse(2, vec![7, 8], 2, &[1, 5], &[2], &[2, 3])), [0, 7, 0, 0, 0, 8]);
        assert_eq!(decoded(&sparse(2, vec![7, 8], 2, &[0, 1, 1, 2], &[2, 2], &[2, 3])), [0, 7, 0, 0, 0, 8]);
        assert_eq!(decoded(&sparse(5, vec![1, 2], 1, &[2], &[1, 1], &[3])), [0, 0, 0, 0, 1, 2]);
        assert_eq!(decoded(&sparse(2, vec![], 0, &[], &[0], &[2])), [0, 0]);
    }

    #[test]
    fn packed_elements_and_strings_become_dense() {
        assert_eq!(decoded(&sparse(21, vec![0xba], 2, &[1, 4], &[2], &[5])), [0xa0, 0, 0xb]);
        assert_eq!(decoded(&sparse(27, vec![0b1111_1111, 0b1111], 2, &[1, 2], &[2], &[4])), [0xc0, 0xff, 0x03]);
        let mut strings = sparse(STRING, vec![], 1, &[1], &[1], &[2]);
        let values = strings.values.as_mut().unwrap();
        values.string_data = vec![b"x".as_slice().into()];
        values.raw_data = None;
        let dense = decode_sparse(&strings, &Limits::default()).unwrap();
        assert_eq!(dense.data, HostData::Strings(vec![vec![], b"x".to_vec()]));
    }

    #[test]
    fn bad_indices_are_refused() {
        assert!(refused(&sparse(2, vec![7], 1, &[6], &[1], &[2, 3])).contains("not in 0..6"));
        assert!(refused(&sparse(2, vec![7], 1, &[-1], &[1], &[2, 3])).contains("not in 0..6"));
        assert!(refused(&sparse(2, vec![7], 1, &[0, 3], &[1, 2], &[2, 3])).contains("not in 0..3"));
        assert!(refused(&sparse(2, vec![7, 8], 2, &[1, 1], &[2], &[2, 3])).contains("ascending"));
        assert!(refused(&sparse(2, vec![7], 1, &[1, 1], &[2], &[2, 3])).contains("shape"));
        assert!(refused(&sparse(2, vec![7, 7], 2, &[], &[2, 0], &[])).contains("ascending"));
        assert!(refused(&sparse(2, vec![7], 1, &[0], &[1], &[0])).contains("not in 0..0"));
        let huge = 1 << 62;
        assert!(refused(&sparse(2, vec![7], 1, &[9, 9, 0], &[1, 3], &[huge, huge, 0])).contains("not in 0..0"));
    }

    #[test]
    fn the_dense_size_is_limited() {
        assert!(refused(&sparse(2, vec![], 0, &[], &[0], &[1 << 40])).contains("sparse_bytes"));
        assert!(refused(&sparse(2, vec![], 0, &[], &[0], &[1 << 62, 1 << 62])).contains("memory"));
        assert!(refused(&sparse(2, vec![], 0, &[], &[0], &[-4])).contains("negative"));
        assert!(refused(&SparseTensorProto::default()).contains("lacks"));
    }
}
