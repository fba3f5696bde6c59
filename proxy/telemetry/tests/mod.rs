//! The numbers and the lines that events turn into.

mod lines;
mod numbers;
