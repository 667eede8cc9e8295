//! The generated ONNX suite reads whole, and what it wants passes its own comparison.

use lithify_tests::case::{Index, folder};
use lithify_tests::compare;
use rayon::prelude::*;

#[test]
fn every_case_reads_and_matches_itself() {
    if !folder().join("index.json").is_file() {
        println!("skipped: {} is not there; run tests/setup.sh", folder().display());
        return;
    }
    let index = Index::read().unwrap();
    assert!(index.cases.len() > 2000, "only {} cases", index.cases.len());
    let failures: Vec<String> = index
        .cases
        .par_iter()
        .flat_map_iter(|case| {
            (0..case.data_sets).filter_map(|number| {
                let data = match case.data_set(number) {
                    Ok(data) => data,
                    Err(error) => return Some(format!("{}: {error:#}", case.name)),
                };
                let differences =
                    data.outputs.iter().filter_map(|wanted| compare::suite(wanted, wanted, 0.0, 0.0).err());
                differences.map(|difference| format!("{}: {difference}", case.name)).next()
            })
        })
        .collect();
    assert!(failures.is_empty(), "{} cases fail:\n{}", failures.len(), failures.join("\n"));
}
