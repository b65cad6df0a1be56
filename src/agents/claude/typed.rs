//! What a person typed, out of the text that Claude Code stored for it.

/// How what is submitted like a prompt begins when work in the background has ended.
const NOTICE: &str = "<task-notification>";

/// Texts of role user that no person typed: output of local commands, notices, interrupts.
const SYNTHETIC: [&str; 6] = [
    "<local-command-stdout>",
    "<local-command-caveat>",
    "<bash-stdout>",
    NOTICE,
    "Caveat: The messages below",
    "[Request interrupted by user",
];

/// Blocks that the program adds to what was typed.
const ADDED: [&str; 4] = [
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "system-reminder",
];

/// The text as typed; `None` when no person typed it.
pub fn as_typed(text: &str, has_images: bool) -> Option<String> {
    let start = text.trim_start();
    if SYNTHETIC.iter().any(|prefix| start.starts_with(prefix)) {
        return None;
    }
    if let Some(command) = slash_command(start).or_else(|| shell_command(start)) {
        return Some(command);
    }
    let stripped = strip_added(text);
    let typed = stripped.trim();
    if typed.is_empty() && !start.is_empty() && !has_images {
        return None;
    }
    Some(typed.to_owned())
}

/// Whether a text was submitted like a prompt by no person: work in the background had ended.
pub fn is_notice(text: &str) -> bool {
    text.trim_start().starts_with(NOTICE)
}

/// `<command-name>/x</command-name>…<command-args>…`: a slash command as it was typed.
fn slash_command(text: &str) -> Option<String> {
    if !text.starts_with("<command-") {
        return None;
    }
    let name = element(text, "command-name")?.trim();
    let arguments = element(text, "command-args").unwrap_or_default().trim();
    Some(format!("{name} {arguments}").trim_end().to_owned())
}

/// `<bash-input>ls</bash-input>`: a command that the person ran with `!`.
fn shell_command(text: &str) -> Option<String> {
    if !text.starts_with("<bash-input>") {
        return None;
    }
    Some(format!("!{}", element(text, "bash-input")?.trim()))
}

fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0)
}

fn strip_added(text: &str) -> String {
    let mut rest = text.to_owned();
    for name in ADDED {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(start) = rest.find(&open) {
            let Some(length) = rest.get(start..).and_then(|tail| tail.find(&close)) else {
                break;
            };
            rest.replace_range(start..start + length + close.len(), "");
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_texts_are_nobodys() {
        for text in [
            "<local-command-stdout>ok</local-command-stdout>",
            "\n<bash-stdout>x</bash-stdout>",
            "[Request interrupted by user for tool use]",
            "Caveat: The messages below were generated",
            "<system-reminder>be good</system-reminder>",
        ] {
            assert_eq!(as_typed(text, false), None, "{text}");
        }
    }

    #[test]
    fn commands_and_context_are_shown_as_typed() {
        let slash = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>the PR</command-args>";
        assert_eq!(as_typed(slash, false).as_deref(), Some("/review the PR"));
        assert_eq!(
            as_typed(
                "<command-name>/clear</command-name>\n<command-args></command-args>",
                false
            )
            .as_deref(),
            Some("/clear")
        );
        assert_eq!(
            as_typed("<bash-input>ls</bash-input>", false).as_deref(),
            Some("!ls")
        );
        assert_eq!(
            as_typed("<ide_opened_file>a.rs</ide_opened_file>\nfix it", false).as_deref(),
            Some("fix it")
        );
        assert_eq!(
            as_typed("<ide_selection>unclosed", false).as_deref(),
            Some("<ide_selection>unclosed")
        );
        assert_eq!(as_typed("", true).as_deref(), Some(""));
    }
}
