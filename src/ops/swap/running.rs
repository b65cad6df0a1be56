//! The swap itself: from the backup to the end.

use super::super::Context;
use super::super::capture::{Capture, CaptureOptions, Storing};
use super::super::record::{About, Made, record};
use super::newindex::{IndexGoal, new_index};
use super::secure::LateChanges;
use super::{
    Aim, Blobs, Goal, HeadGoal, Logging, Looked, NO_INDEX, OperationGoal, Prove, StateAfter,
    Swapped, expected_in, finish, install_index, protected_dirs,
};
use super::{journal, pathindex, undo_log};
use crate::env::fail_point;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{Durable, Root, remove_optional, write_atomic};
use crate::git::objects::KeptPack;
use crate::git::operation;
use crate::store::Store;
use crate::store::id::IdKind;
use crate::store::lock::Owner;
use crate::store::state::{Journal, State};
use crate::worktree::apply::{Applied, Apply, Granted};
use crate::worktree::manifest::Manifest;
use crate::worktree::plan::Plan;

/// The swap has ended: what it kept is held by refs.
fn release(kept: Vec<KeptPack>) -> Result<()> {
    kept.into_iter().try_for_each(KeptPack::release)
}

/// What the side that a swap leads to may give.
pub fn granted<'a>(aim: &'a Aim<'_>) -> Granted<'a> {
    Granted::by(match aim {
        Aim::Tree { extras, .. } => extras,
        Aim::Paths { saved, .. } | Aim::Found { saved, .. } => saved,
    })
}

pub(super) struct Running<'a, 'g, 's> {
    pub(super) ctx: &'a Context<'a>,
    pub(super) store: &'s Store,
    pub(super) goal: &'a Goal<'g>,
    pub(super) swap_id: String,
}

