//! What a page may start, when it was allowed to: commands of `tw`, each after its dry run.
//!
//! A command is this very program, run in a process of its own with its usual words: what it checks, saves and refuses is the same
//! as on a command line, and a swap names a process that is dead when the swap is. What was shown is what is done: the dry run is
//! made again before it, and when it tells something else, or what it would overwrite is another by then, that is shown first.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::api;
use super::guard::Token;
use super::server::Shared;
use crate::error::{Code, Error, Result, ResultExt as _};
use crate::git::threads;
use crate::ops::Context;
use crate::ops::open::{self, Open};
use crate::ops::pathspec::word_of;
use crate::ops::preview::Preview;
use crate::ops::web::{self, Key, ShownChange, Subject};
use crate::runner::program::own_program;
use crate::store::address::of_checkpoint;
use crate::store::id::SnapshotId;

/// What was shown can be agreed to this long.
const SHOWN: Duration = Duration::from_secs(600);
/// How often it is looked whether a command has ended, and whether somebody waits for it.
pub const GLANCE: Duration = Duration::from_millis(10);
/// So much that was shown is remembered.
const REMEMBERED: usize = 16;

/// What the page asks for.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase", deny_unknown_fields)]
pub enum Action {
    /// Put the working tree back to a snapshot.
    Travel { snapshot_id: String },
    /// Bring the present back.
    Return,
    /// Put files of a snapshot into the working tree: all, or what was chosen.
    Restore {
        snapshot_id: String,
        chosen: Option<Chosen>,
    },
    /// Go back to a prompt: files, conversation, or both.
    Rewind {
        session_id: String,
        checkpoint_id: u64,
        part: Part,
    },
    /// Lay a snapshot out in a directory of its own.
    Open { snapshot_id: String },
    /// Take the last swap back.
    Undo,
    /// Do again what was taken back last.
    Redo,
    /// Name a snapshot.
    Label { snapshot_id: String, name: String },
    /// Report an issue.
    Report {
        snapshot_id: Option<String>,
        task_context: String,
        symptom: String,
        success_criteria: String,
    },
}

/// What of a snapshot is put back: a path that an entry changed, or one hunk of that.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    entry: Key,
    change: ShownChange,
    hunk: Option<usize>,
}

/// What goes back.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The files.
    Code,
    /// The conversation.
    Conversation,
    /// Both.
    Both,
}

/// The page agrees to what it was shown.
#[derive(Debug, Deserialize)]
pub struct Agreed {
    confirm: String,
}

/// A command line, and what it reads.
#[derive(Debug, Clone, Default)]
pub struct Words {
    line: Vec<OsString>,
    /// Only this shows what would be done; without it there is no such flag.
    dry_run: Option<&'static str>,
    /// Only this does it without asking.
    consent: Option<&'static str>,
    input: Option<String>,
}

/// What was shown, and waits for a yes.
struct Shown {
    token: Token,
    at: Instant,
    words: Words,
    preview: Preview,
}

/// The commands that were shown.
#[derive(Default)]
pub struct Actions {
    shown: Mutex<Vec<Shown>>,
}

impl Actions {
    /// Shows what an action would do, and gives the word that agrees to it.
    pub fn attempt(&self, shared: &Shared, action: &Action) -> Result<Value> {
        let context = api::open(shared)?;
        let words = words(&context, shared, action)?;
        let preview = match action {
            Action::Label { snapshot_id, name } => {
                let shown = run(shared, &plain(&["show", snapshot_id]), &[])?;
                json!({"ok": shown["ok"], "error": shown["error"], "snapshot": shown["snapshot"], "label": name})
            }
            Action::Open { snapshot_id } => {
                let shown = run(shared, &plain(&["show", snapshot_id]), &[])?;
                let dir = words.line.last().map(|dir| dir.to_string_lossy());
                json!({"ok": shown["ok"], "error": shown["error"], "snapshot": shown["snapshot"], "dir": dir})
            }
            Action::Report { .. } => {
                let mut fields: Value =
                    serde_json::from_str(words.input.as_deref().unwrap_or("{}"))
                        .map_err(std::io::Error::from)?;
                context.redactor().json(&mut fields);
                json!({"ok": true, "issue": fields})
            }
            _ => run(shared, &words, &words.dry_run_flags())?,
        };
        let preview = Preview::of(preview, context.repo.worktree_root());
        self.remember(words, preview)
    }

