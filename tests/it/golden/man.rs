//! Manual pages, rendered from the clap tree and checked in under `man/`.
//!
//! `tw(1)` also has what belongs to no single command: our words, addresses, exit and error codes, environment and
//! files; that text stands in `words.roff` beside this file.

use std::fmt::Write as _;

use clap::Command;
use clap_mangen::Man;

use timewarp::cli::args;

const WORDS: &str = include_str!("words.roff");

/// Every page: the name of its file and its text.
pub fn pages() -> Vec<(String, String)> {
    let mut tree = args::tree().disable_help_subcommand(true);
    // Display names, of which the pages' names are made, are filled in by this only.
    tree.build();
    let mut pages = vec![page(&tree)];
    add_pages(&tree, &mut pages);
    pages
}

/// The pages of a command's own commands, each followed by those beneath it.
fn add_pages(command: &Command, pages: &mut Vec<(String, String)>) {
    for command in command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        pages.push(page(command));
        add_pages(command, pages);
    }
}

fn page(command: &Command) -> (String, String) {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name())
        .to_owned();
    let is_tw = name == "tw";
    // A date would change with every release without the page changing.
    let page = Man::new(if is_tw {
        command.clone()
    } else {
        without_globals(command)
    })
    .title(name.to_uppercase())
    .date("")
    .source(concat!("tw ", env!("CARGO_PKG_VERSION")))
    .manual("Timewarp manual");
    let mut text = rendered(|out| {
        page.render_title(out)?;
        page.render_name_section(out)
    });
    text.push_str(&synopsis(command));
    text.push_str(&description(command));
    text.push_str(&rendered(|out| page.render_options_section(out)));
    if command.has_subcommands() {
        let commands = rendered(|out| page.render_subcommands_section(out));
        text.push_str(&commands.replace(".SH SUBCOMMANDS", ".SH COMMANDS"));
    }
    if is_tw {
        text.push_str(WORDS);
    } else {
        for verb in command
            .get_subcommands()
            .filter(|verb| verb.get_name() != "help")
        {
            text.push_str(&verb_section(verb));
        }
    }
    if let Some(examples) = command.get_after_help() {
        text.push_str(&example_section(&examples.to_string()));
    }
    text.push_str(if is_tw {
        ".SH SEE ALSO\n\\fBgit\\fR(1), \\fBgitglossary\\fR(7)\n"
    } else {
        ".SH SEE ALSO\n\\fBtw\\fR(1) has the global options, the addresses of snapshots, exit and error codes.\n"
    });
    (format!("{name}.1"), text)
}

/// A command's own command, with its options, as a section of the command's page.
fn verb_section(verb: &Command) -> String {
    let form = verb.clone().render_usage().to_string();
    let form = form.trim().trim_start_matches("Usage: ");
    let mut text = format!(
        ".SH {}\n\\fB{}\\fR\n",
        verb.get_name().to_uppercase(),
        escaped(form)
    );
    let about = verb
        .get_long_about()
        .or(verb.get_about())
        .map(ToString::to_string);
    for paragraph in about.unwrap_or_default().split("\n\n") {
        let stop = if paragraph.ends_with('.') { "" } else { "." };
        let _ = writeln!(text, ".PP\n{}{stop}", escaped(paragraph));
    }
    let options = rendered(|out| Man::new(without_globals(verb)).render_options_section(out));
    // Without its own heading: the section is the verb's.
    let options = options
        .split_once(".SH OPTIONS\n")
        .map_or("", |(_, list)| list);
    text.push_str(options);
    text
}

fn rendered(render: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    render(&mut out).expect("memory takes every write");
    String::from_utf8(out).expect("help is UTF-8")
}

fn without_globals(command: &Command) -> Command {
    command.clone().mut_args(|arg| {
        let hidden = arg.is_hide_set() || arg.get_help_heading() == Some(args::GLOBAL);
        arg.hide(hidden)
    })
}

/// The forms that the usage shows, one a line.
fn synopsis(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let mut text = String::from(".SH SYNOPSIS\n.nf\n");
    for form in usage.lines() {
        let form = form.trim().trim_start_matches("Usage: ");
        let _ = writeln!(text, "{}", escaped(form));
    }
    text.push_str(".fi\n");
    text
}

/// The long help without its first line, which stands under NAME.
fn description(command: &Command) -> String {
    let long = command.get_long_about().map(ToString::to_string);
    let long = long.unwrap_or_default();
    let mut paragraphs = long.split("\n\n").skip(1);
    let mut text = String::from(".SH DESCRIPTION\n");
    text.push_str(&escaped(paragraphs.next().unwrap_or_default()));
    for paragraph in paragraphs {
        let _ = write!(text, "\n.PP\n{}", escaped(paragraph));
    }
    text.push('\n');
    text
}

/// The examples of the help text, set as they stand.
fn example_section(help: &str) -> String {
    let mut text = String::from(".SH EXAMPLES\n.nf\n");
    for line in help.lines().skip(1) {
        let line = line.strip_prefix("  ").unwrap_or(line);
        let _ = writeln!(text, "{}", escaped(line));
    }
    text.push_str(".fi\n");
    text
}

/// Text that means nothing to the formatter: a full stop or an apostrophe at the start of a line would be a request.
fn escaped(text: &str) -> String {
    let text = text
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('\'', "\\(aq");
    let lines: Vec<_> = text
        .lines()
        .map(|line| match line.strip_prefix('.') {
            Some(rest) => format!("\\&.{rest}"),
            None => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}
