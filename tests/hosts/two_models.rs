//! Two models in one Rust program, through their generated modules.

mod kept;
mod shifted;
mod sums;

fn main() {
    let mut shifted = shifted::Model::new().unwrap();
    let mut kept = kept::Model::new().unwrap();
    let x = [-3.0, 3.0, 0.0, 1.0, 2.0, -5.0];
    let mut y = [0.0; 6];
    shifted.run(&x, &mut y).unwrap();
    assert_eq!(y, [0.0, 1.0, 0.5, 2.0, 0.0, 0.0]);
    let mut picked = [0.0; 4];
    let positive = kept.run(&x, &[0, 1, 0, 1, 1, 1], &[2, -3], &mut picked, 6).unwrap();
    assert_eq!((positive.dims, positive.data), (vec![4], vec![3.0, 1.0, 2.0, 0.0]));
    assert_eq!(picked, [20.0, 21.0, 0.0, 1.0]);
    let error = kept.run(&x, &[0; 6], &[9, 0], &mut picked, 6).unwrap_err();
    assert!(error.code == 10 && error.message.contains("Gather"), "{error}");
    assert_eq!(shifted.run(&x[1..], &mut y).unwrap_err().code, 4);

    // Contexts move to other threads and run at once.
    let workers: Vec<_> = (1..5usize)
        .map(|rows| {
            let mut model = sums::Model::new().unwrap();
            std::thread::spawn(move || {
                for _ in 0..100 {
                    let x = vec![rows as f32; 4 * rows];
                    let mut y = vec![0.0; 8 * rows];
                    model.run(&x, &mut y, rows as i64).unwrap();
                    assert_eq!(y[8 * rows - 1], (2 * rows * rows) as f32);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    // The program's own panics and allocations are untouched by the stubs inside the models.
    assert!(std::panic::catch_unwind(|| panic!("expected")).is_err());
}
