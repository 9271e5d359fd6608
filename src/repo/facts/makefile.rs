//! Reads the targets that a makefile certainly has (GNU make's manual, chapters 3 to 6).
//!
//! Make is a programming language; this reads the part of it that needs no running. Whatever else a
//! makefile holds (`include`, suffix rules, computed names, `define`, rules under a condition,
//! `MAKEFLAGS`, `vpath`) makes the answer "unknown", because a target that only make can see must
//! never count as missing. A pattern rule is a name with `%`, and `.DEFAULT`, which makes whatever
//! nothing else does, is `%`.

use std::collections::BTreeSet;
use vplan_base::word::has_word;

/// The names that make looks for, in its order.
pub const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns the targets, or `None` when only make can know them.
#[must_use]
pub fn targets(text: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    // Make skips a byte order mark, and stops at a NUL.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.contains(&0) {
        return None;
    }
    let mut reader = Reader::default();
    let mut lines = text
        .split(|b| *b == b'\n')
        .map(|l| l.strip_suffix(b"\r").unwrap_or(l));
    while let Some(first) = lines.next() {
        let mut line = first.to_vec();
        // A line that ends in an odd number of backslashes goes on.
        while line.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1 {
            line.pop();
            line.push(b' ');
            line.extend(lines.next().unwrap_or_default());
        }
        reader.line(&line)?;
    }
    (reader.conditions == 0).then_some(reader.targets)
}

#[derive(Default)]
struct Reader {
    targets: BTreeSet<Vec<u8>>,
    /// The number of open conditionals.
    conditions: usize,
    /// Whether a recipe may follow here.
    in_rule: bool,
    /// Whether the makefile has suffixes of its own.
    own_suffixes: bool,
}

impl Reader {
    /// Takes one logical line. `None`: the targets are not known.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        if line.first() == Some(&b'\t') {
            // A recipe line; without a rule before it make takes it for something else.
            let blank = line.trim_ascii().is_empty() || line.trim_ascii().starts_with(b"#");
            return (self.in_rule || blank).then_some(());
        }
        let line = without_comment(line).trim_ascii();
        let words: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|w| !w.is_empty())
            .collect();
        let Some(first) = words.first().copied() else {
            return Some(());
        };
        let mark = Mark::of(line);
        // A word such as `include` is a variable's name when `=` follows.
        if mark != Mark::Assignment || first == b"define" || words.get(1) == Some(&&b"define"[..]) {
            match first {
                b"ifeq" | b"ifneq" | b"ifdef" | b"ifndef" => {
                    self.conditions += 1;
                    return Some(());
                }
                b"else" => return (self.conditions > 0).then_some(()),
                b"endif" => {
                    self.conditions = self.conditions.checked_sub(1)?;
                    return Some(());
                }
                b"include" | b"-include" | b"sinclude" | b"load" | b"-load" | b"define"
                | b"endef" => return None,
                b"override" | b"private" | b"export" if words.contains(&&b"define"[..]) => {
                    return None;
                }
                // It names other folders in which built-in rules find files.
                b"vpath" => return None,
                b"export" | b"unexport" | b"undefine" | b"override" | b"private" => {
                    return (!words.iter().any(|w| steers(w))).then_some(());
                }
                _ => {}
            }
        }
        // Anywhere, `eval` can make rules.
        if find(line, b"$(eval").is_some() || find(line, b"${eval").is_some() {
            return None;
        }
        match mark {
            Mark::Assignment => {
                self.in_rule = false;
                let set = line.split(|b| *b == b'=').next().unwrap_or_default();
                let steered = set.split(u8::is_ascii_whitespace).any(steers);
                (!steered && !line.starts_with(b".RECIPEPREFIX") && first != b".RECIPEPREFIX")
                    .then_some(())
            }
            Mark::Rule { colon } => self.rule(line, colon),
            // `$(info …)` prints something and expands to nothing; any other expansion may be a
            // rule.
            Mark::Neither => {
                let says = [&b"$(info "[..], b"$(warning "]
                    .iter()
                    .any(|w| line.starts_with(w));
                (says && line.ends_with(b")")).then_some(())
            }
        }
    }

    fn rule(&mut self, line: &[u8], colon: usize) -> Option<()> {
        let (left, right) = line.split_at_checked(colon)?;
        let left = left.strip_suffix(b"&").unwrap_or(left).trim_ascii();
        let right = right.strip_prefix(b":")?;
        let right = right.strip_prefix(b":").unwrap_or(right);
        let prerequisites = right.split(|b| *b == b';').next().unwrap_or_default();
        // `target: NAME = value` sets a variable and makes no rule; nor does it end the one before.
        if prerequisites.contains(&b'=') && Mark::of(prerequisites) == Mark::Assignment {
            return (!prerequisites.split(u8::is_ascii_whitespace).any(steers)).then_some(());
        }
        if self.conditions > 0 || left.iter().any(|b| b"$\\()*?[]~".contains(b)) {
            return None;
        }
        self.in_rule = true;
        let names = names(left);
        match names.as_slice() {
            [] => return None,
            [b".PHONY"] => {
                let list = self::names(prerequisites);
                if list
                    .iter()
                    .any(|name| name.iter().any(|b| b"$%\\*?[]~".contains(b)))
                {
                    return None;
                }
                // Make has nothing to do for a phony name without a rule, and that is no failure.
                self.targets.extend(list.into_iter().map(<[u8]>::to_vec));
                return Some(());
            }
            [b".SUFFIXES"] => {
                self.own_suffixes |= !prerequisites.trim_ascii().is_empty();
                return Some(());
            }
            _ => {}
        }
        for name in names {
            match name {
                b".DEFAULT" => {
                    self.targets.insert(b"%".to_vec());
                }
                name if has_word(SPECIAL, name) => {}
                name if self.is_suffix_rule(name) => return None,
                name => {
                    self.targets.insert(name.to_vec());
                }
            }
        }
        Some(())
    }

    fn is_suffix_rule(&self, name: &[u8]) -> bool {
        if name.contains(&b'%') || !name.starts_with(b".") || name.contains(&b'/') {
            return false;
        }
        let known = |suffix: &[u8]| has_word(SUFFIXES, suffix);
        let second = name.iter().rposition(|b| *b == b'.').unwrap_or(0);
        let double = name
            .split_at_checked(second)
            .is_some_and(|(a, b)| known(a) && known(b));
        self.own_suffixes || known(name) || double
    }
}

