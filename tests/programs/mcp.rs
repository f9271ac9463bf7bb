//! `highwater mcp`, as a client starts it: through pipes.

mod client;
mod lines;
mod page;
mod protocol;
mod reading;
mod symbols;
mod tools;
