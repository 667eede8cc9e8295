//! Timing of stages, and a sign of life on a terminal.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::output;
use crate::error::Stage;
use crate::pipeline::Observer;

/// A stage that takes longer than this is shown while it runs.
const PATIENCE: Duration = Duration::from_millis(700);

/// Measures stages; on a terminal, shows the one that takes long.
#[derive(Debug, Default)]
pub struct Timer {
    finished: Vec<(Stage, Duration)>,
    running: Option<(Stage, Instant, Option<Spinner>)>,
}

impl Timer {
    /// Ends the current stage.
    pub fn finish(&mut self) {
        if let Some((stage, start, spinner)) = self.running.take() {
            self.finished.push((stage, start.elapsed()));
            drop(spinner);
        }
    }

    /// The stages so far with their times, as a table.
    pub fn table(&self) -> String {
        let total: Duration = self.finished.iter().map(|(_, time)| *time).sum();
        let mut rows: Vec<Vec<String>> =
            self.finished.iter().map(|(stage, time)| vec![stage.to_string(), milliseconds(*time)]).collect();
        rows.push(vec!["total".to_owned(), milliseconds(total)]);
        output::table(&rows)
    }

    /// The stages so far with their times in milliseconds.
    pub fn json(&self) -> serde_json::Value {
        let stages = self.finished.iter().map(|(stage, time)| (stage.to_string(), (time.as_secs_f64() * 1e3).into()));
        serde_json::Value::Object(stages.collect())
    }
}

impl Observer for Timer {
    fn enter(&mut self, stage: Stage) {
        self.finish();
        self.running = Some((stage, Instant::now(), Spinner::start(stage)));
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:9.2} ms", time.as_secs_f64() * 1e3)
}

/// A thread that waits, then shows a moving sign until it is stopped.
#[derive(Debug)]
struct Spinner {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Nothing where standard error is not a terminal.
    fn start(stage: Stage) -> Option<Self> {
        if !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let show = move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(stage.name());
            while stopped.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        };
        Some(Self { stop, thread: Some(std::thread::spawn(show)) })
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // The thread has ended where nobody receives this.
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
