//! Keys while something stands before the rest: a question, a line that is typed, what came of a command.
//!
//! Promises: in a question Enter, Escape and every other key mean no; only `y` is a yes.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{Dialog, Model, Purpose};
use super::plans;
use super::update::{Effect, search};

/// The keys, in lines that 60 columns hold.
pub const HELP: &str = "\
j k, arrows   move; g G the ends
Ctrl-d Ctrl-u half a page
Tab           the next pane; Enter the diff; Esc back
/  n  N       search in the pane, the next, the one before
m             mark (two at most)
c             compare the two marks, or the mark with this
+             more of a long diff
t             travel there
b             back: return to the present
r             restore all of it; in the diff this file
h             in the diff: restore this hunk
R             rewind to the prompt: files, conversation
u  U          undo, redo
l             label
o             open it in a directory of its own
i             report an issue
y             copy the id
Ctrl-l, F5    read anew
q, Ctrl-c     quit

Whatever changes something shows first what it would do,
and asks; Enter means no.";

/// Takes a key in.
pub fn on_key(model: &mut Model, key: KeyEvent, effects: &mut Vec<Effect>) {
    match model.dialog.take() {
        Some(Dialog::Ask(plan, text, top)) => match (key.code, scrolled(key.code, top, &text)) {
            (KeyCode::Char('y'), _) => effects.push(Effect::Run(plan)),
            (_, Some(top)) => model.dialog = Some(Dialog::Ask(plan, text, top)),
            _ => model.message = Some("nothing was done".to_owned()),
        },
        Some(Dialog::Told(text, top)) => {
            if let Some(top) = scrolled(key.code, top, &text) {
                model.dialog = Some(Dialog::Told(text, top));
            }
        }
        Some(Dialog::Input(purpose, typed)) => typing(model, purpose, typed, key, effects),
        Some(Dialog::Rewind(checkpoint)) => {
            let part = match key.code {
                KeyCode::Char('b') => "--both",
                KeyCode::Char('c') => "--code",
                KeyCode::Char('v') => "--conversation",
                _ => return,
            };
            effects.push(Effect::DryRun(plans::rewind(&checkpoint, part)));
        }
        Some(Dialog::Help(top)) => {
            model.dialog = scrolled(key.code, top, HELP).map(Dialog::Help);
        }
        None => {}
    }
}

/// Where a text is shown from after this key; None when it is none that scrolls.
fn scrolled(key: KeyCode, top: usize, text: &str) -> Option<usize> {
    let last = text.lines().count().saturating_sub(1);
    match key {
        KeyCode::Down | KeyCode::Char('j') => Some((top + 1).min(last)),
        KeyCode::Up | KeyCode::Char('k') => Some(top.saturating_sub(1)),
        KeyCode::PageDown => Some((top + 10).min(last)),
        KeyCode::PageUp => Some(top.saturating_sub(10)),
        _ => None,
    }
}

fn typing(
    model: &mut Model,
    purpose: Purpose,
    mut typed: String,
    key: KeyEvent,
    effects: &mut Vec<Effect>,
) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => return,
        KeyCode::Enter => return finished(model, purpose, &typed, effects),
        KeyCode::Backspace => {
            typed.pop();
        }
        KeyCode::Char('u') if control => typed.clear(),
        KeyCode::Char('w') if control => {
            let kept = typed.trim_end().rfind(' ').map_or(0, |at| at + 1);
            typed.truncate(kept);
        }
        KeyCode::Char(letter) if !control => typed.push(letter),
        _ => {}
    }
    model.dialog = Some(Dialog::Input(purpose, typed));
}

fn finished(model: &mut Model, purpose: Purpose, typed: &str, effects: &mut Vec<Effect>) {
    let text = typed.trim();
    match purpose {
        Purpose::Search(pane) => search(model, text, pane, effects),
        _ if text.is_empty() => model.message = Some("nothing was done".to_owned()),
        Purpose::Label(id) => effects.push(Effect::DryRun(plans::label(&id, text))),
        Purpose::Report(snapshot, mut given) => {
            given.push(text.to_owned());
            if given.len() < plans::REPORT.len() {
                model.dialog = Some(Dialog::Input(
                    Purpose::Report(snapshot, given),
                    String::new(),
                ));
            } else {
                effects.push(Effect::DryRun(plans::report(snapshot.as_deref(), &given)));
            }
        }
    }
}
