//! Networks of convolutions before and after the pass.

use proptest::prelude::*;

use crate::graph::Attribute;
use crate::loops;
use crate::schedule::testing::{Network, kernels, run};
use crate::schedule::{Tiling, block_channels, relayout};

#[test]
fn what_follows_a_convolution_by_channel_stays_in_blocks() {
    let mut network = Network::new(1, [1, 8, 6, 6]);
    let weights = network.constant(&[8, 8, 3, 3]);
    let depthwise = network.constant(&[8, 1, 1, 1]);
    let input = network.values[0].0;
    network.node("Conv", &[input, weights], [1, 8, 4, 4], &[]);
    let id = network.values[1].0;
    network.node("Relu", &[id], [1, 8, 4, 4], &[]);
    let id = network.values[2].0;
    network.node("Conv", &[id, depthwise], [1, 8, 4, 4], &[("group", Attribute::Int(8))]);
    let id = network.values[3].0;
    network.node("Concat", &[id, id], [1, 16, 4, 4], &[("axis", Attribute::Int(1))]);
    let id = network.values[4].0;
    network.node("Relu", &[id], [1, 16, 4, 4], &[]);
    let id = network.values[5].0;
    network.model.graph.outputs.push(id);
    crate::shape::infer(&mut network.model).unwrap();
    let mut program = loops::lower(&network.model).unwrap();
    block_channels(&mut program, Tiling::of(8));
    let names: Vec<&str> = kernels(&program).collect();
    // The input and the first weights are brought into blocks; the others lie there in the right order.
    assert_eq!(names, ["block", "block", "Conv", "Relu", "Conv", "Concat", "Concat", "Relu", "unblock"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn blocked_networks_give_the_same_numbers(
        seed: u64,
        batch in 1i64..3,
        channels in 0usize..5,
        size in (1i64..7, 1i64..7),
        lanes in 0usize..3,
        steps in 2usize..9,
    ) {
        let mut network = Network::new(seed, [batch, [3, 4, 8, 12, 16][channels], size.0, size.1]);
        network.conv();
        for _ in 0..steps {
            if network.random.below(2) == 0 { network.conv() } else { network.other() }
        }
        let (mut program, input) = network.lower();
        let wanted = run(&program, &input);
        let tiling = Tiling::of([4, 8, 16][lanes]);
        block_channels(&mut program, tiling);
        loops::verify::verify_program(&program).unwrap();
        prop_assert_eq!(&run(&program, &input), &wanted, "in blocks");
        loops::collapse_all(&mut program);
        relayout(&mut program, tiling);
        loops::verify::verify_program(&program).unwrap();
        prop_assert_eq!(&run(&program, &input), &wanted, "laid out for tiles");
    }
}
