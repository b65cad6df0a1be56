//! Backtrack as people see it.

use super::text::clean;
use super::{Human, Page, RenderOptions};
use crate::ops::backtrack::{Cancelled, Scheduled, Shown, Taken};
use crate::store::backtrack::Pending;

fn show(page: &mut Page, pending: Option<&Pending>) {
    let Some(pending) = pending else {
        page.notes.push("no message waits".to_owned());
        return;
    };
    page.line(format!("to checkpoint {}", pending.checkpoint_id));
    if let Some(rationale) = &pending.rationale {
        page.line(format!("because {}", clean(rationale)));
    }
    page.line("");
    for line in pending.note.lines() {
        page.line(clean(line));
    }
}

impl Human for Scheduled {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!(
            "a message waits to go back to checkpoint {}",
            self.pending.checkpoint_id
        ));
        page.hint("the harness takes it with 'tw backtrack take'");
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.pending.checkpoint_id.to_string()])
    }
}

impl Human for Taken {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        show(&mut page, self.pending.as_ref());
        page
    }
}

impl Human for Shown {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        show(&mut page, self.pending.as_ref());
        page
    }
}

impl Human for Cancelled {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        match &self.pending {
            Some(pending) => page.line(format!(
                "dropped the message to checkpoint {}",
                pending.checkpoint_id
            )),
            None if self.notices.is_empty() => page.line("no message waits"),
            None => page.notices(&self.notices),
        }
        page
    }
}
