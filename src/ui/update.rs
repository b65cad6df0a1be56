//! What a key, a click or an answer does: it changes the model, and says what is to be done outside of it.
//!
//! Pure. Promises: nothing that changes files or records is asked for but as a [`Plan`] whose question was answered with `y`.

use ratatui::crossterm::event::{
    Event as Terminal, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind,
};

use super::dialogs;
use super::layout::{self, Areas};
use super::model::{Dialog, FIRST_LINES, Model, Pane, Plan, Purpose, Row, Search, Subject};
use super::patch::{Kind, Line};
use super::plans;
use crate::ops::timeline::Entry;

/// This many entries are asked for first: two screens of most terminals. The timeline reads so few one by one, and all that are kept
/// when more are wanted, which takes longer than anybody should wait for a screen.
const FIRST: usize = 60;
/// This many are asked for at a time later on.
const PAGE: usize = 200;
/// The same while searching, which is not shown.
const LEAP: usize = 2000;

/// What happens to the program.
#[derive(Debug)]
pub enum Event {
    /// At the terminal.
    Terminal(Terminal),
    /// Older entries came; fewer than were asked for are the last.
    Page {
        /// Which reading they belong to.
        reading: u64,
        /// They.
        entries: Vec<Entry>,
        /// Nothing is older.
        ended: bool,
    },
    /// Entries of which lines were counted, by their numbers.
    Counted(u64, Vec<(usize, Entry)>),
    /// Lines of the diff.
    Lines {
        /// The number of the question.
        asked: u64,
        /// They.
        lines: Vec<Line>,
        /// These are the last.
        done: bool,
    },
    /// What a dry run said: the plan, whether it can be done, and the words.
    Looked(Plan, bool, String),
    /// What came of a command.
    Ran(String),
    /// Something failed that nobody asked a question for.
    Failed(String),
}

/// What is to be done outside of the model.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Read on.
    Page(u64, usize),
    /// Count what these changed.
    Count(u64, Vec<(usize, Entry)>),
    /// Make a diff, of this many lines at most.
    Diff(u64, Subject, usize),
    /// Begin the entries anew.
    Reload,
    /// Find out what a plan would do.
    DryRun(Plan),
    /// Do it.
    Run(Plan),
    /// Put this in the clipboard.
    Copy(String),
    /// Stop, as Ctrl-Z does.
    Suspend,
    /// End.
    Quit,
}

/// What is asked for at the very beginning.
pub fn begin(model: &mut Model) -> Vec<Effect> {
    model.awaited = true;
    vec![Effect::Page(model.reading, FIRST)]
}

/// Takes an event in.
pub fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    match event {
        Event::Terminal(event) => on_terminal(model, event, &mut effects),
        Event::Page {
            reading,
            entries,
            ended,
        } if reading == model.reading => on_page(model, entries, ended, &mut effects),
        Event::Counted(reading, entries) if reading == model.reading => {
            for (at, counted) in entries {
                if let Some(entry) = model.entries.get_mut(at) {
                    *entry = counted;
                }
            }
        }
        Event::Lines { asked, lines, done } if asked == model.diff.asked => {
            model.diff.lines.extend(lines);
            model.diff.done = done;
        }
        // Too late: something else is asked for by now.
        Event::Page { .. } | Event::Counted(..) | Event::Lines { .. } => {}
        Event::Looked(plan, true, text) => model.dialog = Some(Dialog::Ask(plan, text, 0)),
        Event::Looked(_, false, text) => model.dialog = Some(Dialog::Told(text, 0)),
        Event::Ran(text) => {
            model.dialog = Some(Dialog::Told(text, 0));
            reload(model, &mut effects);
        }
        Event::Failed(text) => model.message = Some(text),
    }
    settle(model, &mut effects);
    effects
}

/// Keeps cursors on the screen, and asks for what the screen shows and has not.
fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let areas = layout::areas(model);
    let height = usize::from(areas.list.height);
    scroll(&mut model.top, model.cursor, height, model.rows.len());
    // The heading of the first entry.
    if model.top == 1 && model.cursor < height {
        model.top = 0;
    }
    let height = usize::from(areas.diff.height);
    let last = model.diff.lines.len().saturating_sub(1);
    model.diff.cursor = model.diff.cursor.min(last);
    scroll(
        &mut model.diff.top,
        model.diff.cursor,
        height,
        model.diff.lines.len(),
    );
    let shown = usize::from(areas.list.height);
    if model.top + 2 * shown > model.rows.len() {
        more(model, PAGE, effects);
    }
    count(model, shown, effects);
}