    fn remember(&self, words: Words, preview: Preview) -> Result<Value> {
        if preview.document["ok"] != true {
            return Ok(preview.document);
        }
        let shown = Shown {
            token: Token::new()?,
            at: Instant::now(),
            words,
            preview,
        };
        let document = &shown.preview.document;
        let answer = json!({"ok": true, "confirm": shown.token.as_str(), "preview": document});
        let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.remove(0);
        }
        all.push(shown);
        Ok(answer)
    }

    /// Does what was shown; once, and only while it would still do the same.
    pub fn confirm(&self, shared: &Shared, agreed: &Agreed) -> Result<Value> {
        // Held to the end: one command at a time, as one person means them.
        let mut all = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|shown| shown.at.elapsed() < SHOWN);
        let place = all.iter().position(|shown| shown.token.is(&agreed.confirm));
        let place = place.ok_or_else(|| {
            Error::new(
                Code::NotApproved,
                "what would be done has to be shown first",
            )
            .hint("ask for it again, and look at what it would do")
        })?;
        let shown = all.remove(place);
        if shown.words.dry_run.is_some() {
            let now = run(shared, &shown.words, &shown.words.dry_run_flags())?;
            let context = api::open(shared)?;
            let now = Preview::of(now, context.repo.worktree_root());
            if now != shown.preview {
                drop(all);
                let mut again = self.remember(shown.words, now)?;
                again["changed"] = json!(true);
                return Ok(again);
            }
        }
        let document = &shown.preview.document;
        let expect = document["lines"]["found"].as_str();
        let expect = expect.map(|found| format!("--expect={found}"));
        // The swap that was named, whatever came since.
        let swap = document["level"]["swap_id"].as_str();
        let flags = shown.words.consent.into_iter().chain(expect.as_deref());
        let flags = flags.chain(swap);
        let flags: Vec<&str> = flags.collect();
        let done = run(shared, &shown.words, &flags)?;
        (shared.serve.after_change)(&shared.serve.env, &shared.serve.start);
        Ok(json!({"ok": done["ok"], "error": done["error"], "done": done}))
    }
}

impl Words {
    fn dry_run_flags(&self) -> Vec<&'static str> {
        self.dry_run.into_iter().collect()
    }
}

/// A command line of these words, which are nobody else's.
pub fn plain(words: &[&str]) -> Words {
    Words {
        line: words.iter().map(OsString::from).collect(),
        ..Words::default()
    }
}

impl Part {
    fn flag(self) -> &'static str {
        match self {
            Self::Code => "--code",
            Self::Conversation => "--conversation",
            Self::Both => "--both",
        }
    }
}

/// The command line that goes back to a prompt.
fn rewind(
    context: &Context<'_>,
    session_id: &str,
    checkpoint_id: u64,
    part: Part,
) -> Result<Words> {
    if context.sessions().get(session_id)?.is_none() {
        let message = "no session with this id is known";
        return Err(Error::new(Code::SessionNotFound, message));
    }
    let checkpoint = of_checkpoint(session_id, checkpoint_id);
    Ok(Words {
        dry_run: Some("--dry-run"),
        ..plain(&["rewind", part.flag(), "--", &checkpoint])
    })
}

/// The command line that lays a snapshot out.
fn open_aside(context: &Context<'_>, snapshot_id: &str) -> Result<Words> {
    let open = Open {
        address: id(snapshot_id)?.to_owned(),
        dir: None,
    };
    let mut words = plain(&["open", id(snapshot_id)?]);
    words.line.push(open::place(context, &open)?.into());
    Ok(words)
}

/// The command line that puts files of a snapshot back: those that were chosen, or all.
fn restore(
    context: &Context<'_>,
    shared: &Shared,
    snapshot_id: &str,
    chosen: Option<&Chosen>,
) -> Result<Words> {
    let mut words = Words {
        dry_run: Some("--dry-run"),
        ..plain(&["restore", id(snapshot_id)?])
    };
    let filter = &shared.serve.filter;
    match chosen {
        Some(Chosen {
            entry,
            change,
            hunk: Some(hunk),
        }) => {
            let (path, lines) = web::hunk(context, filter, entry, (change, *hunk))?;
            let range = format!("-L{},{}", lines.start(), lines.end());
            words
                .line
                .extend([range.into(), "--".into(), word_of(&path)]);
        }
        Some(Chosen {
            entry,
            change,
            hunk: None,
        }) => {
            let of = Subject::Entry(entry.clone());
            let change = web::change(context, filter, &of, change)?;
            words.line.extend(["--".into(), word_of(&change.path)]);
        }
        None => {}
    }
    Ok(words)
}