/// Splits a list into names. Make ignores a leading `./`, so that `./lint` is the target `lint`.
fn names(list: &[u8]) -> Vec<&[u8]> {
    let plain = |mut name| {
        while let Some(rest @ [_, ..]) = <[u8]>::strip_prefix(name, b"./") {
            name = rest
                .iter()
                .position(|b| *b != b'/')
                .and_then(|at| rest.get(at..))
                .unwrap_or(b"./");
            if name == b"./" {
                break;
            }
        }
        name
    };
    list.split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
        .map(plain)
        .collect()
}

/// Variables that change what make reads, or where it looks.
const STEERING: [&[u8]; 4] = [b"MAKEFILES", b"MAKEFLAGS", b"GNUMAKEFLAGS", b"VPATH"];

/// Whether a word sets, or begins to set, one of them: `MAKEFLAGS`, `MAKEFLAGS+=-r`, `VPATH:=src`.
fn steers(word: &[u8]) -> bool {
    let name = word.split(|b| *b == b'=').next().unwrap_or_default();
    let end = name
        .iter()
        .rposition(|b| !b"+?:!".contains(b))
        .map_or(0, |at| at + 1);
    name.get(..end).is_some_and(|name| STEERING.contains(&name))
}

/// Targets that tell make how to work (GNU make's manual, section 4.9).
const SPECIAL: &str = "\
    .PHONY .SUFFIXES .PRECIOUS .INTERMEDIATE .NOTINTERMEDIATE .SECONDARY .SECONDEXPANSION \
    .DELETE_ON_ERROR .IGNORE .LOW_RESOLUTION_TIME .SILENT .EXPORT_ALL_VARIABLES .NOTPARALLEL \
    .ONESHELL .POSIX .WAIT";

/// Make's own suffixes (GNU make's manual, section 10.7).
const SUFFIXES: &str = "\
    .out .a .ln .o .c .cc .C .cpp .p .f .F .m .r .y .l .ym .yl .s .S .mod .sym .def .h .info \
    .dvi .tex .texinfo .texi .txinfo .w .ch .web .sh .elc .el";

/// The kind of a line, by the first `:` or `=` outside of `$(…)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Assignment,
    Rule { colon: usize },
    Neither,
}

impl Mark {
    fn of(line: &[u8]) -> Self {
        let mut closers: Vec<u8> = Vec::new();
        let mut previous = 0;
        for (at, byte) in line.iter().enumerate() {
            match byte {
                b'(' if previous == b'$' || closers.last() == Some(&b')') => closers.push(b')'),
                b'{' if previous == b'$' || closers.last() == Some(&b'}') => closers.push(b'}'),
                b')' | b'}' if closers.last() == Some(byte) => {
                    closers.pop();
                }
                b'=' if closers.is_empty() => return Mark::Assignment,
                b':' if closers.is_empty() => {
                    let rest = line.get(at..).unwrap_or_default();
                    let colons = rest.iter().take_while(|b| **b == b':').count();
                    let assigns = rest.get(colons) == Some(&b'=');
                    return if assigns {
                        Mark::Assignment
                    } else {
                        Mark::Rule { colon: at }
                    };
                }
                _ => {}
            }
            previous = *byte;
        }
        Mark::Neither
    }
}

