//! What stands before the panes: help, questions, typed lines, and what came of a command.

use std::ffi::OsString;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line as Text;
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::super::dialogs::HELP;
use super::super::model::{Dialog, Model, Purpose};
use super::super::plans;
use super::super::text::shown;
use crate::text::command_line;

/// Draws it, if there is any.
pub fn view(model: &Model, frame: &mut Frame<'_>) {
    match &model.dialog {
        None => {}
        Some(Dialog::Help(top)) => {
            boxed(frame, "keys", HELP, *top, "any key closes; j k scroll");
        }
        Some(Dialog::Ask(plan, text, top)) => {
            let command = format!("{}\n\n{text}", command(&plan.real));
            boxed(
                frame,
                "do this?",
                &command,
                *top,
                "[ no: Enter ]   yes: y   j k scroll",
            );
        }
        Some(Dialog::Told(text, top)) => {
            boxed(frame, "tw", text, *top, "any key closes; j k scroll");
        }
        Some(Dialog::Rewind(checkpoint)) => {
            let text = format!(
                "To checkpoint {checkpoint}:\n\n  c  the files\n  v  the conversation: a fork of it\n  b  both"
            );
            boxed(
                frame,
                "rewind",
                &text,
                0,
                "c, v or b shows what it would do; other keys close",
            );
        }
        Some(Dialog::Input(purpose, typed)) => {
            let question = match purpose {
                Purpose::Search(_) => "search for",
                Purpose::Label(_) => "label",
                Purpose::Report(_, given) => plans::REPORT
                    .get(given.len())
                    .map_or("", |(_, question)| question),
            };
            boxed(
                frame,
                question,
                &format!("{typed}_"),
                0,
                "Enter; Esc gives it up",
            );
        }
    }
}

/// A command line as a person would type it.
pub fn command(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("tw".to_owned()).chain(words).collect();
    command_line(&words)
}

/// A box in the middle of the screen, as large as its text.
fn boxed(frame: &mut Frame<'_>, title: &str, text: &str, top: usize, keys: &str) {
    let screen = frame.area();
    let width = screen.width.min(100);
    let inner = usize::from(width.saturating_sub(2)).max(1);
    let lines: Vec<Text<'_>> = text.lines().map(|line| Text::raw(shown(line))).collect();
    let wrapped: usize = lines
        .iter()
        .map(|line| line.width().div_ceil(inner).max(1))
        .sum();
    let height = u16::try_from(wrapped + 2)
        .unwrap_or(u16::MAX)
        .min(screen.height);
    let area = Rect::new(
        (screen.width - width) / 2,
        (screen.height - height) / 2,
        width,
        height,
    );
    let block = Block::bordered()
        .title(format!(" {title} "))
        .title_bottom(Text::styled(
            format!(" {keys} "),
            Style::new().add_modifier(Modifier::REVERSED),
        ));
    let lines: Vec<Text<'_>> = lines.into_iter().skip(top).collect();
    let text = Paragraph::new(lines)
        .wrap(Wrap { trim: false })
        .block(block);
    frame.render_widget(Clear, area);
    frame.render_widget(text, area);
}
