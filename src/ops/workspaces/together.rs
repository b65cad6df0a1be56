//! A swap over all members: each one's is carried out in a thread of its own, of which one runs at a time.
//!
//! The head's swap, in the thread that called, leads: where it comes to a [`Stage`], it first lets every member come to it. What is
//! written between stages is written in the order of the module's head comment. An error in any of them stops all the others where
//! they are, and each undoes what it did; after the decision nothing stops any more. What could not undo it keeps its journal, and the
//! head's file stays for recovery to ask.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::{Partner, WentAlong};
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::fs::resolved;
use crate::git::threads;
use crate::interrupt::{self, Deferred};
use crate::ops::Context;
use crate::ops::outcome::MemberSwap;
use crate::ops::stages::{Stage, Together};
use crate::ops::swap::recover::{self, Recovery};
use crate::store::id::Tail;
use crate::store::lock::WorktreeLock;
use crate::store::state::StateDir;
use crate::store::trigger::SwapKind;
use crate::store::workspace::{Covered, Tie, TogetherJournal, way};

/// What came of a swap over all.
pub struct Done<H, M> {
    head: H,
    /// In each member that had something to do.
    members: Vec<(Partner, M)>,
    /// What recovery said before.
    recovered: Vec<String>,
}

impl<H, M: WentAlong> Done<H, M> {
    /// The head's answer, with what was done in the members and all that is said, put where it has room for them.
    pub fn joined(
        self,
        room: impl FnOnce(&mut H) -> (&mut Vec<MemberSwap>, &mut Vec<String>),
    ) -> H {
        let mut head = self.head;
        let (members, notices) = room(&mut head);
        notices.splice(0..0, self.recovered);
        for (partner, one) in &self.members {
            members.push(one.in_member(partner.path.clone()));
            notices.extend(partner.said(one.notices()));
        }
        head
    }
}

/// Says that a member may go on.
enum Word {
    Go,
    Stop,
}

/// What a member says.
enum Report<M> {
    Reached(Stage, Option<String>),
    Ended(Result<M>),
}

/// Carries an operation out in the head and in all members, or in none.
///
/// # Errors
/// The first that any of them gives, named; nothing has changed then, unless it is `INTERRUPTED` or `VERIFY_FAILED`.
pub fn together<H, M: Send + 'static>(
    ctx: &Context<'_>,
    kind: SwapKind,
    partners: Vec<Partner>,
    head: impl FnOnce() -> Result<H>,
    member: impl Fn(&Context<'_>, &Partner) -> Result<M> + Sync,
) -> Result<Done<H, M>> {
    let mut recovered = Recovery::default();
    let done = in_all(ctx, kind, partners, (head, member), &mut recovered);
    recovered.tell(done, |done| &mut done.recovered)
}

fn in_all<H, M: Send + 'static>(
    ctx: &Context<'_>,
    kind: SwapKind,
    partners: Vec<Partner>,
    (head, member): (
        impl FnOnce() -> Result<H>,
        impl Fn(&Context<'_>, &Partner) -> Result<M> + Sync,
    ),
    recovered: &mut Recovery,
) -> Result<Done<H, M>> {
    let locks = lock_all(ctx, &kind, &partners, recovered)?;
    let tie = new_tie(ctx, &partners)?;
    let (env, progress, member) = (ctx.env, ctx.progress, &member);
    let result = std::thread::scope(|scope| {
        let mut led = Vec::new();
        for partner in partners {
            let (say, words) = channel();
            let (report, reports) = channel();
            led.push(Led::new(partner.clone(), say, reports));
            let tie = Tie {
                head_git_dir: way_home(ctx, &partner)?,
                members: Vec::new(),
                ..tie.clone()
            };
            let started = threads::start_in(scope, move || {
                let follower = Rc::new(Follower {
                    tie,
                    words,
                    report,
                    saved: RefCell::default(),
                });
                let result = follower.wait().and_then(|()| {
                    let ctx = Context::open(&partner.root, env, progress)?;
                    ctx.set_together(Some(follower.clone()));
                    member(&ctx, &partner)
                });
                // Who does not listen any more has no use for it.
                let _ = follower.report.send(Report::Ended(result));
            });
            started.map_err(unmoved)?;
        }
        let leader = Leader {
            dir: ctx.state_dir(),
            tie,
            kind,
            started_at: ctx.env.now().rfc3339(),
            led: RefCell::new(led),
            is_decided: Cell::new(false),
            deferred: RefCell::default(),
        };
        leader.lead(ctx, head)
    });
    drop(locks);
    let (head, members) = result?;
    Ok(Done {
        head,
        members,
        recovered: Vec::new(),
    })
}