fn without_comment(line: &[u8]) -> &[u8] {
    let starts =
        |(at, byte): &(usize, &u8)| **byte == b'#' && line.get(at.wrapping_sub(1)) != Some(&b'\\');
    match line.iter().enumerate().find(starts) {
        Some((at, _)) => line.get(..at).unwrap_or_default(),
        None => line,
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|w| w == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_targets() {
        for (text, want) in [
            ("", vec![]),
            (
                "all: a b\n\tcc a b\n\tX: y\ntest: all ; run\n",
                vec!["all", "test"],
            ),
            (
                "OBJ := a\nX = b:c\nY ?= d\nZ += e:f\nW != echo x:\nV ::= 1\nall:\n",
                vec!["all"],
            ),
            ("all:: x\n\tone\nall:: y\n\ttwo\n", vec!["all"]),
            ("a b &: c\n\tboth\n", vec!["a", "b"]),
            (".PHONY: test lint\ntest:\n", vec!["lint", "test"]),
            (
                "A = 1 \\\n  x: 2\nall: one \\\n  two\n\tgo \\\nb: c\n",
                vec!["all"],
            ),
            ("# b: c\nall: # c: d\n#x \\\ny: z\n", vec!["all"]),
            ("debug: CFLAGS = -g\nall: ; A=b run\n", vec!["all"]),
            ("ifdef X\nA = 1\nelse\nA = 2\nendif\nall:\n", vec!["all"]),
            (
                "export PATH := a:b\nexport\nunexport X\noverride A = b\nall:\n",
                vec!["all"],
            ),
            ("\u{feff}lint:\n\tgo\n", vec!["lint"]),
            (
                "./lint: ./a\n.//check ././test:\n.PHONY: ./all\n./.env:\n",
                vec![".env", "all", "check", "lint", "test"],
            ),
            (".DEFAULT:\n\techo\n", vec!["%"]),
            (".DEFAULT: ; echo $@\nall:\n", vec!["%", "all"]),
            (
                "%.o: %.c\n\tcc\nbuild-% run-%:\n\tgo\nall:\n",
                vec!["%.o", "all", "build-%", "run-%"],
            ),
            ("%:\n\tgo\n", vec!["%"]),
            (".%.stamp: x\n", vec![".%.stamp"]),
            ("%.o: CFLAGS = -g\nall:\n", vec!["all"]),
            ("a: MAKEFLAGS\n", vec!["a"]),
            ("$(info hello: world)\nall: $(OBJ)\n", vec!["all"]),
            (
                ".venv: x\n.env:\nbuild/.stamp: y\n.SUFFIXES:\n.DELETE_ON_ERROR:\n",
                vec![".env", ".venv", "build/.stamp"],
            ),
            ("include = 5\nall:\r\n\trun\r\n", vec!["all"]),
            ("obj: %.o: %.c\n", vec!["obj"]),
        ] {
            let got = targets(text.as_bytes());
            let want = want.iter().map(|t| t.as_bytes().to_vec()).collect();
            assert_eq!(got, Some(want), "{text:?}");
        }
    }

    #[test]
    fn what_only_make_knows() {
        for text in [
            "include x.mk\nall:\n",
            "-include .env\nall:\n",
            "sinclude a\n",
            "MAKEFLAGS += -r\nall:\n",
            "MAKEFLAGS+=-r\nall:\n",
            "export MAKEFILES := x.mk\nall:\n",
            "export MAKEFILES\nall:\n",
            "override MAKEFLAGS = -k\nall:\n",
            "all: MAKEFLAGS := -k\n",
            "ifdef X\nGNUMAKEFLAGS = -s\nendif\nall:\n",
            "VPATH = src\nall:\n",
            "vpath %.c src\nall:\n",
            "export define X\na: b\nendef\n",
            "$(x):\n",
            "a-$(x) b:\n",
            ".PHONY: t*\n",
            "a%\\%: b\n",
            "all:\0\n",
            "$(OBJ): a\n",
            "${X}: a\n",
            ".PHONY: $(ALL)\n",
            "define X\na: b\nendef\n",
            "override define X\nendef\n",
            "$(eval $(call X))\n",
            "A := $(eval b: c)\n",
            "$(call rules,a)\n",
            ".c.o:\n\tcc\n",
            ".sh:\n\tcc\n",
            ".SUFFIXES: .x .y\n.x.y:\n\tgo\n",
            "ifdef X\nall:\nendif\n",
            "ifdef X\n",
            "endif\n",
            ".RECIPEPREFIX = >\nall:\n> x: y\n",
            "\tall: b\n",
            "what is this\n",
            "a\\:b: c\n",
            "lib(a.o): b\n",
            "*.x: b\n",
            "load x.so\n",
        ] {
            assert_eq!(targets(text.as_bytes()), None, "{text:?}");
        }
    }
}
