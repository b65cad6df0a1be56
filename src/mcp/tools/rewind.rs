//! `tw rewind` as a tool.

use crate::mcp::tools::prelude::*;
use crate::ops::rewind::{self, Mode};

/// # Go back to a checkpoint
///
/// Goes back to a checkpoint: 'code' puts the files back, 'conversation' writes a fork of the conversation that ends before
/// it, 'both' does both. Only a dry run unless 'confirm' is true. The session's own file is never changed; the answer has the
/// command by which the user resumes the fork.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rewind {
    /// The checkpoint's number, 'checkpoint:N' or 'SESSION:N'. An unknown one is refused with the range of numbers.
    checkpoint: Address,
    /// Put the files back.
    #[serde(default)]
    code: bool,
    /// Fork the conversation.
    #[serde(default)]
    conversation: bool,
    /// Do both.
    #[serde(default)]
    both: bool,
    /// What the future self is told: it remembers nothing that came after.
    note: Option<String>,
    /// Why, for the record.
    rationale: Option<String>,
    /// Really go back.
    #[serde(default)]
    confirm: bool,
    /// List what would change, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

impl Request for Rewind {
    const NAME: &str = "timewarp_rewind";
    const OUTPUTS: &[Document] = &[document::<ops::rewind::Rewound>("rewind")];
    const EFFECT: Effect = Effect::Replaces;
    const QUOTES: Option<&str> = Some("prompts of the conversation");

    fn run(self, ctx: &Context<'_>) -> Result<Value> {
        let mode = match (self.code, self.conversation, self.both) {
            (true, false, false) => Mode::Code,
            (false, true, false) => Mode::Conversation,
            (false, false, true) => Mode::Both,
            _ => {
                return Err(Error::usage(
                    "one of 'code', 'conversation' and 'both' has to be true",
                ));
            }
        };
        let request = rewind::Rewind {
            checkpoint: self.checkpoint.into(),
            session: None,
            mode,
            note: self.note,
            rationale: self.rationale,
            dry_run: (self.dry_run || !self.confirm).into(),
            then: rewind::Then::Nothing,
        };
        let mut rewound = rewind::rewind(ctx, &request)?;
        // As typed it is for the person who pastes it; this reader may not be the one it was said to.
        let part = rewound.conversation.as_mut();
        if let Some(asked) = part.and_then(|part| part.original_user_message.as_mut()) {
            *asked = ctx.redactor().text(asked).text;
        }
        if !self.confirm && !self.dry_run {
            rewound
                .notices
                .push("nothing was changed: a rewind is done only with 'confirm': true".to_owned());
        }
        Ok(wire::value(&rewound))
    }
}
