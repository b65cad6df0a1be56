//! Agents whose sessions are not read here: they are known by name, hooks and resume command.
//!
//! Sessions of Cursor and Copilot have no documented form: their files can be rewound, their conversations cannot. `generic` is
//! any harness that calls `tw` itself.

use super::{Agent, words};

/// An agent without readable session files.
pub struct Plain {
    name: &'static str,
    title: &'static str,
    program: Option<&'static str>,
    resume: &'static str,
}

/// Cursor's command line agent.
pub static CURSOR: Plain = Plain {
    name: "cursor",
    title: "Cursor",
    program: Some("cursor-agent"),
    resume: "--resume",
};

/// Copilot's command line agent.
pub static COPILOT: Plain = Plain {
    name: "copilot",
    title: "Copilot CLI",
    program: Some("copilot"),
    resume: "--resume",
};

/// Any other harness.
pub static GENERIC: Plain = Plain {
    name: "generic",
    title: "generic agent",
    program: None,
    resume: "",
};

impl Agent for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn start_command(&self) -> Option<Vec<String>> {
        Some(words(&[self.program?]))
    }

    fn resume_command(&self, session_id: &str) -> Option<Vec<String>> {
        Some(words(&[self.program?, self.resume, session_id]))
    }
}
