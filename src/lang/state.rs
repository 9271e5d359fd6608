//! Decides whether a text changes the shell that reads it, so that the commands after it would run
//! differently.
//!
//! Read for texts that the grammar refuses, to know what must not be dropped. In doubt the answer
//! is yes.

use vplan_base::word::has_word;

/// Builtins that change the shell: its directory, its variables, its options, its words, or whether
/// it goes on at all.
const CHANGING: &str = "\
    . alias autoload bind cd chdir complete declare emulate enable eval exec export float \
    getopts integer let local mapfile popd pushd read readarray readonly set setenv setopt shift \
    shopt source suspend trap typeset ulimit umask unalias unfunction unset unsetenv unsetopt";

/// Words before a command that the same shell runs nevertheless.
const BEFORE: &str = "! builtin command do elif else if noglob then time until while {";

/// The combined effect of a text's simple commands on the shell that runs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// No effect: without the text, the commands after it do the same.
    Nothing,
    /// One of several commands changes it.
    Partly,
    /// All commands change it and do nothing else, except for ending it.
    Only,
}

/// Decides the effect of a text on the shell that reads it.
pub(super) fn changes(text: &str) -> Changes {
    let mut reader = Reader {
        bytes: text.as_bytes(),
        at: 0,
        depth: 0,
        words: Vec::new(),
        found: Vec::new(),
    };
    reader.read();
    if reader
        .found
        .iter()
        .all(|done| *done == CommandEffect::Other)
    {
        return Changes::Nothing;
    }
    if reader
        .found
        .iter()
        .all(|done| *done == CommandEffect::Changed)
    {
        Changes::Only
    } else {
        Changes::Partly
    }
}

/// The effect of a simple command on its shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandEffect {
    /// No effect.
    Other,
    /// It changes the shell.
    Changed,
    /// It ends the shell, with the command's own exit code.
    Ended,
}

/// Builtins that end a shell, or the file that it reads.
const ENDING: &str = "exit logout return";

/// One word of a simple command.
#[derive(Default)]
struct ShellWord {
    text: Vec<u8>,
    /// Whether any part was quoted; then `plain` is the number of bytes before it. A quoted name
    /// cannot be assigned.
    quoted: bool,
    plain: usize,
    /// Whether the shell expands something in it.
    expands: bool,
    /// Whether expanding it sets a variable: `${X:=a}`, `$((X += 1))`.
    assigns: bool,
}

