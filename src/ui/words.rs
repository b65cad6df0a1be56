//! What changed within a line that was replaced by another one.

/// Longer lines are told by their ends alone.
const MOST: usize = 160;

/// For each character of both lines whether it changed. Nothing stands out where the lines have little in common: it would be
/// everything.
pub fn changed(old: &str, new: &str) -> (Vec<bool>, Vec<bool>) {
    let (old, new) = (tokens(old), tokens(new));
    let (kept_old, kept_new) = if old.len() > MOST || new.len() > MOST {
        by_ends(&old, &new)
    } else {
        by_all(&old, &new)
    };
    let letters = |tokens: &[&str], kept: &[bool]| -> usize {
        let kept = tokens.iter().zip(kept).filter(|(_, kept)| **kept);
        kept.map(|(token, _)| token.trim().len()).sum()
    };
    let all = |tokens: &[&str]| tokens.iter().map(|token| token.trim().len()).sum::<usize>();
    let common = letters(&old, &kept_old);
    if common * 3 < all(&old).max(all(&new)) {
        return (Vec::new(), Vec::new());
    }
    (spread(&old, &kept_old), spread(&new, &kept_new))
}

/// Words, runs of spaces, and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let class = |ch: char| match ch {
        ch if ch.is_alphanumeric() || ch == '_' => 1,
        ch if ch.is_whitespace() => 2,
        _ => 0,
    };
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let length = match kind {
            0 => first.len_utf8(),
            _ => rest.find(|ch| class(ch) != kind).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// What both begin and end with stays.
fn by_ends(old: &[&str], new: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let start = old.iter().zip(new).take_while(same).count();
    let shorter = old.len().min(new.len()) - start;
    let ends = old.iter().rev().zip(new.iter().rev()).take(shorter);
    let end = ends.take_while(same).count();
    let kept = |length: usize| {
        (0..length)
            .map(|at| at < start || at + end >= length)
            .collect()
    };
    (kept(old.len()), kept(new.len()))
}

/// The longest sequence of tokens that both have stays.
fn by_all(old: &[&str], new: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let wide = new.len() + 1;
    let mut best = vec![0u16; (old.len() + 1) * wide];
    let at = |row: usize, column: usize| row * wide + column;
    let get = |best: &[u16], row, column| best.get(at(row, column)).copied().unwrap_or(0);
    for (row, a) in old.iter().enumerate().rev() {
        for (column, b) in new.iter().enumerate().rev() {
            let longest = if a == b {
                get(&best, row + 1, column + 1) + 1
            } else {
                get(&best, row + 1, column).max(get(&best, row, column + 1))
            };
            if let Some(place) = best.get_mut(at(row, column)) {
                *place = longest;
            }
        }
    }
    let (mut kept_old, mut kept_new) = (vec![false; old.len()], vec![false; new.len()]);
    let (mut row, mut column) = (0, 0);
    while let (Some(a), Some(b)) = (old.get(row), new.get(column)) {
        if a == b {
            if let (Some(x), Some(y)) = (kept_old.get_mut(row), kept_new.get_mut(column)) {
                (*x, *y) = (true, true);
            }
            row += 1;
            column += 1;
        } else if get(&best, row + 1, column) >= get(&best, row, column + 1) {
            row += 1;
        } else {
            column += 1;
        }
    }
    (kept_old, kept_new)
}

fn spread(tokens: &[&str], kept: &[bool]) -> Vec<bool> {
    let each = tokens.iter().zip(kept);
    each.flat_map(|(token, kept)| token.chars().map(move |_| !kept))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> (String, String) {
        let (gone, come) = changed(old, new);
        let marked = |text: &str, changed: &[bool]| {
            let each = text.chars().zip(changed);
            each.map(|(ch, changed)| if *changed { ch } else { '.' })
                .collect()
        };
        (marked(old, &gone), marked(new, &come))
    }

    #[test]
    fn words_that_changed_stand_out() {
        for (old, new, gone, come) in [
            ("let a = 1;", "let b = 1;", "....a.....", "....b....."),
            ("f(x)", "f(x, y)", "....", "..., y."),
            ("same", "same", "....", "...."),
            ("one", "two", "", ""),
            ("", "", "", ""),
        ] {
            let told = told(old, new);
            assert_eq!((told.0.as_str(), told.1.as_str()), (gone, come), "{old}");
        }
        let long = "word ".repeat(200);
        let (gone, come) = changed(&format!("{long}x {long}"), &format!("{long}y {long}"));
        assert_eq!(gone.iter().filter(|changed| **changed).count(), 1);
        assert_eq!(come.iter().filter(|changed| **changed).count(), 1);
    }
}
