//! Writing results.

use std::io::{self, Write};

use super::failure::{Failure, Result};

/// Prints text that ends in a line break. A reader that has gone away is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Message(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a JSON value.
pub fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", count as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", count as f64 / 1_073_741_824.0),
    }
}

/// Rows under one another, all columns but the last as wide as their widest cell.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, &width) in row.iter().zip(&widths) {
            line.push_str(&format!(" {cell:width$} "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_their_columns() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        assert_eq!(table(&[row(["a", "1"]), row(["bcd", "2"])]), "  a    1\n  bcd  2\n");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!([bytes(7), bytes(1536), bytes(3 << 20)], ["7 B", "1.5 KiB", "3.0 MiB"]);
    }
}