impl ShellWord {
    fn quote(&mut self) {
        if !self.quoted {
            (self.quoted, self.plain) = (true, self.text.len());
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The number of open `(…)`: their content runs in another shell.
    depth: usize,
    /// The words of the command that is being read.
    words: Vec<ShellWord>,
    /// The effect of each simple command on this shell.
    found: Vec<CommandEffect>,
}

impl Reader<'_> {
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn read(&mut self) {
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' | b';' => self.end(false, 1),
                b'&' if self.byte(1) == Some(b'&') => self.end(false, 2),
                // bash: both streams go to a file.
                b'&' if self.byte(1) == Some(b'>') => {
                    self.at += 1;
                    self.redirection();
                }
                // A command in the background runs in another shell.
                b'&' => self.end(true, 1),
                b'|' if self.byte(1) == Some(b'|') => self.end(false, 2),
                // So does a command that writes into a pipe.
                b'|' => self.end(true, 1),
                b'(' => self.open(),
                b')' => {
                    self.end(false, 1);
                    self.depth = self.depth.saturating_sub(1);
                }
                b'#' => {
                    let line = self.bytes.get(self.at..).unwrap_or_default();
                    self.at += line.iter().position(|b| *b == b'\n').unwrap_or(line.len());
                }
                b'<' | b'>' => self.redirection(),
                _ => {
                    let word = self.word();
                    self.words.push(word);
                }
            }
        }
        self.end(false, 0);
    }

    /// Reads `(`: another shell, unless it makes the word before it a function's name, or is the
    /// first of `((`, arithmetic.
    fn open(&mut self) {
        let arithmetic = self.words.is_empty() && self.byte(1) == Some(b'(');
        if self.depth == 0 && (arithmetic || !self.words.is_empty()) {
            self.found.push(CommandEffect::Changed);
        }
        self.words.clear();
        self.depth += 1;
        self.at += 1;
    }

    /// Reads a redirection; neither it nor its target is a word.
    fn redirection(&mut self) {
        let adjacent = |b: &u8| b.is_ascii_digit() || *b == b'}';
        let adjacent = self
            .at
            .checked_sub(1)
            .and_then(|at| self.bytes.get(at))
            .is_some_and(adjacent);
        if let Some(last) = self.words.last_mut().filter(|w| adjacent && !w.quoted) {
            if last.text.iter().all(u8::is_ascii_digit) {
                self.words.pop();
            } else if last.text.starts_with(b"{") {
                // `{NAME}>file` sets the variable.
                last.assigns = true;
            }
        }
        while matches!(self.byte(0), Some(b'<' | b'>' | b'&' | b'|' | b'-')) {
            self.at += 1;
        }
        while matches!(self.byte(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if !matches!(
            self.byte(0),
            None | Some(b'\n' | b';' | b'&' | b'|' | b'(' | b')')
        ) {
            let _ = self.word();
        }
    }

    /// Ends a simple command, and reads the operator after it.
    fn end(&mut self, elsewhere: bool, length: usize) {
        self.at += length;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            let ours = self.depth == 0 && !elsewhere;
            self.found.push(if ours {
                done_by(&words)
            } else {
                CommandEffect::Other
            });
        }
    }

    fn word(&mut self) -> ShellWord {
        let mut word = ShellWord::default();
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => {
                    break;
                }
                b'\'' => self.quoted(&mut word, false),
                b'"' => self.double(&mut word),
                b'\\' => {
                    word.quote();
                    word.text.extend(self.byte(1).filter(|b| *b != b'\n'));
                    self.at += 2;
                }
                b'$' if self.byte(1) == Some(b'\'') => {
                    self.at += 1;
                    self.quoted(&mut word, true);
                }
                b'$' | b'`' => self.expansion(&mut word),
                _ => {
                    word.text.push(byte);
                    self.at += 1;
                }
            }
        }
        word
    }

    /// Reads `'…'`, and `$'…'` with its escapes.
    fn quoted(&mut self, word: &mut ShellWord, escapes: bool) {
        word.quote();
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.at += 1;
            match byte {
                b'\'' => return,
                b'\\' if escapes => {
                    // The meaning of an escape is not decoded.
                    word.expands = true;
                    self.at += 1;
                }
                _ => word.text.push(byte),
            }
        }
    }

    fn double(&mut self, word: &mut ShellWord) {
        word.quote();
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => {
                    word.text.extend(self.byte(1));
                    self.at += 2;
                }
                b'$' | b'`' => self.expansion(word),
                _ => {
                    word.text.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// Skips `$X`, `${…}`, `$(…)`, `$((…))`, `` `…` `` as a whole.
    fn expansion(&mut self, word: &mut ShellWord) {
        let start = self.at;
        let (open, close) = match (self.byte(0), self.byte(1)) {
            (Some(b'$'), Some(b'{')) => (b'{', b'}'),
            (Some(b'$'), Some(b'(')) => (b'(', b')'),
            (Some(b'$'), Some(b'[')) => (b'[', b']'),
            (Some(b'`'), _) => (b'`', b'`'),
            _ => {
                let name = |b: Option<u8>| {
                    b.is_some_and(|b| b.is_ascii_alphanumeric() || b"_?!#@*$-".contains(&b))
                };
                word.expands |= name(self.byte(1));
                word.text.push(b'$');
                self.at += 1;
                return;
            }
        };
        word.expands = true;
        self.at += if open == b'`' { 1 } else { 2 };
        let mut depth = 1_usize;
        while let Some(byte) = self.byte(0).filter(|_| depth > 0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\'' if open == b'(' => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    self.at += rest
                        .iter()
                        .position(|b| *b == b'\'')
                        .map_or(rest.len(), |n| n + 1);
                }
                _ if byte == close => depth -= 1,
                _ if byte == open => depth += 1,
                _ => {}
            }
        }
        let inside = self
            .bytes
            .get(start..self.at.min(self.bytes.len()))
            .unwrap_or_default();
        let has = |part: &[u8]| inside.windows(part.len()).any(|w| w == part);
        let arithmetic =
            (open == b'[' || inside.starts_with(b"$((")) && (has(b"=") || has(b"++") || has(b"--"));
        word.assigns |= arithmetic || (open == b'{' && has(b"="));
    }
}

/// Decides the effect of a simple command of these words on the shell that runs it.
fn done_by(words: &[ShellWord]) -> CommandEffect {
    // `[[ a =~ b ]]` stores what matched.
    if words
        .iter()
        .any(|w| w.assigns || (!w.quoted && w.text == b"=~"))
    {
        return CommandEffect::Changed;
    }
    let is_before = |w: &ShellWord| !w.expands && has_word(BEFORE, &w.text);
    let is_option = |w: &ShellWord| !w.expands && w.text.starts_with(b"-");
    let mut rest = words.iter().peekable();
    let (mut assigned, mut before) = (false, false);
    loop {
        if rest.next_if(|w| is_assignment(w)).is_some() {
            assigned = true;
        } else if let Some(word) = rest.next_if(|w| is_before(w)) {
            before = true;
            // `command -v make` only searches; `command cd web` does not.
            let looks = |w: &&ShellWord| matches!(w.text.as_slice(), b"-v" | b"-V");
            if word.text == b"command" && rest.peek().is_some_and(looks) {
                return CommandEffect::Other;
            }
        } else if !before || rest.next_if(|w| is_option(w)).is_none() {
            break;
        }
    }
    let Some(first) = rest.next() else {
        return if assigned {
            CommandEffect::Changed
        } else {
            CommandEffect::Other
        };
    };
    let changes = match first.text.as_slice() {
        // It may be any command.
        _ if first.expands => true,
        name if has_word(ENDING, name) => return CommandEffect::Ended,
        b"printf" => rest.next().is_some_and(|w| w.text.starts_with(b"-v")),
        b"for" | b"select" | b"function" | b"coproc" => true,
        name => is_changing(name),
    };
    if changes {
        CommandEffect::Changed
    } else {
        CommandEffect::Other
    }
}