/// Takes all locks, the head's first, then the members' by the paths of their git directories, and recovers what died.
fn lock_all(
    ctx: &Context<'_>,
    kind: &SwapKind,
    partners: &[Partner],
    recovered: &mut Recovery,
) -> Result<Vec<WorktreeLock>> {
    let store = ctx.store()?;
    let lock = ctx.lock(&store.dir, kind.as_str())?;
    recovered
        .0
        .extend(recover::recover_locked(ctx, store, &lock)?);
    let mut locks = vec![lock];
    let mut opened = Vec::new();
    for partner in partners {
        opened.push((partner, partner.open(ctx)?));
    }
    opened.sort_by(|(_, one), (_, other)| one.repo.git_dir().cmp(other.repo.git_dir()));
    for (partner, member) in &opened {
        let locked = member
            .lock(&member.state_dir(), kind.as_str())
            .and_then(|lock| {
                let said = recover::recover_locked(member, member.store()?, &lock)?;
                Ok((lock, said))
            });
        let (lock, said) = locked.map_err(|error| unmoved(partner.named(error)))?;
        let said = said.into_iter();
        let said = said.map(|said| format!("member '{}': {said}", partner.path));
        recovered.0.extend(said);
        locks.push(lock);
    }
    if store.dir.has_together() {
        return Err(recover::unfinished_in_all());
    }
    Ok(locks)
}

fn new_tie(ctx: &Context<'_>, partners: &[Partner]) -> Result<Tie> {
    let now = ctx.env.now().rfc3339();
    let mut id: String = now.chars().filter(char::is_ascii_digit).collect();
    id.push('-');
    id.push_str(Tail::random()?.as_str());
    Ok(Tie {
        id,
        head_git_dir: String::new(),
        members: partners.iter().map(|one| one.path.clone()).collect(),
    })
}

/// The way from a member's git directory to the head's.
fn way_home(ctx: &Context<'_>, partner: &Partner) -> Result<String> {
    let member = partner.open(ctx)?;
    Ok(way(
        &resolved(member.repo.git_dir()),
        &resolved(ctx.repo.git_dir()),
    ))
}

fn unmoved(error: Error) -> Error {
    error.hint("nothing has moved, here or in any other member")
}

/// A member, as its leader sees it.
struct Led<M> {
    partner: Partner,
    say: Sender<Word>,
    reports: Receiver<Report<M>>,
    at: Option<Stage>,
    saved: Option<String>,
    ended: Option<Result<M>>,
    /// It is why the others were stopped.
    is_cause: bool,
}

impl<M> Led<M> {
    /// One that did not begin yet.
    fn new(partner: Partner, say: Sender<Word>, reports: Receiver<Report<M>>) -> Self {
        Self {
            partner,
            say,
            reports,
            at: None,
            saved: None,
            ended: None,
            is_cause: false,
        }
    }

    /// Says a word and waits for what comes of it.
    fn tell(&mut self, word: Word) {
        // A thread that is gone has nothing to say: what it was about is told below.
        let _ = self.say.send(word);
        match self.reports.recv() {
            Ok(Report::Reached(stage, saved)) => {
                self.at = Some(stage);
                self.saved = saved;
            }
            Ok(Report::Ended(result)) => self.ended = Some(result),
            Err(_) => self.ended = Some(Err(Error::new(Code::Io, "its thread ended"))),
        }
    }

    /// Lets it come to a stage, or to its end.
    ///
    /// # Errors
    /// It failed: the others have to stop. Why is told at the end of all.
    fn advance(&mut self, stage: Stage) -> Result<()> {
        while self.ended.is_none() && self.at < Some(stage) {
            self.tell(Word::Go);
        }
        self.is_cause = matches!(self.ended, Some(Err(_)));
        if self.is_cause {
            return Err(stopped());
        }
        Ok(())
    }

    /// Lets it come to its end, one way or the other.
    fn finish(&mut self, is_decided: bool) {
        while self.ended.is_none() {
            self.tell(if is_decided { Word::Go } else { Word::Stop });
        }
    }
}

/// Why a member did not go on.
fn stopped() -> Error {
    Error::new(
        Code::Busy,
        "another member of the workspace cannot take part",
    )
}

/// The head's side of a swap over all members.
struct Leader<M> {
    dir: StateDir,
    tie: Tie,
    kind: SwapKind,
    started_at: String,
    led: RefCell<Vec<Led<M>>>,
    is_decided: Cell<bool>,
    /// From where something is written to the end of all.
    deferred: RefCell<Option<Deferred>>,
}

impl<M> Leader<M> {
    /// Carries out the head's part, which lets the members come to every stage that it comes to.
    fn lead<H>(
        self,
        ctx: &Context<'_>,
        head: impl FnOnce() -> Result<H>,
    ) -> Result<(H, Vec<(Partner, M)>)>
    where
        M: 'static,
    {
        let leader = Rc::new(self);
        let before = ctx.set_together(Some(leader.clone()));
        let result = head();
        ctx.set_together(before);
        leader.end(result)
    }

    fn advance(&self, stage: Stage) -> Result<()> {
        let mut led = self.led.borrow_mut();
        led.iter_mut().try_for_each(|one| one.advance(stage))
    }

