//! Questions: on a terminal they are asked, elsewhere a flag has to answer.

use std::io::{BufRead, IsTerminal, Write};

use super::args::Globals;
use crate::error::{Code, Error, Result};

/// What answers a question where there is no terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// `-y`, which also answers on a terminal.
    Yes,
    /// Only the command's own flag, by this name.
    Own(&'static str),
}

/// Asks, or says which flag is missing.
#[derive(Debug)]
pub struct Ask {
    yes: bool,
    terminal: bool,
}

impl Ask {
    /// Whether questions can be asked: standard input and standard error are terminals, and no JSON is wanted.
    pub fn new(globals: &Globals) -> Self {
        Self {
            yes: globals.yes,
            terminal: !globals.json
                && std::io::stdin().is_terminal()
                // Questions go there: standard output may be a pipe that a program reads.
                && std::io::stderr().is_terminal(),
        }
    }

    /// Where nobody can be asked, and nothing is answered.
    #[cfg(feature = "ui")]
    pub fn nobody() -> Self {
        Self {
            yes: false,
            terminal: false,
        }
    }

    /// True when the question is answered already, so that nothing need be shown before it.
    pub fn answered(&self, flag: Flag) -> bool {
        self.yes && flag == Flag::Yes
    }

    /// True when a person can be asked.
    pub fn can_ask(&self) -> bool {
        self.terminal
    }

    /// Asks `question`; nothing but a yes is a yes.
    ///
    /// # Errors
    /// `USAGE` where there is no terminal, naming the flag; `NOT_APPROVED` when the answer is no.
    pub fn confirm(&self, question: &str, flag: Flag) -> Result<()> {
        if self.answered(flag) {
            return Ok(());
        }
        if !self.terminal {
            let flag = match flag {
                Flag::Yes => "-y",
                Flag::Own(name) => name,
            };
            return Err(Error::usage(format!(
                "{flag} is needed where there is no terminal to ask on"
            ))
            .hint("--dry-run shows what would be done"));
        }
        let mut stderr = std::io::stderr();
        if approved(question, &mut std::io::stdin().lock(), &mut stderr)? {
            Ok(())
        } else {
            let error = Error::new(Code::NotApproved, "not confirmed, nothing was done");
            Err(error.hint("nothing but 'y' or 'yes' is a yes; the same command asks again"))
        }
    }
}

impl Ask {
    /// Asks `question`, where a yes is expected: Enter is one. None at the end of the input, and where nobody can be asked.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn agree(&self, question: &str) -> Result<Option<bool>> {
        if !self.terminal {
            return Ok(None);
        }
        let mut stderr = std::io::stderr();
        agreed(question, &mut std::io::stdin().lock(), &mut stderr)
    }

    /// Asks for one of `choices` by its number or one of its words, until one is given; Enter takes the first. None at the end
    /// of the input, and where nobody can be asked.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn choose<T: Copy>(&self, question: &str, choices: &[Choice<T>]) -> Result<Option<T>> {
        if !self.terminal {
            return Ok(None);
        }
        let mut stderr = std::io::stderr();
        chosen(question, choices, &mut std::io::stdin().lock(), &mut stderr)
    }
}

/// One of several answers. Its number is its own, also where others are not offered.
#[derive(Debug, Clone, Copy)]
pub struct Choice<T> {
    /// What is typed for it.
    pub number: u32,
    /// What may be typed instead: a letter, a word.
    pub words: &'static [&'static str],
    /// What it stands for.
    pub meaning: T,
}

fn agreed(
    question: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Option<bool>> {
    loop {
        let Some(line) = answer(&format!("{question} [Y/n]"), input, output)? else {
            return Ok(None);
        };
        match line.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(Some(true)),
            "n" | "no" => return Ok(Some(false)),
            _ => writeln!(output, "answer y or n")?,
        }
    }
}

