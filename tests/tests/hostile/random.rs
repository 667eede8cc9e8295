//! Random changes to bytes and messages of real models.

use std::sync::OnceLock;

use lithify::proto::onnx::ModelProto;
use proptest::prelude::*;
use prost::Message;

use super::child::{Case, compile};
use super::mutate::{Choices, models, mutate};

/// Models of one test. More are tried with `LITHIFY_HOSTILE_CASES`.
fn count() -> usize {
    std::env::var("LITHIFY_HOSTILE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

fn bases() -> &'static [ModelProto] {
    static BASES: OnceLock<Vec<ModelProto>> = OnceLock::new();
    BASES.get_or_init(models)
}

#[test]
fn changed_messages() {
    let seeds = std::env::var("LITHIFY_HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
    let cases: Vec<Case> = (0..count() as u64)
        .map(|number| {
            let mut choices = Choices::new((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seeds << 32));
            let mut model = bases()[choices.below(bases().len())].clone();
            let name = model.graph.node.first().map(|node| node.op_type().to_owned()).unwrap_or_default();
            for _ in 0..=choices.below(3) {
                mutate(&mut model, &mut choices);
            }
            Case::new(format!("seed {seeds}, number {number}, {name}"), model.encode_to_vec())
        })
        .collect();
    compile(&cases);
}

#[test]
fn changed_bytes() {
    let cases: Vec<Case> = (0..count() as u64)
        .map(|number| {
            let mut choices = Choices::new((number + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
            let mut bytes = bases()[choices.below(bases().len())].encode_to_vec();
            match choices.below(3) {
                0 => bytes.truncate(choices.below(bytes.len())),
                1 => {
                    let place = choices.below(bytes.len());
                    bytes.insert(place, choices.below(256) as u8);
                }
                _ => {
                    // The structure is at the ends of the file and between the weights.
                    for _ in 0..=choices.below(4) {
                        let place = choices.below(bytes.len().min(2000));
                        bytes[place] = choices.below(256) as u8;
                    }
                }
            }
            Case::new(format!("bytes {number}"), bytes)
        })
        .collect();
    compile(&cases);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_of_any_kind(files in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 50)) {
        let cases: Vec<Case> =
            files.into_iter().enumerate().map(|(index, bytes)| Case::new(index.to_string(), bytes)).collect();
        compile(&cases);
    }
}
