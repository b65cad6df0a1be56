//! The operations: each takes a [`Context`] and a request, and answers with an outcome. They print nothing.

pub mod outcome;
pub mod request;
