//! Reads images of handwritten digits in two threads, each with a context of its own; the weights are shared.

use std::error::Error;
use std::{env, fs, process, thread};

/// The module that lithify generated beside the library.
mod digits {
    include!(concat!(env!("OUT_DIR"), "/libdigits.rs"));
}

/// Reads an 8x8 PGM file: `P2`, width, height, white, and the grey levels, with comments from # to the end of the line.
fn read_image(path: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let words = text.lines().flat_map(|line| line.split('#').next().unwrap_or_default().split_whitespace());
    let numbers = words.skip(1).map(str::parse).collect::<Result<Vec<f32>, _>>()?;
    match numbers.get(..3) {
        Some(&[8.0, 8.0, white]) => Ok(numbers[3..].iter().map(|level| level / white).collect()),
        _ => Err(format!("{path} is not an 8x8 image").into()),
    }
}

fn read_digits(paths: &[String]) -> Result<Vec<usize>, Box<dyn Error>> {
    let mut model = digits::Model::new()?;
    let mut answers = Vec::new();
    for path in paths {
        let mut scores = [0.0; 10];
        model.run(&read_image(path)?, &mut scores)?;
        let best = (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        answers.extend(best);
    }
    Ok(answers)
}

fn main() {
    let paths: Vec<String> = env::args().skip(1).collect();
    let (first, second) = paths.split_at(paths.len() / 2);
    let answers = thread::scope(|scope| {
        let work = [first, second].map(|part| scope.spawn(|| read_digits(part).map_err(|error| error.to_string())));
        work.map(|thread| thread.join().expect("no panics"))
    });
    for answer in answers {
        match answer {
            Ok(digits) => digits.iter().for_each(|digit| println!("{digit}")),
            Err(message) => {
                eprintln!("{message}");
                process::exit(1);
            }
        }
    }
}
