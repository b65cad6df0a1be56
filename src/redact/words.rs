//! The word lists of the general rules, a file each, and how they are asked.
//!
//! Data alone: what the words mean is said where they are used.

use std::collections::HashSet;
use std::sync::OnceLock;

/// A list of words, taken apart when it is first asked.
pub(super) struct Words {
    text: &'static str,
    list: OnceLock<Vec<&'static str>>,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    const fn new(text: &'static str) -> Self {
        Self {
            text,
            list: OnceLock::new(),
            set: OnceLock::new(),
        }
    }

    /// Whether a word is in the list.
    pub(super) fn has(&self, word: &str) -> bool {
        let set = || self.text.split_ascii_whitespace().collect();
        self.set.get_or_init(set).contains(word)
    }

    /// The words in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        let list = || self.text.split_ascii_whitespace().collect();
        self.list.get_or_init(list).iter().copied()
    }

    /// Whether a text begins with a word of the list.
    pub(super) fn begin(&self, text: &str) -> bool {
        self.iter().any(|word| text.starts_with(word))
    }

    /// Whether a text ends with a word of the list.
    pub(super) fn end(&self, text: &str) -> bool {
        self.iter().any(|word| text.ends_with(word))
    }
}

/// Words that give a stand-in away wherever they stand in a value.
pub(super) static INSIDE: Words = Words::new(include_str!("words/inside.txt"));

/// Short words that count only when they stand alone between other characters.
pub(super) static APART: Words = Words::new(include_str!("words/apart.txt"));

/// Values that are words of a language or of documentation.
pub(super) static WHOLE: Words = Words::new(include_str!("words/whole.txt"));

/// Beginnings of a reference to where the secret is kept.
pub(super) static REFERENCES: Words = Words::new(include_str!("words/references.txt"));

/// Last words that say the value is about a secret, not one.
pub(super) static ABOUT: Words = Words::new(include_str!("words/about.txt"));

/// Words before `key` that make it a secret.
pub(super) static SECRET_KEYS: Words = Words::new(include_str!("words/secret_keys.txt"));

/// Words before `key` that make it something to look up by.
pub(super) static PLAIN_KEYS: Words = Words::new(include_str!("words/plain_keys.txt"));

/// Words of English that end in `key` and have nothing to do with keys.
pub(super) static NO_KEYS: Words = Words::new(include_str!("words/no_keys.txt"));

/// Words that may stand after the one that counts.
pub(super) static TRAILING: Words = Words::new(include_str!("words/trailing.txt"));

/// What `pass` is of in one word: `dbpass`.
pub(super) static PASS_OWNERS: Words = Words::new(include_str!("words/pass_owners.txt"));

/// Names that take a number: variables and types.
pub(super) static TYPES: Words = Words::new(include_str!("words/types.txt"));

/// Words of sentences, and of what programs say to people about passwords.
pub(super) static SENTENCE: Words = Words::new(include_str!("words/sentence.txt"));

/// Beginnings of data, hashes, public keys and ids that look random and are no secret.
pub(super) static HARMLESS: Words = Words::new(include_str!("words/harmless.txt"));

/// Prefixes that are words, or of many formats: what stands after them may be anything.
pub(super) static WORD_PREFIXES: Words = Words::new(include_str!("words/word_prefixes.txt"));

/// Prefixes that nothing but a secret has: what was cut off behind one is known by it.
pub(super) static CUT_PREFIXES: Words = Words::new(include_str!("words/cut_prefixes.txt"));

/// Words whose presence in a text starts the reading of a field.
pub(super) static FIELD_WORDS: Words = Words::new(include_str!("words/field_words.txt"));

/// What one word alone calls a password.
pub(super) static PASSWORDS: Words = Words::new(include_str!("words/passwords.txt"));

/// Those of them that name other things as often: the width of a parent, a Markov decision process, a pass.
pub(super) static VAGUE_PASSWORDS: Words = Words::new(include_str!("words/vague_passwords.txt"));

/// Words for a password with letters beyond ASCII; in either case, as no finder knows the case of these.
pub(super) static FOREIGN_PASSWORDS: Words =
    Words::new(include_str!("words/foreign_passwords.txt"));

/// Ends of words for a password: `dbpassword`.
pub(super) static PASSWORD_ENDS: Words = Words::new(include_str!("words/password_ends.txt"));

/// Ends of words for a secret: `apitoken`.
pub(super) static SECRET_ENDS: Words = Words::new(include_str!("words/secret_ends.txt"));

/// What one word alone calls a secret.
pub(super) static SECRETS: Words = Words::new(include_str!("words/secrets.txt"));

/// Words for what may be a secret.
pub(super) static WEAK_NAMES: Words = Words::new(include_str!("words/weak_names.txt"));

/// Words for the public half of a key.
pub(super) static PUBLIC_KEYS: Words = Words::new(include_str!("words/public_keys.txt"));

/// Words for a hash, an id or the like, which everybody may see.
pub(super) static PUBLIC_VALUES: Words = Words::new(include_str!("words/public_values.txt"));

/// Schemes of an `Authorization` header, in front of one word of credentials.
pub(super) static SCHEMES: Words = Words::new(include_str!("words/schemes.txt"));

/// Parts of names in code, of versions, algorithms and stand-ins.
pub(super) static NAME_PARTS: Words = Words::new(include_str!("words/name_parts.txt"));

/// Small words that make a sentence, in some languages.
pub(super) static SPEECH: Words = Words::new(include_str!("words/speech.txt"));

/// Words with which programs speak to people of passwords.
pub(super) static PASSWORD_TALK: Words = Words::new(include_str!("words/password_talk.txt"));

/// Words before `key` that own nothing.
pub(super) static NO_OWNERS: Words = Words::new(include_str!("words/no_owners.txt"));

/// Parts of the names of algorithms and of encodings.
pub(super) static ALGORITHMS: Words = Words::new(include_str!("words/algorithms.txt"));

/// The numbers in them.
pub(super) static ALGORITHM_NUMBERS: Words =
    Words::new(include_str!("words/algorithm_numbers.txt"));

/// Units of amounts.
pub(super) static UNITS: Words = Words::new(include_str!("words/units.txt"));
