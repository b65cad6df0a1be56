//! Checkpoints, one by one and in a list.

use super::record::USUAL_TAIL;
use super::text::{clean, number};
use super::{Human, Page, RenderOptions, time};
use crate::ops::checkpoint::{Listing, Shown, Taken};
use crate::store::checkpoint::Checkpoint;

/// So much of a prompt names a checkpoint in a line.
const PROMPT_CHARS: usize = 60;

/// What was asked, on one line.
pub fn headline(checkpoint: &Checkpoint) -> String {
    let text = checkpoint.prompt.as_deref().or(checkpoint.tool.as_deref());
    first_line(text.unwrap_or_default())
}

/// The first line of a text that says something, not longer than a prompt is shown.
pub fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let mut short: String = line.chars().take(PROMPT_CHARS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    clean(&short)
}

fn row(checkpoint: &Checkpoint, options: &RenderOptions) -> String {
    let context = checkpoint.tokens.context;
    let context = context.map_or_else(String::new, |tokens| format!("  {} tokens", number(tokens)));
    format!(
        "{:>4}  {:<6}  {}  {}{context}  {}",
        checkpoint.checkpoint_id,
        checkpoint.kind.as_str(),
        options
            .style
            .id(&clean(&checkpoint.snapshot_id), USUAL_TAIL),
        time::ago(options.now, &checkpoint.created_at),
        headline(checkpoint)
    )
    .trim_end()
    .to_owned()
}

impl Human for Taken {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let checkpoint = &self.checkpoint;
        let since = if self.fresh {
            ""
        } else {
            "  (nothing changed since that snapshot)"
        };
        page.line(format!(
            "checkpoint {} of session {}",
            checkpoint.checkpoint_id,
            clean(&checkpoint.session_id)
        ));
        page.line(format!(
            "  {}{since}",
            options
                .style
                .id(&clean(&checkpoint.snapshot_id), USUAL_TAIL)
        ));
        page.notices(&self.notices);
        page.hint(format!(
            "'tw rewind {}' goes back to it",
            checkpoint.checkpoint_id
        ));
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.checkpoint.checkpoint_id.to_string()])
    }
}

impl Human for Listing {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for checkpoint in &self.checkpoints {
            page.line(row(checkpoint, options));
            let rewinds = self.rewinds.iter();
            for rewind in rewinds.filter(|rewind| rewind.checkpoint_id == checkpoint.checkpoint_id)
            {
                let fork = rewind.fork.as_ref();
                let to = fork.map_or_else(String::new, |fork| {
                    format!(", goes on as {}", clean(&fork.session_id))
                });
                let undone = if rewind.undone_at.is_some() {
                    ", undone"
                } else {
                    ""
                };
                page.line(format!(
                    "      rewound to here ({}) {}{to}{undone}",
                    clean(&rewind.mode),
                    time::ago(options.now, &rewind.rewound_at)
                ));
            }
        }
        page.notices(&self.invalid);
        page.notices(&self.notices);
        if self.checkpoints.is_empty() {
            page.hint("'tw checkpoint' makes one; 'tw init --agent NAME' lets an agent do it at each prompt");
        } else {
            page.hint("'tw rewind N' shows what going back would do");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.checkpoints.iter();
        Some(
            ids.map(|checkpoint| checkpoint.checkpoint_id.to_string())
                .collect(),
        )
    }
}

impl Human for Shown {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let checkpoint = &self.checkpoint;
        page.line(format!(
            "checkpoint {} of session {}",
            checkpoint.checkpoint_id,
            clean(&checkpoint.session_id)
        ));
        let place = &checkpoint.transcript;
        let mut row = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                page.line(format!("  {name:<12} {value}"));
            }
        };
        row(
            "made",
            Some(time::exactly(options.now, &checkpoint.created_at)),
        );
        row("kind", Some(checkpoint.kind.as_str().to_owned()));
        row("agent", checkpoint.agent.as_deref().map(clean));
        row("tool", checkpoint.tool.as_deref().map(clean));
        row(
            "snapshot",
            Some(
                options
                    .style
                    .id(&clean(&checkpoint.snapshot_id), USUAL_TAIL),
            ),
        );
        row("supersedes", checkpoint.supersedes.as_deref().map(clean));
        row("transcript", place.path.as_deref().map(clean));
        row("line", place.line.map(number));
        row("tokens", checkpoint.tokens.context.map(number));
        let yes = "can be gone back to".to_owned();
        let code = if self.has_snapshot {
            yes.clone()
        } else {
            "its snapshot was forgotten".to_owned()
        };
        row("files", Some(code));
        row(
            "conversation",
            Some(match &self.conversation {
                Ok(()) => yes,
                Err(error) => clean(error.message()),
            }),
        );
        if let Some(prompt) = &checkpoint.prompt {
            page.line("");
            for line in prompt.lines() {
                page.line(format!("  {}", clean(line)));
            }
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.checkpoint.snapshot_id.clone()])
    }
}