    fn write(&self, decided: bool) -> Result<()> {
        let led = self.led.borrow();
        let moving = led.iter().filter(|one| one.ended.is_none());
        self.dir.write_together(&TogetherJournal {
            version: 1,
            id: self.tie.id.clone(),
            operation: self.kind.clone(),
            started_at: self.started_at.clone(),
            decided,
            members: moving.map(|one| one.partner.path.clone()).collect(),
            extra: serde_json::Map::new(),
        })
    }

    /// The end of all, after the head's.
    fn end<H>(&self, head: Result<H>) -> Result<(H, Vec<(Partner, M)>)> {
        let decided = self.is_decided.get();
        let is_left = |error: &Error| decided || keeps_journal(error);
        let mut members = Vec::new();
        let mut is_any_left = head.as_ref().is_err_and(is_left);
        let mut cause = None;
        for mut one in self.led.take() {
            one.finish(decided);
            match one.ended {
                Some(Ok(done)) => members.push((one.partner, done)),
                Some(Err(error)) => {
                    is_any_left |= is_left(&error);
                    if one.is_cause || (is_left(&error) && cause.is_none()) {
                        cause = Some(one.partner.named(error));
                    }
                }
                None => {}
            }
        }
        if !is_any_left && self.dir.has_together() {
            self.dir.remove_together()?;
            fail_point("together-ended");
        }
        let had_begun = self.deferred.take().is_some();
        let error = match (head, cause) {
            (Ok(head), None) => return Ok((head, members)),
            (Err(error), None) | (_, Some(error)) => error,
        };
        Err(match (is_any_left, had_begun) {
            (true, _) if decided => unfinished(&error),
            (true, _) => error.hint("'tw recover' takes all back to where they were"),
            (false, false) => unmoved(error),
            (false, true) => error.hint("here and in every member everything is as it was"),
        })
    }

    /// Whether the swap over all is decided, by what recovery would read.
    fn reads_decided(&self) -> bool {
        let now = self.dir.together();
        now.is_ok_and(|now| now.is_some_and(|now| now.id == self.tie.id && now.decided))
    }
}

/// Whether who failed so could not undo what it had done, or leaves that to the user.
fn keeps_journal(error: &Error) -> bool {
    matches!(error.code(), Code::Interrupted | Code::VerifyFailed)
}

/// What is said when all are in place, and not every one could say so.
fn unfinished(error: &Error) -> Error {
    let message = format!("it is done in all, but not all could note it: {error}");
    Error::new(Code::Interrupted, message).hint("'tw recover' finishes it in all")
}

impl<M> Together for Leader<M> {
    fn reach(&self, stage: Stage) -> Result<()> {
        match stage {
            Stage::Prepared => {
                self.advance(Stage::Prepared)?;
                *self.deferred.borrow_mut() = Some(interrupt::defer());
                self.write(false)?;
                fail_point("together-written");
                self.advance(Stage::Secured)
            }
            Stage::Secured => self.advance(Stage::Applied),
            Stage::Applied => {
                // A write that failed may have put the file in place all the same.
                if let Err(error) = self.write(true)
                    && !self.reads_decided()
                {
                    return Err(error);
                }
                self.is_decided.set(true);
                fail_point("together-decided");
                Ok(())
            }
        }
    }

    fn others_move(&self) -> Result<bool> {
        self.advance(Stage::Prepared)?;
        Ok(self.led.borrow().iter().any(|one| one.ended.is_none()))
    }

    fn tie(&self) -> Tie {
        let led = self.led.borrow();
        let moving = led.iter().filter(|one| one.ended.is_none());
        Tie {
            members: moving.map(|one| one.partner.path.clone()).collect(),
            ..self.tie.clone()
        }
    }

    fn saved(&self, _id: &str) {}

    fn saved_by_others(&self) -> Vec<Covered> {
        let led = self.led.borrow();
        let saved = led.iter().filter(|one| one.saved.is_some());
        saved
            .map(|one| Covered {
                path: one.partner.path.clone(),
                repository_id: one.partner.repository_id.clone().unwrap_or_default(),
                snapshot_id: one.saved.clone(),
                reason: None,
            })
            .collect()
    }
}

/// A member's side of a swap over all members.
struct Follower<M> {
    tie: Tie,
    words: Receiver<Word>,
    report: Sender<Report<M>>,
    saved: RefCell<Option<String>>,
}

impl<M> Follower<M> {
    fn wait(&self) -> Result<()> {
        match self.words.recv() {
            Ok(Word::Go) => Ok(()),
            Ok(Word::Stop) | Err(_) => Err(stopped()),
        }
    }
}

impl<M> Together for Follower<M> {
    fn reach(&self, stage: Stage) -> Result<()> {
        let saved = self.saved.borrow().clone();
        let _ = self.report.send(Report::Reached(stage, saved));
        self.wait()
    }

    fn others_move(&self) -> Result<bool> {
        Ok(false)
    }

    fn tie(&self) -> Tie {
        self.tie.clone()
    }

    fn saved(&self, id: &str) {
        *self.saved.borrow_mut() = Some(id.to_owned());
    }

    fn saved_by_others(&self) -> Vec<Covered> {
        Vec::new()
    }
}
