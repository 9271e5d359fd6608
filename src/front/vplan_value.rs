//! Reads the arguments of the language's statements as values: numbers, durations, sizes, settings.

use vplan_base::command::is_env_name;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::hole::{Escape, Values as Holes, has_hole, holes};
use vplan_base::jobs::Jobs;
use vplan_base::name::{is_pattern, is_reference};
use vplan_base::nearest::{nearest, suggest};
use vplan_base::setting::{Row, Takes};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::unit::{MAX_INTEGER, UnitError, meant_duration, parse_duration, parse_size};
use vplan_base::vocabulary::ReportKind;
use vplan_base::workspace::DEPENDENTS;
use vplan_check::request::{Assertion, FileType};
use vplan_contract::draft::{At, Package, Sel, SelKind, Setting, Sought, Written};
use vplan_contract::error::{EACH_NAME, EACH_PACKAGE};
use vplan_lang::ast::{Arg, Node, Value};
use vplan_lang::error::{self, quote};
use vplan_lang::statement::Keyword;

/// Reads values of one file and reports errors in them.
pub(super) struct Values<'s> {
    pub(super) id: SourceId,
    pub(super) sink: &'s mut Diagnostics,
    /// The placeholder values of the enclosing `each` blocks.
    pub(super) holes: Holes,
    /// The same, as parts of names.
    pub(super) in_names: Holes,
    /// The packages of the placeholders.
    pub(super) packages: Vec<(String, Package)>,
    /// The number of their row.
    pub(super) row: u32,
}

impl<'s> Values<'s> {
    pub(super) fn new(id: SourceId, sink: &'s mut Diagnostics) -> Self {
        Self {
            id,
            sink,
            holes: Holes::default(),
            in_names: Holes::default(),
            packages: Vec::new(),
            row: 0,
        }
    }
}

