//! A block of lines between two marks, in files whose comments begin with `#`: TOML, shell.

/// The line that opens our block.
pub const BEGIN: &str = "# >>> timewarp >>>";
/// The line that closes it.
pub const END: &str = "# <<< timewarp <<<";

/// Start and end of our block: from the last opening line before the first closing one.
fn block(text: &str) -> Option<(usize, usize)> {
    let (mut begin, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (line.trim_end(), begin) {
            (BEGIN, _) => begin = Some(at),
            (END, Some(begin)) => return Some((begin, end)),
            _ => {}
        }
        at = end;
    }
    None
}

/// Whether our block stands in the text.
pub fn has_block(text: &str) -> bool {
    block(text).is_some()
}

/// How the lines of a text end, but for those of our block.
fn line_end(text: &str) -> &'static str {
    if take_block(text).contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    }
}

/// The text with our block in it, once: where it was, else behind the first `after` bytes, or at the end. `body` is whole lines,
/// which end as those of the text do.
pub fn put_block(text: &str, body: &str, after: Option<usize>) -> String {
    let end = line_end(text);
    let lines = format!("{BEGIN}\n{body}{END}\n").replace('\n', end);
    if let Some((start, end)) = block(text) {
        let old = &text[start..end];
        // At the end of a file that has no last line feed, the block has none either.
        let lines = if old.ends_with('\n') {
            &lines
        } else {
            lines.trim_end()
        };
        return [&text[..start], lines, &text[end..]].concat();
    }
    if let Some((before, behind)) = after.and_then(|at| text.split_at_checked(at)) {
        return [before, &lines, behind].concat();
    }
    match text {
        _ if text.ends_with('\n') => [text, &lines].concat(),
        "" => lines.trim_end().to_owned(),
        _ => [text, end, lines.trim_end()].concat(),
    }
}

/// The text without our block.
pub fn take_block(text: &str) -> String {
    let Some((start, end)) = block(text) else {
        return text.to_owned();
    };
    let before = &text[..start];
    let unended = end == text.len() && !text.ends_with('\n');
    // The line feed before a block at an end without one came with the block.
    let own_end = if text[start..end].contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let before = if unended {
        before.strip_suffix(own_end).unwrap_or(before)
    } else {
        before
    };
    [before, &text[end..]].concat()
}

/// The lines between the marks; None without a block.
pub fn inside_block(text: &str) -> Option<&str> {
    let (start, end) = block(text)?;
    let lines = text[start..end].split_once('\n')?.1.trim_end();
    lines.strip_suffix(END)
}

/// The text with other lines in the block's place, without marks.
pub fn replace_block(text: &str, lines: &str) -> String {
    match block(text) {
        Some((start, end)) => [&text[..start], lines, &text[end..]].concat(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_and_out_gives_the_same_bytes() {
        for text in [
            "",
            "a = 1",
            "a = 1\n",
            "\n",
            "a\r\nb\r\n",
            "a\r\nb",
            "a\r",
            "a\nb\r\n",
            "# >>> timewarp >>>\nnever closed\n",
        ] {
            let made = put_block(text, "x = 1\n", None);
            assert!(has_block(&made), "{text:?}");
            assert_eq!(put_block(&made, "x = 1\n", None), made, "{text:?} twice");
            assert_eq!(take_block(&made), text, "{text:?}");
            let newer = put_block(&made, "y = 2\n", None);
            assert_eq!(take_block(&newer), text, "{text:?} in a newer form");
        }
    }

    #[test]
    fn lines_end_as_those_of_the_file() {
        let made = put_block("a = 1\r\n", "x = 1\ny = 2\n", None);
        assert_eq!(
            made,
            format!("a = 1\r\n{BEGIN}\r\nx = 1\r\ny = 2\r\n{END}\r\n")
        );
        // A block that an older version wrote is put right.
        let mixed = format!("a = 1\r\n{BEGIN}\nx = 1\n{END}\n");
        assert_eq!(put_block(&mixed, "x = 1\ny = 2\n", None), made);
    }

    #[test]
    fn a_block_behind_the_first_line() {
        let text = "#!/bin/sh\nexit 0\n";
        let made = put_block(text, "true\n", Some(10));
        assert_eq!(made, format!("#!/bin/sh\n{BEGIN}\ntrue\n{END}\nexit 0\n"));
        assert_eq!(take_block(&made), text);
    }
}
