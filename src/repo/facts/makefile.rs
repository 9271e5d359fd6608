//! Reads the targets that a makefile certainly has (GNU make's manual, chapters 3 to 6).
//!
//! Make is a programming language; this reads the part of it that can be parsed without running it.
//! Anything else (`include`, suffix rules, computed names, `define`, rules under a condition,
//! `MAKEFLAGS`, `vpath`) makes the answer "unknown". So a target that only make can find never
//! counts as missing. A pattern rule is a name with `%`, and so is `.DEFAULT`, which makes any
//! target without a rule.

use std::collections::BTreeSet;
use vplan_base::word::has_word;
use vplan_init::makefile::{MakefileLine, lines, without_comment};

/// The names that make searches for, in its order.
pub const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns the targets, or `None` if only make can determine them.
pub fn targets(text: &[u8]) -> Option<BTreeSet<Vec<u8>>> {
    // Make skips a byte order mark, and stops at a NUL.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.contains(&0) {
        return None;
    }
    let mut reader = Reader::default();
    for (_, line) in lines(&String::from_utf8_lossy(text)) {
        reader.line(&line)?;
    }
    (reader.conditions == 0).then_some(reader.targets)
}

/// Whether a character is in names that only make can expand, or was not text.
fn is_unclear(c: char) -> bool {
    "$\\*?[]~\u{fffd}".contains(c)
}

#[derive(Default)]
struct Reader {
    targets: BTreeSet<Vec<u8>>,
    /// The number of open conditionals.
    conditions: usize,
    /// Whether a recipe may follow here.
    in_rule: bool,
    /// Whether the makefile sets its own suffixes.
    own_suffixes: bool,
}

impl Reader {
    /// Processes one logical line. `None` if the targets cannot be determined.
    fn line(&mut self, text: &str) -> Option<()> {
        let kind = MakefileLine::parse(text);
        if let MakefileLine::Recipe(command) = kind {
            // Without a rule before it make takes it for something else.
            let blank = command.trim_ascii().is_empty() || command.trim_ascii().starts_with('#');
            return (self.in_rule || blank).then_some(());
        }
        let line = without_comment(text);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(first) = words.first().copied() else {
            return Some(());
        };
        let is_variable = matches!(kind, MakefileLine::Variable(..));
        // A word such as `include` is a variable's name if `=` follows.
        if !is_variable || first == "define" || words.get(1) == Some(&"define") {
            match first {
                "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                    self.conditions += 1;
                    return Some(());
                }
                "else" => return (self.conditions > 0).then_some(()),
                "endif" => {
                    self.conditions = self.conditions.checked_sub(1)?;
                    return Some(());
                }
                // `vpath` names other folders in which built-in rules find files.
                "include" | "-include" | "sinclude" | "load" | "-load" | "define" | "endef"
                | "vpath" => return None,
                "override" | "private" | "export" if words.contains(&"define") => return None,
                "export" | "unexport" | "undefine" | "override" | "private" => {
                    return (!words.iter().any(|w| steers(w))).then_some(());
                }
                _ => {}
            }
        }
        // Anywhere, `eval` can make rules.
        if line.contains("$(eval") || line.contains("${eval") {
            return None;
        }
        match kind {
            MakefileLine::Variable(left, _) => {
                self.in_rule = false;
                let steered = left.split_ascii_whitespace().any(steers);
                (!steered && !line.starts_with(".RECIPEPREFIX")).then_some(())
            }
            // It makes no rule; nor does it end the one before.
            MakefileLine::OfTargets(variable) => {
                (!variable.split_ascii_whitespace().any(steers)).then_some(())
            }
            MakefileLine::Rule(left, needs, _) => self.rule(left, needs),
            // `$(info …)` prints something and expands to nothing; any other expansion may be a
            // rule.
            MakefileLine::Recipe(_) | MakefileLine::Other => {
                let says = ["$(info ", "$(warning "]
                    .iter()
                    .any(|w| line.starts_with(w));
                (says && line.ends_with(')')).then_some(())
            }
        }
    }

    fn rule(&mut self, left: &str, needs: &str) -> Option<()> {
        if self.conditions > 0 || left.contains(is_unclear) || left.contains(['(', ')']) {
            return None;
        }
        self.in_rule = true;
        let names = names(left);
        match names.as_slice() {
            [] => return None,
            [".PHONY"] => {
                let list = self::names(needs);
                if list
                    .iter()
                    .any(|name| name.contains(is_unclear) || name.contains('%'))
                {
                    return None;
                }
                // Make has nothing to do for a phony name without a rule, and does not fail.
                self.targets.extend(list.into_iter().map(Vec::from));
                return Some(());
            }
            [".SUFFIXES"] => {
                self.own_suffixes |= !needs.trim_ascii().is_empty();
                return Some(());
            }
            _ => {}
        }
        for name in names {
            match name {
                ".DEFAULT" => drop(self.targets.insert(b"%".to_vec())),
                name if has_word(SPECIAL, name) => {}
                name if self.is_suffix_rule(name) => return None,
                name => drop(self.targets.insert(Vec::from(name))),
            }
        }
        Some(())
    }

    fn is_suffix_rule(&self, name: &str) -> bool {
        if name.contains(['%', '/']) || !name.starts_with('.') {
            return false;
        }
        let known = |suffix: &str| has_word(SUFFIXES, suffix);
        let second = name.rfind('.').unwrap_or(0);
        let double = name
            .split_at_checked(second)
            .is_some_and(|(a, b)| known(a) && known(b));
        self.own_suffixes || known(name) || double
    }
}

/// Splits a list into names. Make ignores a leading `./`, so that `./lint` is the target `lint`.
fn names(list: &str) -> Vec<&str> {
    let mut names: Vec<&str> = list.split_ascii_whitespace().collect();
    for name in &mut names {
        while let Some(rest) = name.strip_prefix("./").filter(|rest| !rest.is_empty()) {
            *name = match rest.trim_start_matches('/') {
                "" => "./",
                rest => rest,
            };
        }
    }
    names
}

/// Variables that change which files make reads, or where it searches.
const STEERING: [&str; 4] = ["MAKEFILES", "MAKEFLAGS", "GNUMAKEFLAGS", "VPATH"];

/// Whether a word sets, or begins to set, one of them: `MAKEFLAGS`, `MAKEFLAGS+=-r`, `VPATH:=src`.
fn steers(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    STEERING.contains(&name.trim_end_matches(['+', '?', ':', '!']))
}

/// Targets that control make itself (GNU make's manual, section 4.9).
const SPECIAL: &str = "\
    .PHONY .SUFFIXES .PRECIOUS .INTERMEDIATE .NOTINTERMEDIATE .SECONDARY .SECONDEXPANSION \
    .DELETE_ON_ERROR .IGNORE .LOW_RESOLUTION_TIME .SILENT .EXPORT_ALL_VARIABLES .NOTPARALLEL \
    .ONESHELL .POSIX .WAIT";

/// Make's own suffixes (GNU make's manual, section 10.7).
const SUFFIXES: &str = "\
    .out .a .ln .o .c .cc .C .cpp .p .f .F .m .r .y .l .ym .yl .s .S .mod .sym .def .h .info \
    .dvi .tex .texinfo .texi .txinfo .w .ch .web .sh .elc .el";

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
