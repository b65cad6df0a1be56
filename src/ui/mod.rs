//! The timeline as a terminal program: to walk through, to look at, and to act on.
//!
//! Owns the screen: `model` is what it shows, `update` what a key does to it, `view` how it is drawn; the three are pure.
//! `worker` reads and compares on threads of its own, `terminal` takes the terminal and gives it back. Promises: nothing
//! waits for a diff; whatever changes something is a command line (`plans`), shown as what it would do before it is
//! asked for, shown again when it would do something else by the time of the yes, and run by the command's own code; text from
//! elsewhere is shown and never obeyed. Leaves out what the commands do, which [`Commands`] stands for.

mod dialogs;
mod layout;
pub mod model;
mod patch;
mod plans;
mod rows;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod update;
mod view;
mod words;
mod worker;

use std::ffi::OsString;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::Value;

use crate::error::Result;
use crate::git::threads;
use crate::interrupt;
use crate::ops::Context;
use crate::ops::preview::Preview;
use crate::progress::Silent;
use model::{Model, Plan, Seen, Theme};
use terminal::{Input, Screen};
use update::{Effect, Event, begin, update};
pub use worker::Place;
use worker::Worker;

/// What a command said.
#[derive(Debug, Clone)]
pub struct Answered {
    /// Whether it did what it was asked for.
    pub done: bool,
    /// For people.
    pub text: String,
    /// Its document.
    pub document: Value,
}

/// Runs command lines, each as if a person had typed it where nobody can be asked.
pub trait Commands {
    /// Runs one; the words do not begin with the program's name.
    fn run(&self, words: &[OsString]) -> Answered;
}

/// Stands before what is shown again.
const ANOTHER: &str = "It would do something else by now than was shown:\n\n";

/// What the loop waits for.
enum Happening {
    Inside(Event),
    Outside(Input),
}

/// Shows the timeline until it is left, or until a signal ends the program.
///
/// # Errors
/// When the terminal cannot be set up or is gone, or the system refuses a thread.
pub fn run(place: &Place, theme: Theme, commands: &dyn Commands) -> Result<()> {
    let (inside, events) = channel();
    let (all, happenings) = channel();
    let to_all = all.clone();
    threads::start(move || {
        for event in events {
            if to_all.send(Happening::Inside(event)).is_err() {
                break;
            }
        }
    })?;
    // The first reads begin before the terminal is asked for anything.
    let worker = Worker::start(place, &inside)?;
    let mut model = Model::new(Screen::size(), theme, place.env.now());
    for effect in begin(&mut model) {
        worker.takes(&effect);
    }
    // A signal is to give the terminal back first.
    let deferred = interrupt::defer_quietly();
    terminal::listen(terminal::sender(all, Happening::Outside))?;
    let mut program = Program {
        place,
        screen: Screen::take()?,
        deferred,
        worker,
        model,
        commands,
        happenings,
        ended_by: None,
        asked: None,
    };
    let ran = program.run();
    let ended_by = program.ended_by;
    drop(program);
    if let Some(signal) = ended_by {
        terminal::end_by(signal);
    }
    ran
}

struct Program<'c> {
    place: &'c Place,
    screen: Screen,
    deferred: interrupt::Deferred,
    worker: Worker,
    model: Model,
    commands: &'c dyn Commands,
    happenings: Receiver<Happening>,
    ended_by: Option<i32>,
    /// When the last question stood on the screen.
    asked: Option<Instant>,
}