fn chosen<T: Copy>(
    question: &str,
    choices: &[Choice<T>],
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Option<T>> {
    let numbers: Vec<u32> = choices.iter().map(|choice| choice.number).collect();
    let numbers = match numbers.as_slice() {
        [first, .., last] if (*first..=*last).eq(numbers.iter().copied()) => {
            format!("{first}-{last}")
        }
        _ => numbers
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    loop {
        let Some(line) = answer(&format!("{question} [{numbers}]"), input, output)? else {
            return Ok(None);
        };
        let typed = line.trim().to_lowercase();
        let is_meant = |choice: &&Choice<T>| {
            typed.is_empty()
                || typed == choice.number.to_string()
                || choice.words.contains(&typed.as_str())
        };
        if let Some(choice) = choices.iter().find(is_meant) {
            return Ok(Some(choice.meaning));
        }
        let letters = choices.iter().filter_map(|choice| choice.words.first());
        let letters: Vec<&str> = letters.copied().collect();
        writeln!(
            output,
            "one of these is needed: {numbers}, {}",
            letters.join(", ")
        )?;
    }
}

fn approved(question: &str, input: &mut impl BufRead, output: &mut impl Write) -> Result<bool> {
    let line = answer(&format!("{question} [y/N]"), input, output)?.unwrap_or_default();
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Asks, and reads the line that is typed; None at the end of the input, where the terminal is still in the question's line.
///
/// # Errors
/// When the input cannot be read, or the question not be written.
pub fn answer(
    question: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Option<String>> {
    write!(output, "{question} ")?;
    output.flush()?;
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        writeln!(output)?;
        return Ok(None);
    }
    Ok(Some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_yes_is_a_yes() {
        for (typed, expected) in [
            ("y\n", true),
            ("YES\n", true),
            ("\n", false),
            ("", false),
            ("yep\n", false),
        ] {
            let mut shown = Vec::new();
            let answer = approved("Sure?", &mut typed.as_bytes(), &mut shown);
            assert!(answer.is_ok_and(|answer| answer == expected), "{typed:?}");
            let end = if typed.is_empty() { "\n" } else { "" };
            assert_eq!(
                String::from_utf8_lossy(&shown),
                format!("Sure? [y/N] {end}")
            );
        }
    }

    #[test]
    fn where_a_yes_is_expected_enter_is_one_and_anything_else_is_asked_again() {
        for (typed, expected, asked) in [
            ("\n", Some(true), 1),
            (" Y \n", Some(true), 1),
            ("no\n", Some(false), 1),
            ("ja\n1\nn\n", Some(false), 3),
            ("ja\n", None, 2),
            ("", None, 1),
        ] {
            let mut shown = Vec::new();
            let answer = agreed("Now?", &mut typed.as_bytes(), &mut shown);
            assert!(answer.is_ok_and(|answer| answer == expected), "{typed:?}");
            let end = if expected.is_none() { "\n" } else { "" };
            assert_eq!(
                String::from_utf8_lossy(&shown),
                ["Now? [Y/n] "; 3][..asked].join("answer y or n\n") + end
            );
        }
    }

    #[test]
    fn a_number_a_letter_or_a_word_is_a_choice_and_enter_takes_the_first() {
        let choice = |number, words| Choice {
            number,
            words,
            meaning: number,
        };
        let all = [
            choice(1, &["b", "both"][..]),
            choice(2, &["c"]),
            choice(3, &["f"]),
        ];
        for (typed, choices, expected, asked) in [
            ("1\n", &all[..], Some(1), 1),
            (" 3 \n", &all, Some(3), 1),
            ("\n", &all, Some(1), 1),
            ("\n", &all[1..], Some(2), 1),
            ("Both\n", &all, Some(1), 1),
            ("F\n", &all, Some(3), 1),
            ("4\n0\nbo\n01\n2\n", &all, Some(2), 5),
            ("1\nb\nc\n", &all[1..], Some(2), 3),
            ("5\n", &all, None, 2),
            ("", &all, None, 1),
        ] {
            let mut shown = Vec::new();
            let answer = chosen("Which", choices, &mut typed.as_bytes(), &mut shown);
            assert!(answer.is_ok_and(|answer| answer == expected), "{typed:?}");
            let shown = String::from_utf8_lossy(&shown);
            assert_eq!(shown.matches("one of these is needed").count(), asked - 1);
        }
    }

    #[test]
    fn a_menu_with_gaps_names_each_number() {
        let choice = |number| Choice {
            number,
            words: &["x"],
            meaning: (),
        };
        for (numbers, expected) in [
            (&[1, 2, 3, 4][..], "Which [1-4] \n"),
            (&[3, 4], "Which [3-4] \n"),
            (&[2, 4], "Which [2, 4] \n"),
        ] {
            let choices: Vec<_> = numbers.iter().map(|number| choice(*number)).collect();
            let mut shown = Vec::new();
            assert!(chosen("Which", &choices, &mut &b""[..], &mut shown).is_ok());
            assert_eq!(String::from_utf8_lossy(&shown), expected);
        }
    }

    #[test]
    fn yes_does_not_answer_for_a_flag_of_its_own() {
        let ask = Ask {
            yes: true,
            terminal: false,
        };
        assert!(ask.confirm("?", Flag::Yes).is_ok());
        let error = ask.confirm("?", Flag::Own("--yes-purge"));
        assert!(error.is_err_and(|error| error.code() == Code::Usage
            && error.message().starts_with("--yes-purge is needed")));
    }
}