fn scroll(top: &mut usize, cursor: usize, height: usize, length: usize) {
    let height = height.max(1);
    *top = (*top).min(cursor).max((cursor + 1).saturating_sub(height));
    // Where there is more than fits, all of the pane is used.
    *top = (*top).min(length.saturating_sub(height));
}

fn more(model: &mut Model, entries: usize, effects: &mut Vec<Effect>) {
    if !model.ended && !model.awaited {
        model.awaited = true;
        effects.push(Effect::Page(model.reading, entries));
    }
}

/// Lines are counted for those on the screen alone.
fn count(model: &mut Model, shown: usize, effects: &mut Vec<Effect>) {
    let rows = model.rows.iter().skip(model.top).take(shown);
    let wanted: Vec<usize> = rows
        .filter_map(|row| match row {
            Row::Entry(at) => Some(*at),
            Row::Group(_) => None,
        })
        .filter(|at| !model.counted.contains(at))
        .collect();
    if wanted.is_empty() {
        return;
    }
    model.counted.extend(&wanted);
    let entry = |at: usize| model.entries.get(at).map(|entry| (at, entry.clone()));
    let entries = wanted.into_iter().filter_map(entry).collect();
    effects.push(Effect::Count(model.reading, entries));
}

fn reload(model: &mut Model, effects: &mut Vec<Effect>) {
    model.reading += 1;
    model.entries.clear();
    model.rows.clear();
    model.counted.clear();
    (model.cursor, model.top, model.ended) = (0, 0, false);
    model.diff.subject = None;
    effects.push(Effect::Reload);
    model.awaited = true;
    effects.push(Effect::Page(model.reading, FIRST));
}

fn on_page(model: &mut Model, entries: Vec<Entry>, ended: bool, effects: &mut Vec<Effect>) {
    let first = model.entries.is_empty();
    model.add(entries);
    model.ended = ended;
    model.awaited = false;
    if first {
        select(model, 1, effects);
    }
    if model.search.as_ref().is_some_and(|search| search.waiting) {
        find(model, true, effects);
    }
    if model.to_end {
        to_end(model, effects);
    }
}

fn on_terminal(model: &mut Model, event: Terminal, effects: &mut Vec<Effect>) {
    match event {
        Terminal::Resize(columns, lines) => model.size = (columns, lines),
        Terminal::Key(key) if key.kind != KeyEventKind::Release => on_key(model, key, effects),
        Terminal::Mouse(mouse) if model.dialog.is_none() => on_mouse(model, mouse, effects),
        // What is pasted is text and no keys.
        Terminal::Paste(text) => {
            if let Some(Dialog::Input(_, typed)) = &mut model.dialog {
                typed.extend(
                    text.chars()
                        .map(|ch| if ch == '\n' || ch == '\r' { ' ' } else { ch }),
                );
            }
        }
        _ => {}
    }
}

fn on_key(model: &mut Model, key: KeyEvent, effects: &mut Vec<Effect>) {
    model.message = None;
    model.to_end = false;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => effects.push(Effect::Quit),
        KeyCode::Char('z') if control => effects.push(Effect::Suspend),
        _ if model.dialog.is_some() => dialogs::on_key(model, key, effects),
        KeyCode::Char(letter) if control => on_control(model, letter, effects),
        KeyCode::Char(letter) => on_letter(model, letter, effects),
        other => on_other(model, other, effects),
    }
}

fn on_control(model: &mut Model, letter: char, effects: &mut Vec<Effect>) {
    let half = isize::try_from(height(model) / 2).unwrap_or(1).max(1);
    match letter {
        'd' => step(model, half, effects),
        'u' => step(model, -half, effects),
        'f' => step(model, half * 2, effects),
        'b' => step(model, half * -2, effects),
        'n' => step(model, 1, effects),
        'p' => step(model, -1, effects),
        'l' => reload(model, effects),
        _ => {}
    }
}

fn on_other(model: &mut Model, key: KeyCode, effects: &mut Vec<Effect>) {
    let page = isize::try_from(height(model)).unwrap_or(1).max(1);
    match key {
        KeyCode::Down => step(model, 1, effects),
        KeyCode::Up => step(model, -1, effects),
        KeyCode::PageDown => step(model, page, effects),
        KeyCode::PageUp => step(model, -page, effects),
        KeyCode::Home => step(model, isize::MIN, effects),
        KeyCode::End => to_end(model, effects),
        KeyCode::Tab | KeyCode::Right => turn(model, 1),
        KeyCode::BackTab | KeyCode::Left => turn(model, 2),
        KeyCode::Enter => enter(model, effects),
        KeyCode::Esc => model.pane = Pane::List,
        KeyCode::F(5) => reload(model, effects),
        _ => {}
    }
}

