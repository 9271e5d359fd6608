//! Reads contracts in JSON: `verify.contract.json` to draft.
//!
//! Strict JSON (RFC 8259): no comments, no trailing commas, no bare names, no key twice. Its checks
//! are anonymous; they come in the order `commands`, `byRole`, `rules`, each in the order of the
//! file.

use jsonc_parser::ast::{Array, Object, ObjectProp, ObjectPropName, StringLit, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::collections::BTreeMap;
use vplan_base::canon::Digest;
use vplan_base::carried::{Carried, listed};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::nearest::nearest;
use vplan_base::setting::Row;
use vplan_base::source::{Source, Sources};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_contract::ConditionIndex;
use vplan_contract::draft::{At, Check, CheckEntry, Condition, Draft, Sel, Setting, Verb, Written};
use vplan_lang::command::parse_command;

vplan_base::codes! {
    "vplan::json::":
    /// The text is no JSON.
    pub SYNTAX = "syntax";
    /// Lists and objects are nested deeper than the cap.
    pub DEPTH = "depth";
    /// A key occurs twice in an object.
    pub(crate) DUPLICATE_KEY = "duplicate_key";
    /// A key that a contract does not have.
    pub(crate) UNKNOWN_KEY = "unknown_key";
    /// A key that a contract must have is not there.
    pub(crate) MISSING_KEY = "missing_key";
    /// A value of another type than the key has.
    pub WRONG_TYPE = "wrong_type";
    /// A condition without globs.
    pub(crate) EMPTY_CONDITION = "empty_condition";
    /// A key that existing contracts have and vplan does not use.
    pub UNSUPPORTED_KEY = "unsupported_key";
}

/// The deepest nesting of lists and objects. Checked before anything recursive reads the text.
pub(super) const MAX_DEPTH: usize = 64;

/// Lowers a contract in JSON to a draft.
pub fn lower(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Draft {
    let source = &sources[id];
    let mut lowering = Lowering {
        source,
        id,
        draft: Draft {
            path: source.name().to_owned(),
            ..Draft::default()
        },
        sink,
    };
    if let Some((value, digest)) = lowering.text() {
        lowering.draft.digest = Some(digest);
        match value {
            Value::Object(object) => lowering.contract(&object),
            other => lowering.wrong_type("a contract", "an object", &other),
        }
    }
    lowering.draft
}

/// Reads strict JSON of any content, for front ends of other files: the value, and the digest of
/// its content. `None` after an error; a key that occurs twice is one, but the value is returned.
pub(super) fn read<'s>(
    source: &'s Source,
    id: SourceId,
    sink: &mut Diagnostics,
) -> Option<(Value<'s>, Digest)> {
    Lowering {
        source,
        id,
        draft: Draft::default(),
        sink,
    }
    .text()
}

struct Lowering<'s, 'd> {
    source: &'s Source,
    id: SourceId,
    draft: Draft,
    sink: &'d mut Diagnostics,
}

impl<'s> Lowering<'s, '_> {
    fn text(&mut self) -> Option<(Value<'s>, Digest)> {
        let source = self.source;
        let text = source.text();
        if let Some(offset) = too_deep(text) {
            let message = format!("nested more than {MAX_DEPTH} deep");
            let range = Range::new(offset, offset + 1);
            self.sink
                .push(self.error(DEPTH, message, range, "one level too many"));
            return None;
        }
        let value = match parse_to_ast(text, &CollectOptions::default(), &strict()) {
            Ok(parsed) => parsed.value,
            Err(fault) => {
                self.report_syntax(&fault);
                return None;
            }
        };
        let Some(value) = value else {
            let (message, range) = ("an empty file is no contract", Range::new(0, 0));
            let error = self.error(SYNTAX, message, range, "nothing here");
            self.sink
                .push(error.help("a contract that selects nothing is `{}`"));
            return None;
        };
        // A second parser, because it is stricter about characters, and for the digest.
        let digest = match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => Digest::of_value(&value),
            Err(fault) => {
                let offset = offset_of(text, fault.line(), fault.column());
                let message = fault.to_string();
                let message = message.split(" at line ").next().unwrap_or_default();
                let message = format!("this is not JSON: {message}");
                let range = Range::new(offset, offset);
                self.sink.push(self.error(SYNTAX, message, range, "here"));
                return None;
            }
        };
        self.report_duplicate_keys(&value);
        Some((value, digest))
    }

    fn contract(&mut self, object: &Object<'_>) {
        let known = ["commands", "byRole", "rules"];
        self.check_keys(object, "a contract", &known, &["visualProbes"]);
        if let Some(list) = self.array(object, "commands") {
            self.commands("commands", list, &[]);
        }
        if let Some(property) = object.get("byRole") {
            match &property.value {
                Value::Object(roles) => roles.properties.iter().for_each(|role| self.role(role)),
                other => self.wrong_type("`byRole`", "an object", other),
            }
        }
        let rules = self.array(object, "rules");
        for rule in rules.into_iter().flat_map(|list| &list.elements) {
            match rule {
                Value::Object(rule) => self.rule(rule),
                other => self.wrong_type("an entry of `rules`", "an object", other),
            }
        }
    }

    fn role(&mut self, role: &ObjectProp<'_>) {
        let place = self.place(role.name.range());
        let name = At::new(role.name.as_str().to_owned(), place);
        match &role.value {
            Value::Array(list) => {
                let condition = self.condition(Condition::Role(vec![name]), place);
                self.commands(&describe_key(&role.name), list, &[condition]);
            }
            other => {
                let what = format!("`{}`", describe_key(&role.name));
                self.wrong_type(&what, "a list of commands", other);
            }
        }
    }

    fn rule(&mut self, rule: &Object<'_>) {
        let known = ["whenChangedAny", "whenChangedAll", "commands"];
        self.check_keys(rule, "a rule", &known, &[]);
        let mut conditions = Vec::new();
        type Make = fn(Vec<Sel>) -> Condition;
        let kinds: [(&str, Make); 2] = [
            ("whenChangedAny", Condition::ChangedAny),
            ("whenChangedAll", Condition::ChangedAll),
        ];
        for (key, make) in kinds {
            let (Some(list), Some(property)) = (self.array(rule, key), rule.get(key)) else {
                continue;
            };
            let place = self.place(property.name.range());
            if list.elements.is_empty() {
                let message = format!("`{key}` without globs never holds");
                let error = self.error(EMPTY_CONDITION, message, list.range, "an empty list");
                let help = "take the key away for a rule that always applies";
                self.sink.push(error.help(help));
            }
            let items = self.strings(key, list).into_iter();
            let items = items.map(|s| self.sel(s)).collect();
            conditions.push(self.condition(make(items), place));
        }
        match rule.get("commands") {
            Some(_) => {
                if let Some(list) = self.array(rule, "commands") {
                    self.commands("commands", list, &conditions);
                }
            }
            None => {
                let message = "a rule without `commands` does nothing";
                let label = "no `commands` in this rule";
                self.sink
                    .push(self.error(MISSING_KEY, message, rule.range, label));
            }
        }
    }

    fn commands(&mut self, what: &str, list: &Array<'_>, conditions: &[ConditionIndex]) {
        let texts = self.strings(what, list);
        let commands = texts.iter().map(|text| parse_command(&text.value));
        let commands: Vec<_> = commands.collect();
        let named = texts.iter().zip(&commands).map(|both| (both, both.1));
        for ((text, command), carried) in listed(named).commands {
            let place = self.place(text.range);
            let verb = At::new(Verb::Command(Kind::Run, command.clone()), place);
            let settings = carried_settings(&carried).into_iter();
            self.draft.entries.push(CheckEntry::Check(Box::new(Check {
                verbs: vec![verb],
                settings: settings.map(|s| At::new(s, place)).collect(),
                conditions: conditions.to_vec(),
                place,
                ..Check::default()
            })));
        }
    }

    fn condition(&mut self, condition: Condition, place: Place) -> ConditionIndex {
        self.draft.conditions.push(At::new(condition, place))
    }

    fn sel(&self, literal: &StringLit<'_>) -> Sel {
        let value: &str = &literal.value;
        let glob = value.strip_prefix('!');
        let not = glob.is_some();
        // Between the quotes is the value itself unless there are escapes.
        let plain = literal.range.end - literal.range.start == value.len() + 2;
        Sel {
            inner: plain.then_some(literal.range.start + 1 + usize::from(not)),
            ..Sel::glob(not, glob.unwrap_or(value), self.place(literal.range))
        }
    }

    /// Returns the list of a key, if there is one.
    fn array<'v, 'a>(&mut self, object: &'v Object<'a>, key: &str) -> Option<&'v Array<'a>> {
        match &object.get(key)?.value {
            Value::Array(list) => Some(list),
            other => {
                self.wrong_type(&format!("`{key}`"), "a list", other);
                None
            }
        }
    }

    fn strings<'v, 'a>(&mut self, what: &str, list: &'v Array<'a>) -> Vec<&'v StringLit<'a>> {
        let mut strings = Vec::with_capacity(list.elements.len());
        for element in &list.elements {
            match element {
                Value::StringLit(text) => strings.push(text),
                other => self.wrong_type(&format!("an entry of `{what}`"), "a string", other),
            }
        }
        strings
    }

    fn wrong_type(&mut self, what: &str, wanted: &str, found: &Value<'_>) {
        let found_type = match found {
            Value::StringLit(_) => "a string",
            Value::NumberLit(_) => "a number",
            Value::BooleanLit(_) => "a boolean",
            Value::Object(_) => "an object",
            Value::Array(_) => "a list",
            Value::NullKeyword(_) => "null",
        };
        let message = format!("{what} is {wanted}, not {found_type}");
        let error = self.error(WRONG_TYPE, message, found.range(), found_type);
        self.sink.push(error);
    }

    fn error(
        &self,
        code: Code,
        message: impl Into<String>,
        range: Range,
        label: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic::at(code, message, self.place(range), label)
    }

    fn check_keys(&mut self, object: &Object<'_>, what: &str, known: &[&str], unused: &[&str]) {
        for property in &object.properties {
            let (key, range) = (property.name.as_str(), property.name.range());
            if known.contains(&key) {
                continue;
            }
            if unused.contains(&key) {
                let message = format!("`{key}` is not supported");
                let warning = Diagnostic::warning(UNSUPPORTED_KEY, message);
                let warning = warning.label(self.place(range), "has no effect");
                self.sink
                    .push(warning.help("write what it checks as a command"));
                continue;
            }
            let shown = describe_key(&property.name);
            let (label, help) = match nearest(key, known.iter().copied()) {
                Some(near) => (
                    format!("did you mean `{near}`?"),
                    format!("replace `{shown}` by `{near}`"),
                ),
                None => {
                    let help = format!("its keys are `{}`", known.join("`, `"));
                    ("unknown key".to_owned(), help)
                }
            };
            let message = format!("{what} has no key `{shown}`");
            let error = self.error(UNKNOWN_KEY, message, range, label);
            self.sink.push(error.help(help));
        }
    }

    /// Reports keys that occur twice, in all objects. The text's depth is bounded, so this
    /// recursion is.
    fn report_duplicate_keys(&mut self, value: &Value<'_>) {
        match value {
            Value::Array(list) => {
                let items = list.elements.iter();
                items.for_each(|v| self.report_duplicate_keys(v));
            }
            Value::Object(object) => {
                let mut seen: BTreeMap<&str, Range> = BTreeMap::new();
                for property in &object.properties {
                    let range = property.name.range();
                    if let Some(first) = seen.get(property.name.as_str()) {
                        let message = format!("`{}` stands twice", describe_key(&property.name));
                        let error = self.error(DUPLICATE_KEY, message, range, "again here");
                        let error = error.label(self.place(*first), "first here");
                        self.sink.push(error.help("write all of it under one key"));
                    } else {
                        seen.insert(property.name.as_str(), range);
                    }
                    self.report_duplicate_keys(&property.value);
                }
            }
            _ => {}
        }
    }

    fn report_syntax(&mut self, fault: &ParseError) {
        let (message, help) = match fault.kind() {
            ParseErrorKind::CommentsNotAllowed => (
                "JSON has no comments",
                Some("a contract in vplan's own language has"),
            ),
            ParseErrorKind::TrailingCommasNotAllowed => {
                ("a comma behind the last entry", Some("take the comma away"))
            }
            ParseErrorKind::SingleQuotedStringsNotAllowed => (
                "strings stand in double quotes",
                Some("write `\"` for each `'`"),
            ),
            ParseErrorKind::ExpectedStringObjectProperty => ("keys stand in double quotes", None),
            ParseErrorKind::ExpectedComma => ("a comma is missing", None),
            ParseErrorKind::ExpectedColonAfterObjectKey => ("a key is followed by a colon", None),
            ParseErrorKind::ExpectedObjectValue => ("a value is missing behind the colon", None),
            ParseErrorKind::MultipleRootJsonValues => {
                ("the file goes on behind the contract", None)
            }
            ParseErrorKind::UnterminatedArray => {
                ("a list that does not end", Some("close it with `]`"))
            }
            ParseErrorKind::UnterminatedObject => {
                ("an object that does not end", Some("close it with `}`"))
            }
            ParseErrorKind::String(_) => ("a string that cannot be read", None),
            _ => ("this is not JSON", None),
        };
        let mut error = self.error(SYNTAX, message, fault.range(), "here");
        error.help = help.map(str::to_owned);
        self.sink.push(error);
    }

    fn place(&self, range: Range) -> Place {
        let end = self.source.text().len();
        Place::new(self.id, Span::new(range.start.min(end), range.end.min(end)))
    }
}