fn is_changing(name: &[u8]) -> bool {
    has_word(CHANGING, name)
}

/// Whether it is `NAME=…`, `NAME+=…`, `NAME[…]=…`.
fn is_assignment(word: &ShellWord) -> bool {
    let Some(at) = word.text.iter().position(|b| *b == b'=') else {
        return false;
    };
    if word.quoted && word.plain <= at {
        return false;
    }
    let name = word.text.get(..at).unwrap_or_default();
    let name = name.strip_suffix(b"+").unwrap_or(name);
    let name = name.split(|b| *b == b'[').next().unwrap_or_default();
    name.first()
        .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the grammar's list of builtins and those above agree: each is in one of them, or
    /// here.
    #[test]
    fn every_builtin_is_decided() {
        let harmless = "bg break caller compgen continue dirs disown fc fg hash help history jobs times type wait";
        for name in crate::word::BUILTINS.split(' ') {
            let lists = [CHANGING, ENDING, BEFORE, harmless];
            assert_eq!(
                lists.iter().filter(|list| has_word(list, name)).count(),
                1,
                "{name}"
            );
        }
    }

    #[test]
    fn what_changes_a_shell() {
        for text in [
            "cd d",
            "  cd d",
            "cd",
            "'cd' ~",
            "\\cd -",
            "c\"d\" x",
            "pushd web",
            "popd",
            "export CI=1",
            "export CI=$X",
            "export",
            "A=1",
            "PATH=$PWD/bin:$PATH",
            "A+=1",
            "A=1 B=2",
            "A=1 export B=2",
            "set -e",
            "set -euo pipefail",
            "source .env",
            ". ./env.sh",
            "eval \"$(ssh-agent)\"",
            "umask 022",
            "ulimit -n 10",
            "alias a=b",
            "unalias a",
            "trap 'x; y' EXIT",
            "exec make",
            "exec > log",
            "unset CI",
            "readonly A=1",
            "exit 1",
            "shopt -s globstar",
            "builtin cd x",
            "command cd x",
            "command -p cd x",
            "time cd x",
            "! cd x",
            "> log cd x",
            "2>/dev/null cd x",
            "cd x 2>&1 >log",
            "cd x &>log",
            "true {fd}>log",
            "$CMD",
            "\"$CMD\" x",
            "`tool env`",
            "$(tool env)",
            ": ${X:=1}",
            "echo $((X += 1))",
            "read x",
            "printf -v X a",
            "f() { make; }",
            "((X = 1))",
            "function f { make; }",
            "for x in a b; do echo $x; done",
            "cd a; cd b",
            "cd a && export B=1",
            "cd x # behind",
            "[[ a =~ b ]]",
            "[[ -n a && a =~ b ]]",
            "echo \"$[X = 1]\"",
            "builtin -- cd x",
            "command command cd x",
            "time -p cd x",
            "setenv A 1",
        ] {
            assert_ne!(changes(text), Changes::Nothing, "{text}");
        }
        for (text, only) in [
            ("cd a", true),
            ("cd a; set -e", true),
            ("exit 1", false),
            ("cd a; exit 1", false),
        ] {
            assert_eq!(changes(text) == Changes::Only, only, "{text}");
        }
        for text in [
            "cd a; make",
            "make && cd b",
            "make\ncd b",
            "if true; then cd b; fi",
            "test -d x || cd y",
            "cat a | read x",
            "{ make; cd b; }",
            "make & cd b",
        ] {
            assert_eq!(changes(text), Changes::Partly, "{text}");
        }
    }

    #[test]
    fn what_leaves_it_as_it_is() {
        for text in [
            "",
            " ",
            "# cd x",
            "make",
            "make | tee log",
            "echo cd x",
            "echo 'a; cd b'",
            "echo \"a; cd b\" | cat",
            "(cd web && make)",
            "( cd web; export A=1 ); make",
            "cd x | cat",
            "source .env | tee log",
            "cd x & make",
            "A=1 make > log",
            "A=$B make",
            "echo $HOME ${A:-b}",
            "echo $(cd web && pwd)",
            "echo `cd web`",
            "make > cd",
            "make 2>&1",
            "command -v node | cat",
            "command make > log",
            "! make",
            "test \"$(a)\" = b",
            "a || b",
            "echo a\\;cd b",
            "printf '%s' -v | cat",
            "[[ a == b ]]",
            "echo $",
            "'A'=1",
            "A\\=1",
        ] {
            assert_eq!(changes(text), Changes::Nothing, "{text}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in [
            "'", "\"", "\\", "$", "${", "$(", "$((", "`", "(", ")", "((", "$'\\", "a(", "<", ">&",
            "2>", "&&", "\"\\",
        ] {
            let _ = changes(text);
        }
    }
}