fn on_letter(model: &mut Model, letter: char, effects: &mut Vec<Effect>) {
    match letter {
        'j' => step(model, 1, effects),
        'k' => step(model, -1, effects),
        'g' => step(model, isize::MIN, effects),
        'G' => to_end(model, effects),
        'q' => effects.push(Effect::Quit),
        '?' => model.dialog = Some(Dialog::Help(0)),
        '/' => model.dialog = Some(Dialog::Input(Purpose::Search(model.pane), String::new())),
        'n' => find(model, true, effects),
        'N' => find(model, false, effects),
        'm' | ' ' => mark(model),
        'c' => compare(model, effects),
        'y' => copy(model, effects),
        '+' => widen(model, effects),
        _ => plans::on_letter(model, letter, effects),
    }
}

fn height(model: &Model) -> usize {
    let Areas {
        list, diff, prompt, ..
    } = layout::areas(model);
    usize::from(match model.pane {
        Pane::List => list.height,
        Pane::Diff => diff.height,
        Pane::Prompt => prompt.height,
    })
}

/// The next pane, or with 2 the one before.
fn turn(model: &mut Model, by: usize) {
    let order = [Pane::List, Pane::Diff, Pane::Prompt];
    let at = order.iter().position(|pane| *pane == model.pane);
    let next = (at.unwrap_or(0) + by) % order.len();
    model.pane = order.get(next).copied().unwrap_or(Pane::List);
}

fn enter(model: &mut Model, effects: &mut Vec<Effect>) {
    match model.pane {
        Pane::List => model.pane = Pane::Diff,
        Pane::Diff => {
            let line = model.diff.lines.get(model.diff.cursor);
            if line.is_some_and(|line| line.kind == Kind::More) {
                widen(model, effects);
            }
        }
        Pane::Prompt => {}
    }
}

fn step(model: &mut Model, by: isize, effects: &mut Vec<Effect>) {
    match model.pane {
        Pane::List => {
            let to = model.cursor.saturating_add_signed(by);
            let to = to.min(model.rows.len().saturating_sub(1));
            let down = by > 0;
            let to = match model.rows.get(to) {
                Some(Row::Group(_)) if down || to == 0 => to + 1,
                Some(Row::Group(_)) => to - 1,
                _ => to,
            };
            select(model, to, effects);
        }
        Pane::Diff => model.diff.cursor = model.diff.cursor.saturating_add_signed(by),
        Pane::Prompt => {
            let lines = layout::prompt_lines(model);
            let to = model.prompt_top.saturating_add_signed(by);
            model.prompt_top = to.min(lines.saturating_sub(1));
        }
    }
}

/// Goes to the end of what a pane shows: of the list, when all of it is read.
fn to_end(model: &mut Model, effects: &mut Vec<Effect>) {
    model.to_end = model.pane == Pane::List && !model.ended;
    if model.to_end {
        model.message = Some(format!("reading {} …", model.entries.len()));
        more(model, LEAP, effects);
    } else {
        model.message = None;
        step(model, isize::MAX, effects);
    }
}

/// Puts the cursor on a row, and asks for its diff.
fn select(model: &mut Model, row: usize, effects: &mut Vec<Effect>) {
    if !matches!(model.rows.get(row), Some(Row::Entry(_))) {
        return;
    }
    if row == model.cursor && model.diff.subject.is_some() {
        return;
    }
    model.cursor = row;
    model.prompt_top = 0;
    if let Some(entry) = model.entry() {
        let subject = Subject::Entry(Box::new(entry.clone()));
        ask(model, subject, FIRST_LINES, effects);
    }
}

fn ask(model: &mut Model, subject: Subject, limit: usize, effects: &mut Vec<Effect>) {
    let diff = &mut model.diff;
    diff.asked += 1;
    diff.lines.clear();
    diff.done = false;
    if limit == FIRST_LINES {
        (diff.cursor, diff.top) = (0, 0);
    }
    diff.limit = limit;
    diff.subject = Some(subject.clone());
    effects.push(Effect::Diff(diff.asked, subject, limit));
}

/// Four times as many lines of the same diff.
fn widen(model: &mut Model, effects: &mut Vec<Effect>) {
    let more = model.diff.lines.iter().any(|line| line.kind == Kind::More);
    if let Some(subject) = model.diff.subject.clone().filter(|_| more) {
        let limit = model.diff.limit.saturating_mul(4);
        ask(model, subject, limit, effects);
    }
}