impl Program<'_> {
    fn run(&mut self) -> Result<()> {
        self.wait_for_first_page();
        loop {
            self.screen.draw(&self.model)?;
            let Ok(first) = self.happenings.recv() else {
                return Ok(());
            };
            // All that came is taken in before anything is drawn.
            let mut next = Some(first);
            while let Some(happening) = next {
                if !self.take_in(happening)? {
                    return Ok(());
                }
                next = self.happenings.try_recv().ok();
            }
        }
    }

    /// An empty screen tells nobody anything: the first page is waited for, but not for long.
    fn wait_for_first_page(&mut self) {
        let soon = std::time::Duration::from_millis(30);
        if let Ok(happening) = self.happenings.recv_timeout(soon) {
            let _ = self.take_in(happening);
        }
    }

    /// False: it is over.
    fn take_in(&mut self, happening: Happening) -> Result<bool> {
        match happening {
            Happening::Outside(Input::Gone) => Ok(false),
            Happening::Outside(Input::Signal(signal)) => {
                if terminal::is_end(signal) {
                    self.ended_by = Some(signal);
                    return Ok(false);
                }
                if terminal::is_stop(signal) {
                    self.screen.stop()?;
                } else {
                    self.screen.again()?;
                }
                self.model.size = Screen::size();
                Ok(true)
            }
            // It is no answer to a question that stood nowhere yet.
            Happening::Outside(Input::Event(event, came))
                if !event.is_resize() && self.asked.is_some_and(|asked| came <= asked) =>
            {
                Ok(true)
            }
            Happening::Outside(Input::Event(event, _)) => self.update(Event::Terminal(event)),
            Happening::Inside(event) => self.update(event),
        }
    }

    fn update(&mut self, event: Event) -> Result<bool> {
        for effect in update(&mut self.model, event) {
            if self.worker.takes(&effect) {
                continue;
            }
            let on = match effect {
                Effect::Quit => return Ok(false),
                Effect::Suspend => {
                    self.screen.stop()?;
                    self.model.size = Screen::size();
                    true
                }
                Effect::Copy(text) => {
                    Screen::copy(&text);
                    true
                }
                Effect::DryRun(plan) => self.look(plan)?,
                Effect::Run(plan) => self.do_it(&plan)?,
                _ => true,
            };
            if !on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn look(&mut self, plan: Plan) -> Result<bool> {
        let Some(words) = &plan.dry else {
            let text = "This is the command; it has no way to only look.".to_owned();
            return self.ask(plan, text);
        };
        let answered = self.command("looking …", words)?;
        self.show(plan, answered)
    }

    /// Asks what its dry run says, or tells it where there is nothing to ask.
    fn show(&mut self, mut plan: Plan, answered: Answered) -> Result<bool> {
        if !answered.done || plans::is_needless(&plan, &answered.document) {
            return self.update(Event::Looked(plan, false, answered.text));
        }
        let planned = plan.clone();
        if let Some(pin) = plan.pinned {
            let meant = answered.document.pointer(pin.place);
            let Some(meant) = meant.and_then(Value::as_str) else {
                let text = "it was not told what this would do".to_owned();
                return self.update(Event::Looked(plan, false, text));
            };
            plan.add(format!("{}{meant}", pin.option).into());
        }
        plan.seen = Some(Box::new(Seen {
            plan: planned,
            preview: self.preview(answered.document)?,
        }));
        self.ask(plan, answered.text)
    }

    fn preview(&self, document: Value) -> Result<Preview> {
        let context = Context::open(&self.place.start, &self.place.env, &Silent)?;
        Ok(Preview::of(document, context.repo.worktree_root()))
    }

    /// Asks whether to do it. What was typed before the question stood on the screen is no answer to it.
    fn ask(&mut self, plan: Plan, text: String) -> Result<bool> {
        let on = self.update(Event::Looked(plan, true, text))?;
        self.screen.draw(&self.model)?;
        // What is not read yet; what is, tells when it came.
        Screen::forget_typed();
        self.asked = Some(Instant::now());
        Ok(on)
    }

    /// Does what was shown; what would be something else by now is shown anew.
    fn do_it(&mut self, plan: &Plan) -> Result<bool> {
        if let Some(seen) = &plan.seen
            && let Some(words) = &seen.plan.dry
        {
            let mut now = self.command("looking …", words)?;
            if !now.done {
                return self.show(seen.plan.clone(), now);
            }
            if self.preview(now.document.clone())? != seen.preview {
                now.text.insert_str(0, ANOTHER);
                return self.show(seen.plan.clone(), now);
            }
        }
        let answered = self.command("working …", &plan.real)?;
        self.update(Event::Ran(answered.text))
    }

    /// Runs a command. What is typed meanwhile answers no question that nobody has read.
    fn command(&mut self, message: &str, words: &[OsString]) -> Result<Answered> {
        self.model.message = Some(message.to_owned());
        self.screen.draw(&self.model)?;
        let answered = self.commands.run(words);
        self.model.message = None;
        self.model.now = self.place.env.now();
        // The command deferred signals itself, and gave that up.
        let before = std::mem::replace(&mut self.deferred, interrupt::defer_quietly());
        std::mem::forget(before);
        self.forget_typed()?;
        Ok(answered)
    }

    fn forget_typed(&mut self) -> Result<()> {
        let mut kept = Vec::new();
        while let Ok(happening) = self.happenings.try_recv() {
            let is_typed = matches!(
                &happening,
                Happening::Outside(Input::Event(event, _)) if !event.is_resize()
            );
            if !is_typed {
                kept.push(happening);
            }
        }
        for happening in kept {
            if !self.take_in(happening)? {
                // Said again, so that the loop ends.
                return Err(ended());
            }
        }
        Ok(())
    }
}

fn ended() -> crate::error::Error {
    crate::error::Error::new(crate::error::Code::Io, "the terminal is gone")
}