/// The command line that reports an issue.
fn report(snapshot_id: Option<&str>, fields: &Value) -> Result<Words> {
    let mut words = plain(&["issue", "report", "--from-json", "-"]);
    if let Some(snapshot_id) = snapshot_id {
        let snapshot = ["--snapshot", id(snapshot_id)?];
        words.line.extend(snapshot.map(OsString::from));
    }
    words.input = Some(fields.to_string());
    Ok(words)
}

/// The command line of an action. What names something in the repository has been looked up there.
fn words(context: &Context<'_>, shared: &Shared, action: &Action) -> Result<Words> {
    let words = match action {
        // From one past to another, too.
        Action::Travel { snapshot_id } => Words {
            dry_run: Some("--dry-run"),
            ..plain(&["travel", "--hop", id(snapshot_id)?])
        },
        Action::Return => Words {
            dry_run: Some("--dry-run"),
            ..plain(&["return"])
        },
        Action::Undo => swap_log("undo"),
        Action::Redo => swap_log("redo"),
        Action::Rewind {
            session_id,
            checkpoint_id,
            part,
        } => rewind(context, session_id, *checkpoint_id, *part)?,
        Action::Open { snapshot_id } => open_aside(context, snapshot_id)?,
        Action::Restore {
            snapshot_id,
            chosen,
        } => restore(context, shared, snapshot_id, chosen.as_ref())?,
        Action::Label { snapshot_id, name } => plain(&["label", id(snapshot_id)?, "--", name]),
        Action::Report {
            snapshot_id,
            task_context,
            symptom,
            success_criteria,
        } => {
            let fields = json!({
                "task_context": task_context,
                "symptom": symptom,
                "success_criteria": success_criteria,
            });
            report(snapshot_id.as_deref(), &fields)?
        }
    };
    Ok(words)
}

/// A way along the log of swaps.
fn swap_log(verb: &str) -> Words {
    Words {
        dry_run: Some("--dry-run"),
        // Where it leads was shown, and agreed to.
        consent: Some("--into-past"),
        ..plain(&[verb])
    }
}

/// A word that can only be an id.
fn id(word: &str) -> Result<&str> {
    match SnapshotId::parse(word) {
        Some(_) => Ok(word),
        None => Err(Error::new(
            Code::InvalidAddress,
            "this is not the id of a snapshot",
        )),
    }
}

/// Runs a command at the root of the working tree and gives its document.
pub fn run(shared: &Shared, words: &Words, flags: &[&str]) -> Result<Value> {
    let ended = start(shared, words, flags)?.wait_with_output();
    let ended = ended.context(|| "cannot wait for the command")?;
    document(&ended.stdout, ended.status)
}

/// As [`run`] of a command that changes nothing, which is ended when nobody waits for it any more.
pub fn run_for(shared: &Shared, words: &Words, is_gone: &dyn Fn() -> bool) -> Result<Value> {
    let mut child = start(shared, words, &[])?;
    let mut stdout = child.stdout.take();
    let read = threads::start(move || {
        let mut bytes = Vec::new();
        let read = stdout.as_mut().map(|stdout| stdout.read_to_end(&mut bytes));
        read.transpose().map(|_| bytes)
    });
    let status = loop {
        if let Some(status) = child.try_wait().context(|| "cannot wait for the command")? {
            break status;
        }
        if read.is_err() || is_gone() {
            let _ = child.kill();
        }
        std::thread::sleep(GLANCE);
    };
    let died = |_| Error::new(Code::Io, "the thread that read the answer died");
    let bytes = read?.join().map_err(died)?;
    document(&bytes.context(|| "cannot read the answer")?, status)
}

fn start(shared: &Shared, words: &Words, flags: &[&str]) -> Result<Child> {
    let context = api::open(shared)?;
    let what = || "cannot start the command";
    // In front: behind a '--' they would be paths.
    let (verb, rest) = words
        .line
        .split_first()
        .ok_or_else(|| Error::usage("no command"))?;
    let (group, rest) = match rest.split_first() {
        Some((second, rest)) if verb == "issue" => (Some(second), rest),
        _ => (None, rest),
    };
    let mut child = Command::new(own_program()?)
        .args(["--json", "--no-progress"])
        .arg(verb)
        .args(group)
        .args(flags)
        .args(rest)
        .current_dir(context.repo.worktree_root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // Ctrl-C ends the server; the command goes on to its end.
        .process_group(0)
        .spawn()
        .context(what)?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), &words.input) {
        // When it cannot read, its answer says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    Ok(child)
}

fn document(answer: &[u8], status: ExitStatus) -> Result<Value> {
    serde_json::from_slice(answer).map_err(|_| {
        Error::new(
            Code::Io,
            format!("the command died without an answer ({status})"),
        )
        .hint("'tw status' says whether a swap was interrupted; the next command recovers it")
    })
}