fn mark(model: &mut Model) {
    let Some(id) = model.snapshot().map(str::to_owned) else {
        model.message = Some("an issue has no files to compare".to_owned());
        return;
    };
    if let Some(at) = model.marks.iter().position(|mark| *mark == id) {
        model.marks.remove(at);
        return;
    }
    if model.marks.len() == 2 {
        model.marks.remove(0);
    }
    model.marks.push(id);
}

/// Shows what differs between the two marks, or from the one mark to the entry.
fn compare(model: &mut Model, effects: &mut Vec<Effect>) {
    let here = model.snapshot().map(str::to_owned);
    let pair = match (model.marks.as_slice(), here) {
        ([from, to], _) => Some((from.clone(), to.clone())),
        ([from], Some(here)) => Some((from.clone(), here)),
        _ => None,
    };
    match pair {
        Some((from, to)) => {
            ask(model, Subject::Between(from, to), FIRST_LINES, effects);
            model.pane = Pane::Diff;
        }
        None => model.message = Some("mark one or two with m first, then c compares".to_owned()),
    }
}

fn copy(model: &mut Model, effects: &mut Vec<Effect>) {
    if let Some(id) = model.entry().map(|entry| entry.id.clone()) {
        model.message = Some(format!("copied {id}"));
        effects.push(Effect::Copy(id));
    }
}

/// Begins a search.
pub fn search(model: &mut Model, text: &str, pane: Pane, effects: &mut Vec<Effect>) {
    if !text.is_empty() {
        model.search = Some(Search {
            text: text.to_owned(),
            pane,
            waiting: false,
        });
    }
    find(model, true, effects);
}

/// Goes to the next place that has what is searched for.
fn find(model: &mut Model, onward: bool, effects: &mut Vec<Effect>) {
    let Some(mut search) = model.search.take() else {
        model.message = Some("/ searches".to_owned());
        return;
    };
    if std::mem::take(&mut search.waiting) {
        // That it is searching.
        model.message = None;
    }
    if search.pane == Pane::List {
        let has = |at: &usize| match model.rows.get(*at) {
            Some(Row::Entry(entry)) => model
                .entries
                .get(*entry)
                .is_some_and(|entry| entry_matches(&search, entry)),
            _ => false,
        };
        let found = if onward {
            (model.cursor + 1..model.rows.len()).find(has)
        } else {
            (0..model.cursor).rev().find(has)
        };
        match found {
            Some(row) => select(model, row, effects),
            None if onward && !model.ended => {
                search.waiting = true;
                model.message = Some(format!("searching {} …", model.entries.len()));
                more(model, LEAP, effects);
            }
            None => model.message = Some(nowhere(&search, onward)),
        }
    } else {
        let has = |at: &usize| {
            let line = model.diff.lines.get(*at);
            line.is_some_and(|line| search.matches(&line.text()))
        };
        let found = if onward {
            (model.diff.cursor + 1..model.diff.lines.len()).find(has)
        } else {
            (0..model.diff.cursor).rev().find(has)
        };
        match found {
            Some(line) => model.diff.cursor = line,
            None => model.message = Some(nowhere(&search, onward)),
        }
    }
    model.search = Some(search);
}

fn nowhere(search: &Search, onward: bool) -> String {
    let way = if onward { "further down" } else { "further up" };
    format!("'{}' is not found {way}", search.text)
}

fn entry_matches(search: &Search, entry: &Entry) -> bool {
    let texts = [&entry.title, &entry.text, &entry.id];
    let mut texts = texts.into_iter().chain(&entry.labels);
    texts.any(|text| search.matches(text))
}

fn on_mouse(model: &mut Model, mouse: MouseEvent, effects: &mut Vec<Effect>) {
    let areas = layout::areas(model);
    let Some(pane) = areas.pane_at(mouse.column, mouse.row) else {
        return;
    };
    match mouse.kind {
        MouseEventKind::ScrollDown | MouseEventKind::ScrollUp => {
            let by = if mouse.kind == MouseEventKind::ScrollDown {
                3
            } else {
                -3
            };
            let before = std::mem::replace(&mut model.pane, pane);
            step(model, by, effects);
            model.pane = before;
        }
        MouseEventKind::Down(_) => {
            model.pane = pane;
            let (list, diff) = (areas.list, areas.diff);
            if pane == Pane::List && mouse.row >= list.y {
                let row = model.top + usize::from(mouse.row - list.y);
                select(model, row, effects);
            }
            if pane == Pane::Diff && mouse.row >= diff.y {
                model.diff.cursor = model.diff.top + usize::from(mouse.row - diff.y);
            }
        }
        _ => {}
    }
}
