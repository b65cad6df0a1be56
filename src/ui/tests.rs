//! Keys in, drawn screens out: what a person sees, without a terminal.

use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event as Typed, KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::model::{Dialog, Model, Plan, Subject, Theme};
use super::patch::{self, Kind, Line};
use super::plans;
use super::update::{Effect, Event, begin, update};
use super::view::view;
use crate::env::Moment;
use crate::git::textdiff::written::Whose;
use crate::ops::timeline::{Asked, Entry, EntryKind};

const NOW: &str = "2026-02-28T15:30:12Z";

/// The time of day of all entries, where this machine is.
fn clock() -> String {
    let local = Moment::parse_rfc3339(NOW).expect("a time").local();
    local[11..16].to_owned()
}

fn entry(kind: EntryKind, n: u32, session: Option<&str>) -> Entry {
    let mut entry = Entry::bare(kind, &format!("s_20260228_153012_{n:06}"));
    NOW.clone_into(&mut entry.at);
    entry.title = format!("title {n}");
    entry.text = format!("text {n}\nsecond line");
    entry.session_id = session.map(str::to_owned);
    entry.agent = session.map(|_| "pi".to_owned());
    entry.checkpoint_id = (kind == EntryKind::Prompt).then_some(u64::from(n));
    // The session's only prompt.
    let prompt = Asked {
        checkpoint_id: 2,
        title: "text 2".to_owned(),
        text: "text 2\nsecond line".to_owned(),
    };
    entry.prompt = session.map(|_| Arc::new(prompt));
    entry
}

struct Ui {
    model: Model,
    /// What was asked for and not looked at yet.
    effects: Vec<Effect>,
}

impl Ui {
    fn new(size: (u16, u16)) -> Self {
        let theme = Theme {
            color: false,
            unicode: true,
        };
        let now = Moment::parse_rfc3339(NOW).expect("a time");
        let mut model = Model::new(size, theme, now);
        let effects = begin(&mut model);
        Self { model, effects }
    }

    fn with(size: (u16, u16), entries: Vec<Entry>) -> Self {
        let mut ui = Self::new(size);
        ui.page(entries, true);
        ui
    }

    fn page(&mut self, entries: Vec<Entry>, ended: bool) {
        let reading = self.model.reading;
        self.happens(Event::Page {
            reading,
            entries,
            ended,
        });
    }

    fn happens(&mut self, event: Event) {
        self.effects.extend(update(&mut self.model, event));
    }

    fn key(&mut self, code: KeyCode) {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        self.happens(Event::Terminal(Typed::Key(key)));
    }

    fn types(&mut self, keys: &str) {
        for key in keys.chars() {
            self.key(match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                letter => KeyCode::Char(letter),
            });
        }
    }

    fn lines(&mut self, lines: Vec<Line>) {
        let asked = self.model.diff.asked;
        self.happens(Event::Lines {
            asked,
            lines,
            done: true,
        });
    }

    fn screen(&self) -> String {
        let (width, height) = self.model.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
        let drawn = terminal.draw(|frame| view(&self.model, frame));
        let cells = drawn.expect("drawn").buffer.content.clone();
        let rows = cells.chunks(usize::from(width).max(1));
        let row = |row: &[ratatui::buffer::Cell]| -> String {
            let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
            format!("{}\n", text.trim_end())
        };
        rows.map(row).collect()
    }

    /// What is to be done outside, but for reading.
    fn asked(&mut self) -> Vec<Effect> {
        let reads = |effect: &Effect| {
            matches!(
                effect,
                Effect::Page(..) | Effect::Count(..) | Effect::Diff(..) | Effect::Reload
            )
        };
        let all = std::mem::take(&mut self.effects).into_iter();
        all.filter(|effect| !reads(effect)).collect()
    }

    fn looked_at(&mut self) -> Plan {
        match self.asked().as_slice() {
            [Effect::DryRun(plan)] => plan.clone(),
            other => panic!("{other:?}"),
        }
    }
}

fn some() -> Vec<Entry> {
    let pi = Some("0123abcd");
    vec![
        entry(EntryKind::Snapshot, 5, None),
        entry(EntryKind::TurnEnd, 4, pi),
        entry(EntryKind::Snapshot, 3, pi),
        entry(EntryKind::Prompt, 2, pi),
        entry(EntryKind::Issue, 1, None),
    ]
}

