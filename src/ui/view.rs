//! Draws the model: the timeline at the left, the diff at the right, the prompt below, and what stands before them.
//!
//! Pure. Promises: every text from elsewhere goes through [`shown`]; signs and words tell what colours tell.

mod dialog;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::layout::{Areas, areas};
use super::model::{Model, Pane, Row, Subject, Theme};
use super::patch::{Kind, Line};
use super::rows::{counts, short, when};
use super::text::shown;
use crate::ops::timeline::{Entry, EntryKind};
use crate::text::syntax::Ink;

/// Draws all of it.
pub fn view(model: &Model, frame: &mut Frame<'_>) {
    let areas = areas(model);
    let drawn = frame.area();
    // The terminal may be smaller than what was told of it last.
    let fit = |area: Rect| area.intersection(drawn);
    let panes = [
        (areas.list, Pane::List, list_title(model)),
        (areas.diff, Pane::Diff, diff_title(model)),
        (areas.prompt, Pane::Prompt, prompt_title(model)),
    ];
    for (area, pane, text) in panes {
        if !area.is_empty() {
            let above = Rect::new(area.x, area.y - 1, area.width, 1);
            frame.render_widget(
                title(&text, model.pane == pane, model.theme, area.width),
                fit(above),
            );
        }
    }
    list(model, frame, fit(areas.list));
    diff(model, frame, fit(areas.diff));
    between(model, frame, &areas);
    let (_, text) = model.text_below();
    let lines: Vec<Text<'_>> = text.lines().map(|line| Text::raw(shown(line))).collect();
    let lines = lines.into_iter().skip(model.prompt_top).collect::<Vec<_>>();
    let prompt = Paragraph::new(lines).wrap(Wrap { trim: false });
    frame.render_widget(prompt, fit(areas.prompt));
    frame.render_widget(status(model), fit(areas.status));
    dialog::view(model, frame);
}

fn colored(theme: Theme, color: Color) -> Style {
    if theme.color {
        Style::new().fg(color)
    } else {
        Style::new()
    }
}

/// The line above a pane; that of the pane with the keys is reversed.
fn title(text: &str, focused: bool, theme: Theme, width: u16) -> Paragraph<'static> {
    let rule = if theme.unicode { "─" } else { "-" };
    let style = if focused {
        Style::new().add_modifier(Modifier::REVERSED)
    } else {
        Style::new().add_modifier(Modifier::DIM)
    };
    let mut line = vec![Span::styled(format!(" {} ", shown(text)), style)];
    let dim = Style::new().add_modifier(Modifier::DIM);
    line.push(Span::styled(rule.repeat(usize::from(width)), dim));
    Paragraph::new(Text::from(line))
}

fn list_title(model: &Model) -> String {
    let more = if model.ended { "" } else { "+" };
    format!("timeline {}{more}", model.entries.len())
}

fn diff_title(model: &Model) -> String {
    let of = match &model.diff.subject {
        Some(Subject::Between(from, to)) => format!("{} to {}", short(from), short(to)),
        Some(Subject::Entry(entry)) => short(&entry.id).to_owned(),
        None => String::new(),
    };
    let waits = if model.diff.done || model.diff.subject.is_none() {
        ""
    } else {
        " …"
    };
    format!("diff {of}{waits}")
}

fn prompt_title(model: &Model) -> String {
    let (what, _) = model.text_below();
    if what.is_empty() {
        "prompt".to_owned()
    } else {
        what
    }
}

fn between(model: &Model, frame: &mut Frame<'_>, areas: &Areas) {
    if areas.list.is_empty() || areas.diff.is_empty() {
        return;
    }
    let line = if model.theme.unicode { "│" } else { "|" };
    let area = Rect::new(areas.list.right(), 0, 1, areas.list.bottom());
    let lines: Vec<Text<'_>> = (0..area.height).map(|_| Text::raw(line)).collect();
    let dim = Style::new().add_modifier(Modifier::DIM);
    frame.render_widget(
        Paragraph::new(lines).style(dim),
        area.intersection(frame.area()),
    );
}

