//! Hook payloads.
