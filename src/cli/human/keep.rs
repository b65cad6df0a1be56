//! What looks after snapshots and the repository: open, close, label, prune, drop, purge, init.

use super::record::{USUAL_TAIL, headline};
use super::text::{self, clean, count, quoted, size};
use super::{Human, Page, RenderOptions, time};
use crate::ops::outcome::{Closed, Initialised, Labelled, Opened, Pruned, Purged};

impl Human for Opened {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(text::path(&self.dir));
        page.line(format!(
            "  {} of {}",
            count(self.files, "file"),
            headline(&self.snapshot, options.style)
        ));
        page.notices(&self.notices);
        page.hint(format!(
            "'tw close {}' removes it again",
            text::path(&self.dir)
        ));
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.dir.to_string_lossy().into_owned()])
    }
}

impl Human for Closed {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!("closed {}", text::path(&self.dir)));
        if let Some(id) = &self.experiment_id {
            page.line(format!(
                "  what was in it is saved as {}",
                options.style.id(&clean(id), USUAL_TAIL)
            ));
        }
        page.notices(&self.notices);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.experiment_id.iter().cloned().collect())
    }
}

impl Human for Labelled {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.removed {
            "took the label"
        } else {
            "labelled"
        };
        let (label, place) = (clean(&self.label), headline(&self.snapshot, options.style));
        page.line(if self.removed {
            format!("{verb} '{label}' away from {place}")
        } else {
            format!("{verb} '{label}': {place}")
        });
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.snapshot.id.clone()])
    }
}

impl Human for Pruned {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.dry_run {
            "would forget"
        } else {
            "forgot"
        };
        for entry in &self.forgotten {
            page.line(format!(
                "{verb} {}  {}  at most {}",
                options.style.id(&clean(&entry.id), USUAL_TAIL),
                time::ago(options.now, &entry.created_at),
                size(entry.bytes)
            ));
        }
        page.line(format!(
            "{verb} {}, at most {}; kept {}",
            self.forgotten.len(),
            size(self.bytes),
            self.kept
        ));
        page.notices(&self.notices);
        if !self.dry_run && !self.forgotten.is_empty() {
            page.hint("'tw recover --dropped' takes them back while git still has them");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(
            self.forgotten
                .iter()
                .map(|entry| entry.id.clone())
                .collect(),
        )
    }
}

impl Human for Purged {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.dry_run {
            "would rewrite"
        } else {
            "rewrote"
        };
        for (id, _, _) in &self.rewritten {
            page.line(format!(
                "{verb} {}",
                options.style.id(&clean(id), USUAL_TAIL)
            ));
        }
        let paths: Vec<_> = self.paths.iter().map(|path| quoted(path)).collect();
        page.line(format!(
            "{verb} {} without {}",
            count(self.rewritten.len(), "record"),
            paths.join(", ")
        ));
        for sentence in &self.unreachable {
            page.line(format!("not reached: {}", clean(sentence)));
        }
        if !self.dry_run {
            page.hint(format!("'{}' really deletes the old bytes", self.finish));
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.rewritten.iter().map(|(id, _, _)| id.clone()).collect())
    }
}

impl Human for Initialised {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.dry_run { "would write" } else { "wrote" };
        for file in &self.changed {
            page.line(format!("{verb} {}", text::path(file)));
        }
        for file in &self.unchanged {
            page.line(format!("as it should be: {}", text::path(file)));
        }
        page.notices(&self.notices);
        if !self.dry_run {
            page.hint("'tw snapshot' takes a snapshot");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.changed.iter().map(|file| text::path(file)).collect())
    }
}