/// Shows a key safely.
fn describe_key(name: &ObjectPropName<'_>) -> String {
    visible(name.as_str())
}

/// Returns the options of strict JSON.
pub(super) fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// Returns the first bracket that opens a level too many. Brackets in strings do not count; a text
/// that is no JSON at all may be misread, but never as less deep than a parser would find it.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Some(offset);
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Returns the offset of a line (from 1) and a column in bytes (from 1).
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

/// Returns the settings for the changes that the `cd` and `export` before a check in its list have
/// made.
pub(super) fn carried_settings(carried: &Carried) -> Vec<Setting> {
    let dir = String::from_utf8_lossy(carried.dir.as_bytes()).into_owned();
    let dir = (!carried.dir.is_root()).then(|| Setting::new(Row::Dir, dir));
    let env = carried.env.iter().map(|(name, value)| {
        Setting::new(Row::Env, Written::Variable(name.clone(), value.clone()))
    });
    dir.into_iter().chain(env).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::command::Command;
    use vplan_base::index::Index as _;
    use vplan_contract::CheckIndex;
    use vplan_contract::validate::validate;

    fn lowered(text: &str) -> (Draft, Diagnostics, Sources) {
        let (mut sources, mut sink) = (Sources::default(), Diagnostics::default());
        let id = sources.add(Source::new("verify.contract.json", text));
        let draft = lower(&sources, id, &mut sink);
        (draft, sink, sources)
    }

    /// Returns errors and warnings with the text that they underline.
    fn faults(text: &str) -> Vec<(&'static str, String)> {
        let (_, sink, sources) = lowered(text);
        let show = |d: &Diagnostic| {
            let place = d.labels[0].place;
            (
                d.code.0.trim_start_matches("vplan::json::"),
                sources
                    .get(place.source)
                    .unwrap()
                    .slice(place.span)
                    .to_owned(),
            )
        };
        sink.iter().map(show).collect()
    }

    #[test]
    fn malformed() {
        let deep = format!("{{\"rules\":{}{}}}", "[".repeat(80), "]".repeat(80));
        let table: &[(&str, &[(&str, &str)])] = &[
            ("{}", &[]),
            ("\u{feff}{\"commands\": []}\r\n", &[]),
            ("", &[("syntax", "")]),
            ("  \n", &[("syntax", "")]),
            ("[]", &[("wrong_type", "[]")]),
            ("null", &[("wrong_type", "null")]),
            ("{\"commands\": [\"a\"],}", &[("syntax", ",")]),
            ("// c\n{}", &[("syntax", "// c")]),
            ("{commands: []}", &[("syntax", "commands")]),
            ("{'commands': []}", &[("syntax", "'")]),
            ("{\"commands\": [\"a\" \"b\"]}", &[("syntax", "")]),
            ("{\"commands\": [\"a\nb\"]}", &[("syntax", "")]),
            ("{\"commands\": [", &[("syntax", "[")]),
            ("{} {}", &[("syntax", "{")]),
            ("{\u{2003}}", &[("syntax", "")]),
            (&deep, &[("depth", "[")]),
            ("{\"commands\": 1}", &[("wrong_type", "1")]),
            ("{\"commands\": null}", &[("wrong_type", "null")]),
            (
                "{\"commands\": [1, true]}",
                &[("wrong_type", "1"), ("wrong_type", "true")],
            ),
            ("{\"byRole\": []}", &[("wrong_type", "[]")]),
            (
                "{\"byRole\": {\"worker\": \"b\"}}",
                &[("wrong_type", "\"b\"")],
            ),
            ("{\"rules\": {}}", &[("wrong_type", "{}")]),
            ("{\"rules\": [\"x\"]}", &[("wrong_type", "\"x\"")]),
            ("{\"rules\": [{}]}", &[("missing_key", "{}")]),
            (
                "{\"rules\": [{\"whenChangedAny\": [], \"commands\": []}]}",
                &[("empty_condition", "[]")],
            ),
            (
                "{\"rules\": [{\"whenChangedAny\": \"a\", \"commands\": []}]}",
                &[("wrong_type", "\"a\"")],
            ),
            (
                "{\"rules\": [{\"whenChangedAll\": [{}], \"commands\": []}]}",
                &[("wrong_type", "{}")],
            ),
            ("{\"comands\": []}", &[("unknown_key", "\"comands\"")]),
            (
                "{\"rules\": [{\"when\": 1, \"commands\": []}]}",
                &[("unknown_key", "\"when\"")],
            ),
            (
                "{\"commands\": [], \"commands\": []}",
                &[("duplicate_key", "\"commands\"")],
            ),
            (
                "{\"visualProbes\": [{\"a\": 1, \"a\": 2}]}",
                &[
                    ("duplicate_key", "\"a\""),
                    ("unsupported_key", "\"visualProbes\""),
                ],
            ),
        ];
        for (text, want) in table {
            let got = faults(text);
            let got: Vec<(&str, &str)> = got
                .iter()
                .map(|(code, text)| (*code, text.as_str()))
                .collect();
            assert_eq!(&got, want, "{text}");
        }
    }

    #[test]
    fn meaning() {
        let (draft, mut sink, sources) = lowered(
            r#"{"rules": [{"whenChangedAny": ["src/**", "!src/\u0067en/**"], "whenChangedAll": ["a"], "commands": ["x"]}, {"commands": ["y"]}],
               "byRole": {"tester": ["t"], "docser": []}, "commands": ["CI=1 a b", "a && b"]}"#,
        );
        assert_eq!(sink, Diagnostics::default());
        let contract = validate(&draft, &sources, &mut sink).unwrap();
        let around = |c: &vplan_contract::Check| -> Vec<usize> {
            let conditions = c.placements[0].conditions.iter();
            conditions.map(|i| i.position()).collect()
        };
        let shape: Vec<(&str, Vec<usize>, usize)> = contract
            .checks
            .iter()
            .map(|c| (c.id.as_str(), around(c), c.line))
            .collect();
        assert_eq!(
            shape,
            [
                ("a-b", vec![], 2),
                ("a-b-2", vec![], 2),
                ("t", vec![0], 2),
                ("x", vec![2, 3], 1),
                ("y", vec![], 1)
            ]
        );
        assert!(contract.checks.iter().all(|c| !c.named));
        assert!(contract.checks[CheckIndex::new(0)].env.contains_key("CI"));
        let vplan_contract::Body::Command(unsupported) = &contract.checks[CheckIndex::new(1)].body
        else {
            panic!()
        };
        assert!(matches!(unsupported, Command::Unsupported { text, .. } if text == "a && b"));
        let Condition::ChangedAny(items) = &draft.conditions[ConditionIndex::new(2)].value else {
            panic!()
        };
        assert_eq!(
            items.iter().map(|i| (i.not, i.inner)).collect::<Vec<_>>(),
            [(false, Some(32)), (true, None)]
        );
    }

    #[test]
    fn unknown_roles_and_globs_are_found_behind_the_front_end() {
        let (draft, mut sink, sources) = lowered(
            r#"{"byRole": {"Tester": ["t"]}, "rules": [{"whenChangedAny": ["!a"], "commands": []}]}"#,
        );
        assert!(validate(&draft, &sources, &mut sink).is_none());
        let codes: Vec<&str> = sink.iter().map(|d| d.code.0).collect();
        assert_eq!(
            codes,
            [
                "vplan::contract::unknown_role",
                "vplan::contract::only_exclusions"
            ]
        );
    }

    #[test]
    fn layout_does_not_change_the_digest() {
        let digest = |text: &str| lowered(text).0.digest.unwrap();
        assert_eq!(
            digest(r#"{"commands":["a"],"rules":[]}"#),
            digest("{ \"rules\": [],\n\"commands\": [\"\\u0061\"] }")
        );
        assert_ne!(
            digest(r#"{"commands":["a","b"]}"#),
            digest(r#"{"commands":["b","a"]}"#)
        );
    }

    #[test]
    fn brackets_in_strings_are_not_nesting() {
        assert_eq!(too_deep(&format!("[\"{}\\\"[\"]", "[".repeat(100))), None);
        assert_eq!(too_deep(&"[]".repeat(100)), None);
        assert_eq!(too_deep(&"{[".repeat(40)), Some(64));
    }
}