impl Values<'_> {
    pub(super) fn place(&self, span: Span) -> Place {
        Place {
            row: self.row,
            ..Place::new(self.id, span)
        }
    }

    /// Reads a string.
    pub(super) fn text(&self, arg: &Arg<'_>, escape: Escape) -> Option<String> {
        match &arg.value {
            Value::Str(string) if string.holes => {
                Some(self.holes.fill(&string.text, escape).into_owned())
            }
            Value::Str(string) => Some(string.text.to_string()),
            _ => None,
        }
    }

    /// Reads a name and fills its placeholders; reports an invalid result.
    fn name(&mut self, text: &str, arg: &Arg<'_>) -> Option<String> {
        if holes(text).any(|(_, name)| self.in_names.get(name).is_none()) {
            // That it is unknown was reported.
            return None;
        }
        let filled = self.in_names.fill(text, Escape::Nothing).into_owned();
        let is_part = |name: &str| self.in_names.get(name).is_some_and(is_part_of_name);
        let is_sound = holes(text).all(|(_, name)| is_part(name))
            && (is_reference(&filled) || is_pattern(&filled));
        if is_sound {
            return Some(filled);
        }
        let help = better_name(text).map_or_else(
            || "a name begins with a letter or `_`, has letters, digits, `_`, `-`, and inside `.` and `:`".to_owned(),
            |better| format!("write `{better}`"),
        );
        let message = format!("{} is no name", quote(&filled));
        self.fault(EACH_NAME, arg, message, "made here", Some(help));
        None
    }

    fn fault(
        &mut self,
        code: Code,
        arg: &Arg<'_>,
        message: String,
        label: &str,
        help: Option<String>,
    ) {
        let mut diagnostic = Diagnostic::error(code, message).label(self.place(arg.span), label);
        diagnostic.help = help;
        self.sink.push(diagnostic);
    }

    /// Reads a bare word.
    pub(super) fn as_word(&mut self, arg: &Arg<'_>) -> Option<At<String>> {
        let word = arg.word()?;
        let word = if has_hole(word) {
            self.name(word, arg)?
        } else {
            word.to_owned()
        };
        Some(At::new(word, self.place(arg.span)))
    }

    /// Reads the first argument, as a bare word.
    pub(super) fn word(&mut self, node: &Node<'_>) -> Option<At<String>> {
        node.values().next().and_then(|a| self.as_word(a))
    }

    /// Reads all arguments that are bare words.
    pub(super) fn words(&mut self, node: &Node<'_>) -> Vec<At<String>> {
        node.values().filter_map(|a| self.as_word(a)).collect()
    }

    /// Reads all arguments that are strings.
    pub(super) fn strings(&self, node: &Node<'_>) -> Vec<At<String>> {
        let string = |a: &Arg<'_>| {
            let text = self.text(a, Escape::Nothing)?;
            Some(At::new(text, self.place(a.span)))
        };
        node.values().filter_map(string).collect()
    }

    /// Reads all arguments of a condition about what exists.
    pub(super) fn sought(&self, node: &Node<'_>) -> Vec<Sought> {
        let sought = |a: &Arg<'_>| match &a.value {
            Value::Str(string) => Some(Sought::new(
                At::new(self.text(a, Escape::Glob)?, self.place(a.span)),
                (string.verbatim && !string.holes).then_some(a.span.start + 1),
            )),
            _ => None,
        };
        node.values().filter_map(sought).collect()
    }

    /// Reads an item of a selection.
    pub(super) fn sel(&mut self, arg: &Arg<'_>) -> Option<Sel> {
        let place = self.place(arg.span);
        let (not, name) = match &arg.value {
            Value::Str(string) => {
                let text = self.text(arg, Escape::Glob)?;
                let glob = text.strip_prefix('!');
                let (not, glob) = (glob.is_some(), glob.unwrap_or(&text));
                let inner = arg.span.start + 1 + usize::from(not);
                let inner = (string.verbatim && !string.holes).then_some(inner);
                return Some(Sel {
                    not,
                    what: At::new(SelKind::Glob(glob.to_owned()), place),
                    inner,
                });
            }
            Value::Word(name) => (false, *name),
            Value::Not(name) => (true, *name),
            _ => return None,
        };
        let name = if has_hole(name) {
            self.name(name, arg)?
        } else {
            name.to_owned()
        };
        Some(Sel {
            not,
            what: At::new(SelKind::Name(name), place),
            inner: None,
        })
    }

    pub(super) fn sels(&mut self, node: &Node<'_>) -> Vec<Sel> {
        self.sels_of(node.values())
    }

    /// Reads the items of a selection: those of one argument, and `dependents {NAME}`.
    pub(super) fn sels_of<'n>(&mut self, args: impl Iterator<Item = &'n Arg<'n>>) -> Vec<Sel> {
        let mut args = args.peekable();
        let mut sels = Vec::new();
        while let Some(arg) = args.next() {
            let pair = args.peek().and_then(|next| self.dependents(arg, next));
            if let Some(sel) = pair {
                args.next();
                sels.extend(sel);
            } else {
                sels.extend(self.sel(arg));
            }
        }
        sels
    }

    /// Reads `dependents {NAME}`. `None` where two arguments are something else; nothing inside where
    /// they are written wrong, which is reported.
    fn dependents(&mut self, arg: &Arg<'_>, next: &Arg<'_>) -> Option<Option<Sel>> {
        let (not, word) = match arg.value {
            Value::Not(word) => (true, word),
            Value::Word(word) => (false, word),
            _ => return None,
        };
        let name = next.word()?;
        let hole = name.strip_prefix('{').and_then(|n| n.strip_suffix('}'));
        let package_of = |name| self.packages.iter().find(|(known, _)| known == name);
        let package = hole.and_then(package_of);
        let place = self.place(arg.span.to(next.span));
        if let Some((_, package)) = package.filter(|_| word == DEPENDENTS) {
            let what = At::new(SelKind::Dependents(package.clone()), place);
            let inner = None;
            return Some(Some(Sel { not, what, inner }));
        }
        let is_meant = if word == DEPENDENTS {
            hole.is_some() || package_of(name).is_some()
        } else {
            package.is_some() && nearest(word, [DEPENDENTS]).is_some()
        };
        if !is_meant {
            return None;
        }
        let known = || self.packages.iter().map(|(name, _)| name.as_str());
        let near = nearest(hole.unwrap_or(name), known());
        let help = match near.or_else(|| known().next_back()) {
            Some(name) => format!("write `{DEPENDENTS} {{{name}}}`"),
            None => {
                "it stands in a block `each pkg in-workspace {`, as `dependents {pkg}`".to_owned()
            }
        };
        let found = quote(&format!("{word} {name}"));
        let message = format!("{found} is no package of a workspace");
        let error = Diagnostic::error(EACH_PACKAGE, message).label(place, "names no package");
        self.sink.push(error.help(help));
        Some(None)
    }

    /// Reads a plain glob: it selects, it does not exclude.
    fn glob(&mut self, node: &Node<'_>, arg: &Arg<'_>) -> Option<Sel> {
        let sel = self.sel(arg)?;
        if sel.not {
            let message = format!("`{}` takes no excluding globs", node.statement.word);
            let help =
                r"leave the `!` out; a name that begins with `!` is written `'\!…'`".to_owned();
            let label = "begins with `!`";
            self.fault(error::EXCLUDING_GLOB, arg, message, label, Some(help));
            return None;
        }
        Some(sel)
    }

    fn globs(&mut self, node: &Node<'_>) -> Vec<Sel> {
        node.values().filter_map(|a| self.glob(node, a)).collect()
    }

    /// Reads `auto`, or a number of steps.
    pub(super) fn jobs(&mut self, arg: &Arg<'_>) -> Option<Jobs> {
        let word = arg.word()?;
        if word == Jobs::AUTO {
            return Some(Jobs::Auto);
        }
        let help = nearest(word, [Jobs::AUTO]).map(|near| format!("did you mean `{near}`?"));
        let number = self.number_or(arg, (1, u64::from(u32::MAX)), ", or `auto`", help)?;
        u32::try_from(number).ok().map(Jobs::Number)
    }

    /// Reads a whole number within bounds, never above the range that JSON readers keep exact.
    pub(super) fn number(&mut self, arg: &Arg<'_>, least: u64, most: u64) -> Option<u64> {
        self.number_or(arg, (least, most), "", None)
    }

    /// Reads a whole number within bounds; a message says `or` what else it may be, and the help.
    fn number_or(
        &mut self,
        arg: &Arg<'_>,
        (least, most): (u64, u64),
        or: &str,
        help: Option<String>,
    ) -> Option<u64> {
        let word = arg.word()?;
        let most = most.min(MAX_INTEGER);
        let digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
        let value = word.parse::<u64>().ok();
        let value = value.filter(|n| digits && (least..=most).contains(n));
        if value.is_none() {
            let message = if digits {
                format!("{} is out of range", quote(word))
            } else {
                format!("{} is no whole number", quote(word))
            };
            let label = if most >= u64::from(u32::MAX) {
                format!("a whole number, {least} or more{or}, is expected")
            } else {
                format!("a whole number from {least} to {most}{or} is expected")
            };
            self.fault(error::BAD_NUMBER, arg, message, &label, help);
        }
        value
    }

    /// Reads a tier: 0, 1 or 2.
    pub(super) fn tier(&mut self, arg: &Arg<'_>) -> Option<At<u8>> {
        let value = self.number(arg, 0, 2).and_then(|n| u8::try_from(n).ok())?;
        Some(At::new(value, self.place(arg.span)))
    }

    /// Reads a duration, in milliseconds.
    pub(super) fn duration(&mut self, arg: &Arg<'_>) -> Option<u64> {
        let word = arg.word()?;
        parse_duration(word)
            .map_err(|e| {
                let message = format!("{} is no duration", quote(word));
                let whole = word.bytes().all(|b| b.is_ascii_digit());
                let meant = meant_duration(word);
                let meant = meant.or_else(|| whole.then(|| format!("{word}s")));
                let help = meant.map_or_else(
                    || "a duration is written `500ms`, `30s`, `10m`, `2h` or `1h30m`".to_owned(),
                    |meant| format!("did you mean `{meant}`?"),
                );
                self.fault(error::BAD_DURATION, arg, message, unit_fault(e), Some(help));
            })
            .ok()
    }

    /// Reads one of a few words.
    pub(super) fn one_of(&mut self, arg: &Arg<'_>, known: &[&'static str]) -> Option<&'static str> {
        let word = arg.word()?;
        let found = known.iter().find(|k| **k == word);
        if found.is_none() {
            let list = format!("known are: {}", known.join(" "));
            let help = suggest(word, known.iter().copied(), list);
            let message = format!("unknown word {}", quote(word));
            let label = "means nothing here";
            self.fault(error::UNKNOWN_WORD, arg, message, label, Some(help));
        }
        found.copied()
    }

    fn exit_codes(&mut self, node: &Node<'_>) -> Vec<At<i32>> {
        let mut codes = Vec::new();
        for arg in node.values() {
            let code = self.number(arg, 0, 255).and_then(|n| i32::try_from(n).ok());
            codes.extend(code.map(|n| At::new(n, self.place(arg.span))));
        }
        codes
    }

    fn variables(&mut self, node: &Node<'_>) -> Vec<At<String>> {
        let mut names = Vec::new();
        for arg in node.values() {
            let Value::Word(word) = arg.value else {
                continue;
            };
            if is_env_name(word.strip_suffix('*').unwrap_or(word)) {
                names.extend(self.as_word(arg));
            } else {
                let message = format!("{} names no variable", quote(word));
                let help =
                    "a name has letters, digits and `_`; only its end may be `*`, as in `CARGO_*`"
                        .to_owned();
                let label = "the name of a variable is expected";
                self.fault(error::BAD_VARIABLE, arg, message, label, Some(help));
            }
        }
        names
    }

    /// Reads `A..B`, in bytes, either end perhaps open.
    fn size_range(&mut self, arg: &Arg<'_>) -> Option<Assertion> {
        let word = arg.word()?;
        let wrong = |e: UnitError| {
            (
                unit_fault(e),
                "a size is written `10B`, `64KiB`, `2MiB`, `1GiB`, `1MB`".to_owned(),
            )
        };
        let end = |text: &str| match text {
            "" => Ok(None),
            text => parse_size(text).map(Some).map_err(wrong),
        };
        let read = match word.split_once("..") {
            None => Err((
                "`..` is missing",
                format!("write `{word}..{word}` for exactly that, `{word}..` for at least that"),
            )),
            Some(("", "")) => Err((
                "both ends are open",
                "give one end: `1B..`, `..2MiB` or `1B..2MiB`".to_owned(),
            )),
            Some((min, max)) => end(min).and_then(|min| end(max).map(|max| (min, max))),
        };
        let read = read.and_then(|range| match range {
            (Some(min), Some(max)) if min > max => {
                let (low, high) = word.split_once("..").unwrap_or_default();
                Err((
                    "the first end is above the second",
                    format!("did you mean `{high}..{low}`?"),
                ))
            }
            (min, max) => Ok(Assertion::Size { max, min }),
        });
        read.map_err(|(label, help)| {
            let message = format!("{} is no range of sizes", quote(word));
            self.fault(error::BAD_SIZE, arg, message, label, Some(help));
        })
        .ok()
    }

    /// Reads a line of a `file` block.
    pub(super) fn assertion(&mut self, node: &Node<'_>) -> Option<Assertion> {
        let first = node.values().next();
        let text = |escape| first.and_then(|a| self.text(a, escape));
        Some(match node.statement.keyword {
            Keyword::Exists => Assertion::Exists,
            Keyword::Absent => Assertion::Absent,
            Keyword::NotEmpty => Assertion::NotEmpty,
            Keyword::Contains => Assertion::Contains(text(Escape::Nothing)?),
            Keyword::Lacks => Assertion::Lacks(text(Escape::Nothing)?),
            Keyword::Matches => Assertion::Matches(text(Escape::Regex)?),
            Keyword::Size => self.size_range(first?)?,
            Keyword::Type => {
                let word = self.one_of(first?, FileType::NAMES)?;
                Assertion::Type(FileType::parse(word)?)
            }
            _ => return None,
        })
    }

    /// Reads a setting of a check or of `defaults`.
    pub(super) fn setting(&mut self, node: &Node<'_>) -> Option<Setting> {
        let Keyword::Row(row) = node.statement.keyword else {
            return None;
        };
        let takes = row.setting().takes;
        let first = || node.values().next();
        let value = match takes {
            Takes::Flag => Written::Flag,
            Takes::Assignment => match node.args.first().map(|a| &a.value) {
                Some(Value::Assignment(pair)) => {
                    let (name, value) = pair.fill(&self.holes);
                    Written::Variable(name, value)
                }
                _ => return None,
            },
            Takes::Number { most, .. } => Written::Number(self.number(first()?, 0, most)?),
            Takes::Duration => Written::Number(self.duration(first()?)?),
            Takes::Text | Takes::Path | Takes::Name => {
                let text = self.text(first()?, Escape::Nothing);
                let text = text.or_else(|| Some(self.as_word(first()?)?.value));
                Written::Text(text?)
            }
            // A built-in one or one of a `format` block, which may be imported.
            Takes::Word { .. } if row == Row::Format => {
                Written::Text(self.as_word(first()?)?.value)
            }
            Takes::Word { known, .. } => Written::Text(self.one_of(first()?, known)?.to_owned()),
            Takes::Paths | Takes::Outside => Written::Texts(self.strings(node)),
            Takes::Names | Takes::References => Written::Texts(self.words(node)),
            Takes::Variables => Written::Texts(some(self.variables(node))?),
            Takes::Codes => Written::Codes(some(self.exit_codes(node))?),
            Takes::Globs => Written::Sels(some(self.globs(node))?),
            Takes::Selection => Written::Sels(self.sels(node)),
            Takes::Command => match node.args.first().map(|a| &a.value) {
                Some(Value::Command(command)) => Written::Command(command.fill(&self.holes)),
                _ => return None,
            },
            Takes::Report => {
                let format = self.one_of(first()?, ReportKind::NAMES);
                let glob = node.values().nth(1).and_then(|a| self.glob(node, a));
                Written::Report(format?.to_owned(), glob?)
            }
        };
        Some(Setting { row, value })
    }
}

/// Returns no list where every item had an error, so that an empty list is not reported as well.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn unit_fault(error: UnitError) -> &'static str {
    match error {
        UnitError::Number => "a number is expected at its beginning",
        UnitError::NoUnit => "the unit is missing",
        UnitError::UnknownUnit => "the unit is unknown",
        UnitError::Parts => {
            "hours, minutes, seconds, milliseconds: each once, each less than one of the unit before it"
        }
        UnitError::Zero => "it must be more than zero",
        UnitError::Overflow => "it is too large",
    }
}

/// Whether what a value makes of a text can be a name: whatever is put in is a part of one.
pub(super) fn is_part_of_name(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

/// Suggests a replacement for text that does not make a valid name.
pub(super) fn better_name(text: &str) -> Option<String> {
    let (first, _) = holes(text).next().filter(|(range, _)| range.start == 0)?;
    let (hole, rest) = text.split_at(first.end);
    let tail = rest.trim_start_matches(['-', '_', '.', ':']);
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic());
    Some(if begins(tail) && !has_hole(tail) {
        format!("{tail}-{hole}")
    } else {
        format!("x-{text}")
    })
}