impl<'s> Running<'_, '_, 's> {
    /// From the backup to the end. `None`: a gc came in between, look again.
    pub(super) fn carry_out(
        &self,
        looked: Looked<'s>,
        state_after: StateAfter<'_>,
        prove: Option<Prove<'_>>,
    ) -> Result<Option<Swapped<'s>>> {
        let Looked {
            capture,
            plan,
            blobs,
            raw_head,
        } = looked;
        super::settle_last(self.ctx, self.store)?;
        let Some(mut saved) = self.save(capture, &plan, prove.is_some())? else {
            return Ok(None);
        };
        fail_point("swap-backup");
        let before = self.store.dir.state()?;
        let after = state_after(&before, &saved, &self.swap_id);
        let mut journal = self.journal(&saved, &plan, &raw_head, before, after);
        let mut kept: Vec<KeptPack> = saved.kept.take().into_iter().collect();
        if let Err(error) = self.write_journal(&mut journal) {
            // Nothing was touched. What cannot be taken back now is cleared away by the next command.
            let _ = self
                .store
                .dir
                .remove_journal()
                .and_then(|()| remove_optional(&self.store.dir.file("index.before")))
                .and_then(|()| release(kept));
            return Err(error);
        }
        fail_point("swap-journal");
        let result = self.apply_all(&mut journal, &mut saved, &mut kept, (&plan, blobs), prove);
        let (applied, proof) = match result {
            Ok(done) => done,
            Err(error) if error.code() == Code::VerifyFailed => {
                journal.extra.insert("verify_failed".into(), true.into());
                self.store.dir.write_journal(&journal)?;
                return Err(error);
            }
            Err(error) => {
                let back = super::recover::roll_back(self.ctx, self.store, &journal);
                return Err(match back {
                    Ok(_) => {
                        release(kept)?;
                        error.hint("everything is as it was")
                    }
                    Err(second) => Error::new(
                        Code::Interrupted,
                        format!(
                            "{} stopped half-way and could not be undone: {error}; {second}",
                            self.goal.operation
                        ),
                    )
                    .hint("run 'tw recover'"),
                });
            }
        };
        self.store.dir.write_state(&journal.state_after)?;
        fail_point("swap-state");
        finish(self.store, &journal)?;
        release(kept)?;
        Ok(Some(Swapped {
            swap_id: self.swap_id.clone(),
            saved,
            plan,
            applied,
            proof,
            state: journal.state_after,
        }))
    }

    fn write_journal(&self, journal: &mut Journal) -> Result<()> {
        if !self.link_index()? {
            journal.extra.insert(NO_INDEX.into(), true.into());
        }
        fail_point("swap-linked");
        self.store.dir.write_journal(journal)
    }

    fn save(&self, capture: Capture<'s>, plan: &Plan, proved: bool) -> Result<Option<Made<'s>>> {
        let about = About {
            title: self.goal.title.clone(),
            trigger: self.goal.operation.to_owned(),
            converted: super::newindex::converted_paths(self.store, &capture)?,
            touched: plan.paths(),
            extra: self.goal.extra.clone(),
            ..About::default()
        };
        let wanted = CaptureOptions {
            storing: Storing::Durable(self.swap_id.clone()),
            leave_cache: proved,
            ..CaptureOptions::default()
        };
        record(
            self.ctx,
            self.store,
            self.goal.saves_as,
            &wanted,
            capture,
            &about,
        )
    }

    fn swaps_index(&self) -> bool {
        match &self.goal.index {
            IndexGoal::Stay => false,
            IndexGoal::Snapshot { .. } => true,
            IndexGoal::Paths(entries) => !entries.borrow().is_empty(),
        }
    }

    fn journal(
        &self,
        saved: &Made<'_>,
        plan: &Plan,
        raw_head: &str,
        before: State,
        after: State,
    ) -> Journal {
        let owner = Owner::this_process(&self.swap_id);
        let is_experiment = self.goal.saves_as == IdKind::Experiment;
        let mut journal = Journal {
            version: 1,
            swap_id: self.swap_id.clone(),
            operation: self.goal.operation.to_owned(),
            reverses: self.goal.reverses.clone(),
            started_at: self.ctx.env.now().rfc3339(),
            pid: owner.pid,
            process_start: owner.start,
            boot_id: crate::git::durable::boot_id().map(str::to_owned),
            backup_id: saved.id.to_string(),
            backup_commit: saved.commit.to_string(),
            target_id: self.goal.target.map(|stored| stored.id.to_string()),
            target_commit: self.goal.target.map(|stored| stored.commit.to_string()),
            experiment_id: is_experiment.then(|| saved.id.to_string()),
            entries: journal::entries(plan),
            dirs: journal::dirs(plan),
            head: match &self.goal.head {
                HeadGoal::Stay => None,
                HeadGoal::Raw(text) => Some((raw_head.to_owned(), text.clone())),
            },
            swaps_index: self.swaps_index(),
            swaps_operation: matches!(self.goal.operation_files, OperationGoal::Set(_)),
            state_before: before,
            state_after: after,
            head_left: String::new(),
            extra: serde_json::Map::new(),
        };
        if let IndexGoal::Paths(entries) = &self.goal.index
            && let Some(index) = &saved.capture.parsed_index
            && !entries.borrow().is_empty()
        {
            let entries = pathindex::stored(index, &entries.borrow());
            journal.extra.insert(pathindex::FIELD.into(), entries);
        }
        let (log, pops) = match &self.goal.logging {
            Logging::NewLevel => ("new", None),
            Logging::Undo(level) => ("undo", Some(level.clone())),
            Logging::Redo(level) => ("redo", Some(level.clone())),
        };
        journal.extra.insert("log".into(), log.into());
        if let Some(level) = pops {
            journal.extra.insert("pops".into(), level.into());
        }
        journal
    }

    /// Keeps the present index file by a second name: git replaces an index, it never writes into one. False: there is none.
    fn link_index(&self) -> Result<bool> {
        let before = self.store.dir.file("index.before");
        remove_optional(&before)?;
        remove_optional(&self.store.dir.file("index.after"))?;
        if !self.swaps_index() {
            return Ok(true);
        }
        match std::fs::hard_link(self.ctx.repo.index_path(), &before) {
            Ok(()) => {
                // git writes its index without waiting.
                let synced = crate::git::regular::open(&before).and_then(|index| index.sync_all());
                synced.context(|| format!("cannot sync '{}'", before.display()))?;
                Ok(true)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                let index = self.ctx.repo.index_path();
                let bytes = crate::git::regular::read(&index)
                    .context(|| format!("cannot read '{}'", index.display()))?;
                write_atomic(&before, &bytes, Durable::Yes)?;
                Ok(true)
            }
            Err(error) => Err(error).context(|| format!("cannot link '{}'", before.display())),
        }
    }

    fn apply_all(
        &self,
        journal: &mut Journal,
        saved: &mut Made<'s>,
        kept: &mut Vec<KeptPack>,
        (plan, blobs): (&Plan, Blobs),
        prove: Option<Prove<'_>>,
    ) -> Result<(Applied, Option<super::prove::Proof>)> {
        let root = Root::open(self.ctx.repo.worktree_root())?;
        let manifest: &Manifest = &saved.capture.manifest;
        let expected = |path: &[u8]| expected_in(manifest, path);
        let objects = &self.store.objects;
        let copy = |oid, out: &mut dyn std::io::Write| blobs.copy(objects, oid, out);
        let mut late = LateChanges::new(self.store, journal, saved.commit, kept);
        let applied = Apply {
            root: &root,
            tag: &self.swap_id,
            copy_blob: &copy,
            expected: &expected,
            securing: &mut late,
            access: &granted(&self.goal.aim),
            protected: &protected_dirs(self.ctx),
            progress: self.ctx.progress,
        }
        .run(plan)?;
        drop(blobs);
        let commit = late.commit();
        saved.commit = commit;
        fail_point("swap-applied");
        self.put_index(&saved.capture, &applied, plan)?;
        fail_point("swap-index");
        self.put_head(journal)?;
        fail_point("swap-head");
        if let OperationGoal::Set(state) = &self.goal.operation_files {
            operation::restore(&self.ctx.repo, state)?;
        }
        fail_point("swap-operation");
        let proof = match prove {
            Some(prove) => Some(prove(&saved.capture, &applied, plan)?),
            None => None,
        };
        fail_point("swap-proved");
        Ok((applied, proof))
    }

    fn put_index(&self, capture: &Capture<'_>, applied: &Applied, plan: &Plan) -> Result<()> {
        if !self.swaps_index() {
            return Ok(());
        }
        let index = new_index(
            self.ctx,
            self.store,
            capture,
            &self.goal.index,
            applied,
            plan,
        )?;
        install_index(self.ctx, self.store, &index)
    }

    fn put_head(&self, journal: &mut Journal) -> Result<()> {
        if let Some((before, after)) = &journal.head {
            let old = self.ctx.repo.head()?.oid;
            self.ctx.repo.write_raw_head(after)?;
            let new = self.ctx.repo.head()?.oid;
            if before != after {
                let target = journal.target_id.as_deref().unwrap_or(&journal.backup_id);
                let message = format!("tw {}: {target}", journal.operation);
                self.ctx
                    .repo
                    .append_head_reflog(old, new, self.ctx.env.now(), &message)?;
            }
        }
        journal.head_left = undo_log::head_mark(self.ctx)?;
        Ok(())
    }
}
