//! A patch as people see it: coloured on a terminal, and nothing in it steers that.

use std::borrow::Cow;

use super::Page;
use super::text::clean;

/// A patch goes into a file or pipe byte for byte. On a terminal its lines are coloured, and whatever would steer the
/// terminal is escaped.
pub fn patch(page: &mut Page, patch: &[u8]) {
    if !page.options.terminal && !page.options.style.is_on() {
        page.text.extend_from_slice(patch);
        return;
    }
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let shown = if page.options.terminal {
            tabs_kept(line)
        } else {
            String::from_utf8_lossy(line)
        };
        page.line(match line.first() {
            Some(b'+') => page.options.style.green(&shown),
            Some(b'-') => page.options.style.red(&shown),
            Some(b'@') => page.options.style.cyan(&shown),
            Some(b' ') | None => shown.into_owned(),
            Some(_) => page.options.style.bold(&shown),
        });
    }
}

fn tabs_kept(line: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    let parts: Vec<_> = text.split('\t').map(clean).collect();
    Cow::Owned(parts.join("\t"))
}
