//! Real models: what `tests/setup.sh` put into `target/zoo`, as `tests/zoo/README.md` describes it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::compare::{Rule, Rules, Tolerance};
use crate::tensor::{Tensor, Value};
use crate::{npz, target};

/// A model of the zoo: the fields of `models.json` that tests need.
#[derive(Clone, Debug, Deserialize)]
pub struct Model {
    /// Name of the model and of its files.
    pub name: String,
    /// What the model is, in a line.
    pub kind: String,
    /// Whether a failure fails the tests.
    pub expected: bool,
    /// Size of the model's file.
    pub size_bytes: u64,
    /// How close outputs must be.
    #[serde(default)]
    pub tolerance: Tolerance,
    /// Outputs that cannot be compared whole.
    #[serde(default)]
    pub output_rules: Rules,
    /// Why the comparison is as it is.
    pub note: Option<String>,
}

impl Model {
    /// The model's file, which is there once it has been fetched.
    pub fn path(&self) -> PathBuf {
        folder().join(format!("{}.onnx", self.name))
    }

    /// What of an output can be compared.
    pub fn rule(&self, output: &str) -> Rule {
        self.output_rules.get(output).copied().unwrap_or_default()
    }

    /// The references that are there: one, and a second of another size for most models with symbolic dimensions.
    pub fn references(&self) -> Result<Vec<Reference>> {
        let paths = ["npz", "second.npz"].map(|end| folder().join(format!("{}.{end}", self.name)));
        paths.iter().filter(|path| path.is_file()).map(|path| Reference::read(path)).collect()
    }
}

/// Inputs of a model and the outputs wanted for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// By name, in no particular order.
    pub inputs: Vec<(String, Tensor)>,
    /// With their names, in the model's order.
    pub outputs: Vec<(String, Value)>,
}

impl Reference {
    /// Reads an archive that `reference.py` wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let mut inputs = Vec::new();
        let mut outputs: Vec<(usize, String, Value)> = Vec::new();
        let arrays = npz::read(path)?;
        for (key, tensor) in &arrays {
            let (side, rest) = key.split_once(':').unwrap_or((key, ""));
            if side == "in" {
                inputs.push((rest.to_owned(), tensor.clone()));
                continue;
            }
            let (index, name) = rest.split_once(':').with_context(|| format!("{}: key {key}", path.display()))?;
            let index = index.parse().with_context(|| format!("{}: key {key}", path.display()))?;
            if side == "out" {
                outputs.push((index, name.to_owned(), tensor.clone().into()));
            } else if let Some(name) = name.strip_suffix(":keys") {
                let values_key = format!("map:{index}:{name}:values");
                let values = arrays.iter().find(|(key, _)| *key == values_key);
                let (_, values) = values.with_context(|| format!("{} lacks {values_key}", path.display()))?;
                outputs.push((index, name.to_owned(), maps(tensor, values)?));
            }
        }
        outputs.sort_by_key(|(index, ..)| *index);
        ensure!(
            outputs.iter().enumerate().all(|(position, (index, ..))| position == *index),
            "{} lacks outputs",
            path.display()
        );
        Ok(Self { inputs, outputs: outputs.into_iter().map(|(_, name, value)| (name, value)).collect() })
    }
}

/// A sequence of maps with the same keys: one row of `rows` each.
fn maps(keys: &Tensor, rows: &Tensor) -> Result<Value> {
    let crate::tensor::Data::Bytes(bytes) = &rows.data else { anyhow::bail!("map values are strings") };
    let [count, width] = rows.dims[..] else { anyhow::bail!("map values are {rows}") };
    ensure!(keys.dims == [width], "{keys} as keys of rows of {width}");
    let row_bytes = bytes.len() / usize::try_from(count)?.max(1);
    let map =
        |row: &[u8]| Value::Map { keys: keys.clone(), values: Tensor::new(rows.element_type, [width], row.to_vec()) };
    Ok(Value::Sequence(bytes.chunks_exact(row_bytes.max(1)).map(map).collect()))
}

/// Where fetched models and references are.
pub fn folder() -> PathBuf {
    target().join("zoo")
}

/// All models of the zoo, fetched or not.
pub fn models() -> Result<Vec<Model>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("zoo/models.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("cannot understand {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;

    #[test]
    fn the_manifest_reads_and_its_goldens_match_themselves() {
        let models = models().unwrap();
        assert_eq!(models.iter().filter(|model| model.expected).count(), 27);
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("zoo/golden");
        let mut found = 0;
        for model in &models {
            let path = golden.join(format!("{}.npz", model.name));
            if !path.is_file() {
                continue;
            }
            found += 1;
            let reference = Reference::read(&path).unwrap();
            assert!(!reference.inputs.is_empty() && !reference.outputs.is_empty(), "{}", model.name);
            for (name, value) in &reference.outputs {
                compare::zoo(value, value, &model.tolerance, model.rule(name)).unwrap();
            }
        }
        assert_eq!(found, std::fs::read_dir(golden).unwrap().count());
    }

    #[test]
    fn a_sequence_of_maps_has_one_map_a_row() {
        let value = maps(&Tensor::of_i64([2], &[7, 8]), &Tensor::of_f32([3, 2], &[0., 1., 2., 3., 4., 5.])).unwrap();
        let Value::Sequence(maps) = value else { panic!("{value:?}") };
        let last = Value::Map { keys: Tensor::of_i64([2], &[7, 8]), values: Tensor::of_f32([2], &[4., 5.]) };
        assert_eq!((maps.len(), &maps[2]), (3, &last));
    }
}
