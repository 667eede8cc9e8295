//! Hostile input: whatever the file, the compiler gives an artifact or a message, in bounded time and memory.

mod child;
mod directed;
mod mutate;
mod random;