fn words(words: &[std::ffi::OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[test]
fn the_timeline_is_grouped_by_session_and_the_prompt_stands_below() {
    let mut ui = Ui::with((100, 20), some());
    ui.types("jj");
    ui.lines(vec![
        Line::said(Kind::File, "M src/a.rs", None),
        Line::said(Kind::Removed, "old", None),
        Line::said(Kind::Added, "new", None),
    ]);
    let screen = ui.screen();
    let shown: Vec<&str> = screen.lines().collect();
    let at = clock();
    let begins = |line: usize, text: &str| shown[line].starts_with(text);
    assert!(shown[0].starts_with(" timeline 5 ─"), "{screen}");
    assert!(shown[1].starts_with("no session"), "{screen}");
    assert!(begins(2, &format!("  {at} ○ title 5")), "{screen}");
    assert!(shown[3].starts_with("pi 0123abcd"), "{screen}");
    assert!(begins(4, &format!("  {at}   ● title 4")), "{screen}");
    assert!(begins(5, &format!("> {at}   ○ title 3")), "{screen}");
    assert!(begins(6, &format!("  {at} ❯ title 2")), "{screen}");
    assert!(begins(8, &format!("  {at} ! title 1")), "{screen}");
    assert!(shown[1].ends_with("│M src/a.rs"), "{screen}");
    assert!(shown[2].ends_with("│-old"), "{screen}");
    assert!(shown[3].ends_with("│+new"), "{screen}");
    assert!(shown[14].starts_with(" prompt 2 ─"), "{screen}");
    assert_eq!((shown[15], shown[16]), ("text 2", "second line"));
}

#[test]
fn a_narrow_screen_shows_one_pane_at_a_time() {
    let mut ui = Ui::with((60, 20), some());
    ui.lines(vec![Line::said(Kind::File, "M src/a.rs", None)]);
    assert!(ui.screen().contains("title 5") && !ui.screen().contains("src/a.rs"));
    ui.types("\n");
    assert!(!ui.screen().contains("title 5") && ui.screen().contains("src/a.rs"));
    ui.types("\t");
    assert!(ui.screen().contains("second line"));
    ui.types("\t");
    let screen = ui.screen();
    assert!(
        screen.ends_with("? keys  q quit  Tab pane  Enter open  / search  t travel\n"),
        "{screen}"
    );
    ui.types("?");
    assert!(!ui.screen().contains("q, Ctrl-c"), "{}", ui.screen());
    ui.types("jjjjjj");
    let screen = ui.screen();
    assert!(
        screen.contains("q, Ctrl-c") && screen.contains("Enter means no"),
        "{screen}"
    );
    ui.types("x");
    assert_eq!(ui.model.dialog, None);
}

#[test]
fn no_size_of_the_screen_is_too_small_to_be_drawn() {
    let mut ui = Ui::with((100, 30), some());
    ui.types("?");
    for size in [(1, 1), (2, 3), (10, 2), (79, 1), (80, 5), (200, 50), (0, 0)] {
        ui.happens(Event::Terminal(Typed::Resize(size.0, size.1)));
        let _ = ui.screen();
        ui.key(KeyCode::Esc);
        ui.types("\t");
        let _ = ui.screen();
    }
}

#[test]
fn nothing_is_done_before_it_was_shown_and_answered_with_y() {
    for (key, dry, real) in [
        ("t", "travel --hop ID --dry-run", "travel --hop ID"),
        ("r", "restore ID --dry-run", "restore ID"),
        ("u", "undo --into-past --dry-run", "undo --into-past"),
        ("U", "redo --into-past --dry-run", "redo --into-past"),
        ("b", "return --dry-run", "return"),
        ("o", "", "open ID"),
        ("lgood\n", "", "label -- ID good"),
        (
            "ia\nb\nc\n",
            "",
            "issue report --task-context=a --symptom=b --success-criteria=c --snapshot=ID",
        ),
    ] {
        for answer in ["\n", "n", "q", "x", "Y"] {
            let mut ui = Ui::with((100, 30), some());
            ui.types(key);
            let plan = ui.looked_at();
            let id = "s_20260228_153012_000005";
            assert_eq!(
                words(plan.dry.as_deref().unwrap_or_default()),
                dry.replace("ID", id)
            );
            assert_eq!(words(&plan.real), real.replace("ID", id));
            ui.happens(Event::Looked(plan.clone(), true, "would do it".to_owned()));
            let screen = ui.screen();
            assert!(
                screen.contains("would do it") && screen.contains("[ no: Enter ]"),
                "{screen}"
            );
            ui.types(answer);
            assert!(ui.asked().is_empty(), "{key} {answer:?}");
            assert_eq!(ui.model.dialog, None);
            ui.happens(Event::Looked(plan.clone(), true, String::new()));
            ui.types("y");
            let asked = ui.asked();
            assert!(
                matches!(asked.as_slice(), [Effect::Run(run)] if *run == plan),
                "{asked:?}"
            );
        }
    }
}

#[test]
fn a_restore_that_would_change_nothing_is_needless_and_a_travel_is_not() {
    let mut ui = Ui::with((100, 30), some());
    let nothing = json!({"changes": {"written": [], "removed": []}});
    let something = json!({"changes": {"written": ["a"], "removed": []}});
    ui.types("r");
    let restore = ui.looked_at();
    assert!(plans::is_needless(&restore, &nothing));
    assert!(!plans::is_needless(&restore, &something));
    assert!(!plans::is_needless(&restore, &json!({})));
    ui.types("t");
    assert!(!plans::is_needless(&ui.looked_at(), &nothing));
}

#[test]
fn what_is_refused_is_told_and_not_asked() {
    let mut ui = Ui::with((100, 30), some());
    ui.happens(Event::Looked(
        Plan::default(),
        false,
        "error: in the past".to_owned(),
    ));
    assert!(ui.screen().contains("error: in the past"));
    ui.types("y");
    assert!(ui.asked().is_empty());
}

#[test]
fn restore_in_the_diff_means_the_file_at_the_cursor() {
    let mut ui = Ui::with((100, 30), some());
    let path = std::sync::Arc::from(&b"-odd name"[..]);
    ui.lines(vec![Line::said(Kind::File, "M -odd name", Some(&path))]);
    ui.types("\tr");
    assert_eq!(
        words(&ui.looked_at().real),
        "restore s_20260228_153012_000005 -- -odd name"
    );
}

#[test]
fn a_hunk_is_restored_by_the_lines_that_name_it_in_the_snapshot_that_the_diff_leads_to() {
    let mut ui = Ui::with((100, 30), some());
    let path = std::sync::Arc::from(&b"a.rs"[..]);
    let patch = b"@@ -1,3 +1,3 @@\n same\n-old\n+new\n same\n";
    let mut lines = vec![Line::said(Kind::File, "M a.rs", Some(&path))];
    lines.extend(patch::lines(patch, &path, Whose::New));
    ui.lines(lines.clone());
    ui.types("h");
    assert!(ui.asked().is_empty(), "the timeline has no hunk");
    assert!(ui.screen().contains("Enter opens the diff"));
    ui.types("\th");
    assert!(ui.asked().is_empty(), "the name of a file is in no hunk");
    ui.types("jjh");
    let plan = ui.looked_at();
    let id = "s_20260228_153012_000005";
    assert_eq!(
        words(plan.dry.as_deref().unwrap_or_default()),
        format!("restore {id} -L2,2 --dry-run -- a.rs")
    );
    let mut pinned = plan.clone();
    pinned.add("--expect=0123".into());
    assert_eq!(
        words(&pinned.real),
        format!("restore {id} -L2,2 --expect=0123 -- a.rs")
    );
    // Two are compared, and the cursor of the timeline is at a third.
    ui.key(KeyCode::Esc);
    ui.types("mjjmkc");
    ui.lines(lines);
    ui.types("jjh");
    assert_eq!(
        words(&ui.looked_at().real),
        "restore s_20260228_153012_000003 -L2,2 -- a.rs"
    );
    ui.types("r");
    assert_eq!(
        words(&ui.looked_at().real),
        "restore s_20260228_153012_000003 -- a.rs"
    );
}

#[test]
fn rewind_asks_for_the_part_and_means_the_prompt_before() {
    let mut ui = Ui::with((100, 30), some());
    ui.types("R");
    assert_eq!(ui.model.dialog, None, "no prompt: no rewind");
    ui.types("jjR");
    assert_eq!(
        ui.model.dialog,
        Some(Dialog::Rewind("0123abcd:2".to_owned()))
    );
    ui.types("c");
    assert_eq!(words(&ui.looked_at().real), "rewind 0123abcd:2 --code");
}

#[test]
fn a_search_goes_on_in_entries_that_are_not_read_yet() {
    let mut ui = Ui::new((100, 30));
    ui.page(some(), false);
    ui.types("/title 9\n");
    assert!(
        ui.model
            .search
            .as_ref()
            .is_some_and(|search| search.waiting)
    );
    ui.page(vec![entry(EntryKind::Snapshot, 9, None)], true);
    assert_eq!(
        ui.model.entry().map(|entry| entry.title.as_str()),
        Some("title 9")
    );
    ui.types("/TITLE\n");
    assert!(ui.screen().contains("'TITLE' is not found further down"));
    ui.types("/title\nN");
    assert_eq!(
        ui.model.entry().map(|entry| entry.title.as_str()),
        Some("title 1")
    );
    ui.types("n");
    assert_eq!(
        ui.model.entry().map(|entry| entry.title.as_str()),
        Some("title 9")
    );
}

#[test]
fn two_marks_are_compared() {
    let mut ui = Ui::with((100, 30), some());
    ui.types("mjjmc");
    let compared = ui.effects.iter().rev().find_map(|effect| match effect {
        Effect::Diff(_, Subject::Between(from, to), _) => Some((from.as_str(), to.as_str())),
        _ => None,
    });
    let wanted = ("s_20260228_153012_000005", "s_20260228_153012_000003");
    assert_eq!(compared, Some(wanted));
    let (screen, at) = (ui.screen(), clock());
    assert!(screen.contains(&format!("1 {at}")) || screen.contains(&format!(" 1{at}")));
}

#[test]
fn an_answer_that_comes_late_is_not_shown() {
    let mut ui = Ui::with((100, 30), some());
    let before = ui.model.diff.asked;
    ui.types("j");
    let lines = vec![Line::said(Kind::File, "M late", None)];
    ui.happens(Event::Lines {
        asked: before,
        lines,
        done: true,
    });
    assert!(!ui.screen().contains("late"));
}

#[test]
fn a_long_diff_is_asked_for_again_when_more_is_wanted() {
    let mut ui = Ui::with((100, 30), some());
    ui.lines(vec![Line::said(Kind::More, "7 more files", None)]);
    ui.effects.clear();
    ui.types("\n\n");
    let limits = ui.effects.iter().filter_map(|effect| match effect {
        Effect::Diff(_, _, limit) => Some(*limit),
        _ => None,
    });
    assert_eq!(limits.collect::<Vec<_>>(), [4 * super::model::FIRST_LINES]);
}

#[test]
fn hostile_text_is_shown_and_pasted_text_is_no_key() {
    let mut evil = entry(EntryKind::Prompt, 1, Some("0123abcd"));
    evil.title = "a\x1b[2J\u{202e}b".to_owned();
    evil.prompt = Some(Arc::new(Asked {
        checkpoint_id: 1,
        title: evil.title.clone(),
        text: "c\x1b]0;title\x07".to_owned(),
    }));
    evil.agent = Some("pi\x1b[1m".to_owned());
    let mut ui = Ui::with((100, 30), vec![evil]);
    let screen = ui.screen();
    assert!(screen.contains("a\\u{1b}[2J\\u{202e}b"), "{screen}");
    assert!(screen.contains("c\\u{1b}]0;title\\u{7}"), "{screen}");
    assert!(!screen.contains(['\x1b', '\u{202e}', '\x07']));
    ui.happens(Event::Terminal(Typed::Paste("uy\nq".to_owned())));
    assert!(ui.asked().is_empty());
    ui.types("/");
    ui.happens(Event::Terminal(Typed::Paste("one\ntwo".to_owned())));
    assert!(ui.screen().contains("one two_"));
}

#[test]
fn the_first_page_is_small_whatever_is_kept() {
    let mut ui = Ui::new((100, 30));
    let wanted = match ui.effects.as_slice() {
        [Effect::Page(_, wanted)] => *wanted,
        other => panic!("{other:?}"),
    };
    assert!(wanted < 100, "{wanted}");
    let entries = (0..60).map(|n| entry(EntryKind::Snapshot, n, None));
    ui.effects.clear();
    ui.page(entries.collect(), false);
    let pages = ui
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Page(..)));
    assert_eq!(pages.count(), 0, "what is not in sight is not read");
}

#[test]
fn entries_are_read_as_they_come_into_sight() {
    let mut ui = Ui::new((100, 30));
    ui.page(
        (0..200)
            .map(|n| entry(EntryKind::Snapshot, n, None))
            .collect(),
        false,
    );
    ui.effects.clear();
    ui.types("j");
    assert!(
        !ui.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Page(..)))
    );
    ui.types("G");
    assert!(
        ui.effects
            .iter()
            .any(|effect| matches!(effect, Effect::Page(..)))
    );
    let counted: usize = ui.model.counted.len();
    assert!(counted < 100, "{counted} of 200 were counted");
}

#[test]
fn the_end_is_the_oldest_entry_and_not_the_last_that_was_read() {
    let mut ui = Ui::new((100, 30));
    let entries = |from: u32| {
        let entries = (from..from + 60).map(|n| entry(EntryKind::Snapshot, n, None));
        entries.collect::<Vec<Entry>>()
    };
    ui.page(entries(0), false);
    ui.types("G");
    ui.page(entries(60), false);
    assert_eq!(ui.model.selected(), Some(0), "not yet");
    ui.page(entries(120), true);
    assert_eq!(ui.model.selected(), Some(179));
    assert!(!ui.model.to_end && ui.model.message.is_none());
}
