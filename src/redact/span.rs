//! Places to replace, and the replacing.

use std::collections::BTreeMap;
use std::ops::Range;

use super::MARK;
use super::runs::run_at_start;

/// The longest name of a rule in a mark.
const NAME_MAX: usize = 80;

/// What found a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FoundBy {
    /// A general rule that may have taken a name in code, whose other places stay; by the name that is counted.
    Guess(&'static str),
    /// A general rule, by the name that is counted.
    General(&'static str),
    /// A row of the table, by its id.
    Rule(&'static str),
}

impl FoundBy {
    /// What stands in the place of the secret.
    pub(super) fn mark(self) -> String {
        match self {
            Self::Guess(_) | Self::General(_) => format!("{MARK}***"),
            Self::Rule(id) => format!("{MARK}:{id}***"),
        }
    }

    /// What it is counted as.
    pub(super) fn name(self) -> &'static str {
        let (Self::Guess(name) | Self::General(name) | Self::Rule(name)) = self;
        name
    }
}

/// One secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) found_by: FoundBy,
}

/// Joins what overlaps, in order of place. A row of the table names what it shares with a general rule.
pub(super) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    // The longer of two that begin at one place first, so that one pass joins all.
    spans.sort_by(|a, b| (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    let mut named = 0;
    for span in spans {
        let Some(last) = merged
            .last_mut()
            .filter(|last| span.range.start < last.range.end)
        else {
            named = name_length(&span);
            merged.push(span);
            continue;
        };
        let is_surer = matches!(last.found_by, FoundBy::Guess(_))
            && matches!(span.found_by, FoundBy::General(_))
            && span.range == last.range;
        if name_length(&span) > named || is_surer {
            named = name_length(&span);
            last.found_by = span.found_by;
        }
        last.range.end = last.range.end.max(span.range.end);
    }
    merged
}

fn name_length(span: &Span) -> usize {
    match span.found_by {
        FoundBy::Guess(_) | FoundBy::General(_) => 0,
        FoundBy::Rule(_) => span.range.len(),
    }
}

/// The length of the mark that a text begins with.
pub(super) fn mark_at_start(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(MARK)?;
    let name = rest.strip_prefix(':').map_or(0, |name| {
        1 + run_at_start(name.as_bytes(), NAME_MAX, |byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
        })
    });
    let end = rest[name..].starts_with("***");
    end.then_some(MARK.len() + name + "***".len())
}

fn ends_with_mark(text: &str) -> bool {
    let last = text.rfind(MARK).filter(|_| text.ends_with("***"));
    last.is_some_and(|at| mark_at_start(&text[at..]) == Some(text.len() - at))
}

/// Takes from each span what is of a mark that it begins or ends in: a mark stays whole.
pub(super) fn keep_marks(text: &str, spans: &mut Vec<Span>) {
    let marks: Vec<Range<usize>> = text
        .match_indices(MARK)
        .filter_map(|(at, _)| Some(at..at + mark_at_start(&text[at..])?))
        .collect();
    if marks.is_empty() {
        return;
    }
    let mark_over = |place: usize| {
        let at = marks.partition_point(|mark| mark.end <= place);
        marks.get(at).filter(|mark| mark.start < place)
    };
    for span in spans.iter_mut() {
        if let Some(mark) = mark_over(span.range.start) {
            span.range.start = mark.end;
        }
        if let Some(mark) = mark_over(span.range.end) {
            span.range.end = mark.start;
        }
    }
    spans.retain(|span| {
        span.range.start < span.range.end
            && marks
                .binary_search_by_key(&span.range.start, |mark| mark.start)
                .is_err()
    });
}

/// Puts the marks in place of the secrets.
pub(super) fn replaced(text: &str, spans: &[Span], counts: &mut BTreeMap<String, u64>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        let start = floor(text, span.range.start).max(at);
        let end = ceil(text, span.range.end).max(start);
        out.push_str(&text[at..start]);
        // The rest of what a mark beside it stands for already needs none of its own.
        let has_mark = ends_with_mark(&text[at..start]) || mark_at_start(&text[end..]).is_some();
        if !has_mark {
            out.push_str(&span.found_by.mark());
        }
        let name = span.found_by.name();
        if let Some(count) = counts.get_mut(name) {
            *count += 1;
        } else {
            counts.insert(name.to_owned(), 1);
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

/// The nearest character boundary at or before a place.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after a place.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(range: Range<usize>, found_by: FoundBy) -> Span {
        Span { range, found_by }
    }

    #[test]
    fn overlaps_join_and_the_table_names_them() {
        let spans = merged(vec![
            span(4..9, FoundBy::General("entropy")),
            span(2..6, FoundBy::Rule("x")),
            span(12..14, FoundBy::General("url")),
        ]);
        assert_eq!(
            spans,
            [
                span(2..9, FoundBy::Rule("x")),
                span(12..14, FoundBy::General("url"))
            ]
        );
    }

    #[test]
    fn marks_stay_whole() {
        let text = "a ***REDACTED:x-1***@b ***REDACTED*** ***REDACTED:";
        for (range, left) in [
            (0..4, Some(0..2)),
            (14..24, Some(20..23)),
            (20..22, Some(20..22)),
            (5..9, None),
            (2..22, None),
            (0..22, Some(0..22)),
            (40..48, Some(40..48)),
        ] {
            let mut spans = vec![span(range.clone(), FoundBy::General("url"))];
            keep_marks(text, &mut spans);
            let ranges: Vec<_> = spans.into_iter().map(|span| span.range).collect();
            assert_eq!(ranges, left.into_iter().collect::<Vec<_>>(), "{range:?}");
        }
    }

    #[test]
    fn marks_and_counts() {
        let mut counts = BTreeMap::new();
        let spans = [
            span(2..4, FoundBy::Rule("x")),
            span(7..9, FoundBy::General("url")),
        ];
        let text = replaced("a=12\nb=€!", &spans, &mut counts);
        assert_eq!(
            text, "a=***REDACTED:x***\nb=***REDACTED***!",
            "a cut character goes whole"
        );
        assert_eq!(counts.len(), 2);
    }
}
