//! Programs before and after fusion.

use proptest::prelude::*;

use super::fuse;
use crate::graph::Attribute;
use crate::loops::{self, Action, Program};
use crate::schedule::contraction::recognize;
use crate::schedule::testing::{Network, kernels, run};

fn fused(mut network: Network, outputs: &[usize]) -> Program {
    for &place in outputs {
        let id = network.values[place].0;
        network.model.graph.outputs.push(id);
    }
    crate::shape::infer(&mut network.model).unwrap();
    let mut program = loops::lower(&network.model).unwrap();
    fuse(&mut program);
    loops::verify::verify_program(&program).unwrap();
    program
}

/// The input, a convolution of it, and the convolution's residual sum with the input after an activation.
fn residual() -> Network {
    let mut network = Network::new(1, [1, 4, 5, 5]);
    let (weights, bias) = (network.constant(&[4, 4, 3, 3]), network.constant(&[4]));
    let input = network.values[0].0;
    network.node("Conv", &[input, weights, bias], [1, 4, 5, 5], &[("pads", Attribute::Ints(vec![1; 4]))]);
    let id = network.values[1].0;
    network.node("Relu", &[id], [1, 4, 5, 5], &[]);
    let id = network.values[2].0;
    network.node("Add", &[id, input], [1, 4, 5, 5], &[]);
    network
}

#[test]
fn activation_and_residual_end_in_the_convolution() {
    let program = fused(residual(), &[3]);
    assert_eq!(kernels(&program).collect::<Vec<_>>(), ["Conv_Relu_Add"]);
    let Action::Launch { kernel, .. } = &program.steps[0].action else { panic!() };
    assert!(recognize(kernel).is_some());
}

#[test]
fn what_is_an_output_is_still_written() {
    let program = fused(residual(), &[3, 1]);
    assert_eq!(kernels(&program).collect::<Vec<_>>(), ["Conv", "Relu_Add"]);
}

#[test]
fn what_two_kernels_read_is_written_once() {
    let mut network = residual();
    let id = network.values[1].0;
    network.node("Neg", &[id], [1, 4, 5, 5], &[]);
    let program = fused(network, &[3, 4]);
    assert_eq!(kernels(&program).collect::<Vec<_>>(), ["Conv", "Relu_Add", "Neg"]);
}

#[test]
fn costly_values_are_not_computed_in_every_window() {
    let mut network = Network::new(1, [1, 4, 5, 5]);
    let input = network.values[0].0;
    network.node("Exp", &[input], [1, 4, 5, 5], &[]);
    let id = network.values[1].0;
    network.node("MaxPool", &[id], [1, 4, 3, 3], &[("kernel_shape", Attribute::Ints(vec![3, 3]))]);
    let program = fused(network, &[2]);
    assert_eq!(kernels(&program).count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn fused_networks_give_the_same_numbers(
        seed: u64,
        channels in 1i64..5,
        size in (1i64..6, 1i64..6),
        steps in 2usize..12,
    ) {
        let mut network = Network::new(seed, [1, channels, size.0, size.1]);
        for _ in 0..steps {
            if network.random.below(4) == 0 { network.conv() } else { network.other() }
        }
        let (mut program, input) = network.lower();
        let wanted = run(&program, &input);
        fuse(&mut program);
        loops::verify::verify_program(&program).unwrap();
        prop_assert_eq!(&run(&program, &input), &wanted);
    }
}
