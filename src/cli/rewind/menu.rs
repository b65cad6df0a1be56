//! The menu of `tw rewind`: what each mode would do, and which is meant.

use super::{called, code_numbers, talk_numbers, which_prompt};
use crate::cli::ask::Choice;
use crate::cli::checkpoint::headline;
use crate::cli::prelude::*;
use crate::ops::rewind::{self, Choices, Mode};

/// Asks which mode is meant, with what each would do above the question.
///
/// # Errors
/// `USAGE` where nobody can be asked; as [`rewind::choices`].
pub fn ask(
    ctx: &Context<'_>,
    call: &Call<'_>,
    checkpoint: &str,
    session: Option<&str>,
) -> Result<Mode> {
    if !call.ask.can_ask() {
        return Err(
            Error::usage("a mode is needed where there is no terminal to ask on").hint(
                "give --code, --conversation or --both; with --dry-run alone it shows what each would do",
            ),
        );
    }
    let choices = rewind::choices(ctx, checkpoint, session)?;
    let possible: Vec<Choice<Mode>> = menu(&choices).into_iter().map(|row| row.choice).collect();
    call.output.preview(&choices);
    if possible.iter().all(|one| one.meaning == Mode::NeverMind) {
        // The rewind itself says why.
        return Ok(Mode::Both);
    }
    let chosen = call.ask.choose("Which", &possible)?;
    Ok(chosen.unwrap_or(Mode::NeverMind))
}

/// A line of the menu.
struct Row {
    choice: Choice<Mode>,
    name: &'static str,
    does: String,
}

/// What can be chosen. A number stays what it is where another choice is missing.
fn menu(choices: &Choices) -> Vec<Row> {
    let code = choices.code.as_ref().map(code_numbers);
    let talk = choices.conversation.as_ref().map(talk_numbers);
    let both = code
        .as_ref()
        .zip(talk.as_ref())
        .map(|(code, talk)| format!("{code}; {talk}"));
    let row = |number, words, name, meaning, does: Option<String>| {
        does.map(|does| Row {
            choice: Choice {
                number,
                words,
                meaning,
            },
            name,
            does,
        })
    };
    [
        row(
            1,
            &["b", "both"][..],
            "code and conversation",
            Mode::Both,
            both,
        ),
        row(
            2,
            &["c", "conversation"],
            "conversation",
            Mode::Conversation,
            talk,
        ),
        row(3, &["f", "files", "code"], "code", Mode::Code, code),
        row(
            4,
            &["n", "q", "never mind"],
            "never mind",
            Mode::NeverMind,
            Some(String::new()),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Choices {
    /// The prompt that the conversation would go back to, where the checkpoint is not named after it.
    fn other_prompt(&self) -> Option<String> {
        let part = self.conversation.as_ref()?;
        let prompt = beginning(part.original_user_message.as_deref()?);
        (prompt != headline(&self.checkpoint)).then_some(prompt)
    }
}

impl Human for Choices {
    fn print(&self, page: &mut Page) {
        let checkpoint = &self.checkpoint;
        let age = page.options.ago(&checkpoint.created_at);
        let id = checkpoint.checkpoint_id;
        page.line(called(format!("checkpoint {id} ({age})"), checkpoint));
        for Row { choice, name, does } in menu(self) {
            let letter = choice.words.first().copied().unwrap_or_default();
            let line = format!("  {} {letter}  {name:<21}  {does}", choice.number);
            page.line(line.trim_end());
        }
        for (what, why) in [
            ("code", &self.code_refused),
            ("conversation", &self.conversation_refused),
        ] {
            if let Some(why) = why {
                page.line(format!("{what} cannot go back: {}", clean(why)));
            }
        }
        if let Some(prompt) = self.other_prompt() {
            page.line(format!("{}: {prompt}", which_prompt(checkpoint)));
        }
        page.notices(&self.notices);
    }
}