fn list(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let rows = model.rows.iter().enumerate().skip(model.top);
    let rows: Vec<_> = rows.take(usize::from(area.height)).collect();
    if rows.is_empty() && !area.is_empty() {
        let text = if model.ended {
            "nothing happened yet"
        } else {
            "reading …"
        };
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let times = rows.iter().filter_map(|(_, row)| entry_of(model, row));
    let times = times.map(|entry| when(model.now, &entry.at).len());
    let wide = times.max().unwrap_or(0);
    let lines = rows.into_iter().map(|(at, row)| match row {
        Row::Group(heading) => {
            let bold = colored(model.theme, Color::Cyan).add_modifier(Modifier::BOLD);
            let room = usize::from(area.width);
            Text::styled(cut(&shown(heading), room, model.theme), bold)
        }
        Row::Entry(_) => match entry_of(model, row) {
            Some(entry) => entry_line(model, entry, at == model.cursor, wide, area.width),
            None => Text::default(),
        },
    });
    let lines: Vec<Text<'_>> = lines.collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn entry_of<'m>(model: &'m Model, row: &Row) -> Option<&'m Entry> {
    match row {
        Row::Entry(at) => model.entries.get(*at),
        Row::Group(_) => None,
    }
}

/// Cursor, mark, rail, sign, time, title; at the right what changed.
fn entry_line(model: &Model, entry: &Entry, here: bool, wide: usize, width: u16) -> Text<'static> {
    let theme = model.theme;
    let mark = model.marks.iter().position(|mark| *mark == entry.id);
    let mark = match mark {
        Some(0) => "1",
        Some(_) => "2",
        None => " ",
    };
    let rail = match (entry.kind, &entry.session_id) {
        (_, None) => "",
        (EntryKind::Prompt, _) => "",
        _ => "  ",
    };
    let cursor = if here { ">" } else { " " };
    let time = when(model.now, &entry.at);
    let claimed = entry.claimed_by.as_ref();
    let claimed = claimed.map(|name| format!("(claimed by {}) ", shown(name)));
    let labels: String = entry
        .labels
        .iter()
        .map(|label| format!("[{}] ", shown(label)))
        .chain(claimed)
        .collect();
    let start = format!("{cursor}{mark}{time:>wide$} {rail}");
    let counts = counts(entry);
    let room = usize::from(width).saturating_sub(start.chars().count() + 3 + counts.len());
    let said = cut(&format!("{labels}{}", shown(&entry.title)), room, theme);
    let gap = room.saturating_sub(Span::raw(said.as_str()).width());
    let sign = format!("{} ", entry.kind.sign(theme.unicode));
    let (color, bold) = match entry.kind {
        EntryKind::Prompt => (Color::Yellow, Modifier::BOLD),
        EntryKind::Swap => (Color::Magenta, Modifier::empty()),
        EntryKind::Issue => (Color::Red, Modifier::BOLD),
        _ => (Color::Reset, Modifier::empty()),
    };
    let gap = " ".repeat(gap + 1);
    if here {
        // Of one colour: reversed, each would be another background.
        let line = format!("{start}{sign}{said}{gap}{counts}");
        let style = Style::new().add_modifier(Modifier::REVERSED | bold);
        return Text::styled(line, style);
    }
    Text::from(vec![
        Span::raw(start),
        Span::styled(sign, colored(theme, color)),
        Span::styled(said, colored(theme, color).add_modifier(bold)),
        Span::raw(gap),
        Span::styled(counts, Style::new().add_modifier(Modifier::DIM)),
    ])
}

/// As much of a text as fits, with a mark that something is missing.
fn cut(text: &str, room: usize, theme: Theme) -> String {
    if Span::raw(text).width() <= room {
        return text.to_owned();
    }
    let mark = if theme.unicode { "…" } else { "." };
    let mut out = String::new();
    let mut wide = 0;
    for ch in text.chars() {
        wide += Span::raw(ch.to_string()).width();
        if wide + 1 > room {
            break;
        }
        out.push(ch);
    }
    if room > 0 { out + mark } else { out }
}

fn diff(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let lines = model.diff.lines.iter().enumerate().skip(model.diff.top);
    let lines: Vec<Text<'_>> = lines
        .take(usize::from(area.height))
        .map(|(at, line)| diff_line(model, line, at == model.diff.cursor, area.width))
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn diff_line(model: &Model, line: &Line, here: bool, width: u16) -> Text<'static> {
    let theme = model.theme;
    let (sign, style) = match line.kind {
        Kind::File => (
            "",
            colored(theme, Color::Yellow).add_modifier(Modifier::BOLD),
        ),
        Kind::Remark => ("  ", Style::new().add_modifier(Modifier::ITALIC)),
        Kind::Hunk => ("", colored(theme, Color::Cyan)),
        Kind::Context => (" ", Style::new()),
        Kind::Added => ("+", colored(theme, Color::Green)),
        Kind::Removed => ("-", colored(theme, Color::Red)),
        Kind::More => ("", Style::new().add_modifier(Modifier::BOLD)),
    };
    if here && model.pane == Pane::Diff {
        let text = format!("{sign}{}", line.text());
        let gap = usize::from(width).saturating_sub(Span::raw(text.as_str()).width());
        let style = style.add_modifier(Modifier::REVERSED);
        return Text::styled(text + &" ".repeat(gap), style);
    }
    let mut spans = vec![Span::styled(sign, style)];
    for part in &line.parts {
        let mut look = match part.ink {
            Ink::Plain => style,
            Ink::Comment => colored(theme, Color::DarkGray).add_modifier(Modifier::ITALIC),
            Ink::Text => colored(theme, Color::Cyan),
            Ink::Number => colored(theme, Color::Magenta),
            Ink::Keyword => style.patch(colored(theme, Color::Blue)),
        };
        if part.changed {
            look = style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        }
        spans.push(Span::styled(part.text.clone(), look));
    }
    Text::from(spans)
}

fn status(model: &Model) -> Paragraph<'static> {
    let text = match (&model.message, &model.search) {
        (Some(message), _) => shown(message),
        (None, Some(search)) => {
            let searched = format!("/{}", shown(&search.text));
            fitting(
                model,
                &[searched.as_str(), "n on", "N back", "? keys", "q quit"],
            )
        }
        _ => fitting(model, keys(model.pane)),
    };
    Paragraph::new(text).style(Style::new().add_modifier(Modifier::DIM))
}

/// What the last line tells of the keys; what is most wanted comes first, as narrow screens have no room for the rest.
fn keys(pane: Pane) -> &'static [&'static str] {
    match pane {
        Pane::List => &[
            "? keys",
            "q quit",
            "Tab pane",
            "Enter open",
            "/ search",
            "t travel",
            "r restore",
            "u undo",
        ],
        Pane::Diff => &[
            "? keys",
            "q quit",
            "Tab pane",
            "h restore hunk",
            "r file",
            "/ search",
            "Esc back",
        ],
        Pane::Prompt => &["? keys", "q quit", "Tab pane", "Esc back"],
    }
}

/// As many of these as the last line holds.
fn fitting(model: &Model, parts: &[&str]) -> String {
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        let wide = Span::raw(format!("{line}{gap}{part}")).width();
        if wide > usize::from(model.size.0) && !line.is_empty() {
            break;
        }
        line = line + gap + part;
    }
    line
}
