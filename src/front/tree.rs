//! Reads configuration files: JSON, TOML and YAML become one tree with places.
//!
//! Nothing recursive is built before its depth is known, no file grows by being read (aliases of
//! YAML count as their targets), and no key occurs twice.

pub use super::convert::account::{DUPLICATE_KEY, TOML, TOO_LARGE, YAML};
use super::verify_contract_json;
use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::source::{Source, Sources};
use vplan_base::span::{Place, SourceId, Span};
use vplan_base::word::visible;

/// The deepest nesting of lists and mappings.
const MAX_DEPTH: usize = 64;
/// Maximum number of values in a file.
const MAX_NODES: usize = 100_000;

/// A value and its place.
#[derive(Clone, Debug, Default)]
pub struct TreeNode {
    /// The place of the whole value.
    pub place: Place,
    pub value: TreeValue,
}

/// A key and its place.
#[derive(Clone, Debug)]
pub struct TreeKey {
    pub name: String,
    pub place: Place,
}

/// The types of values.
#[derive(Clone, Debug, Default)]
pub enum TreeValue {
    /// Nothing, or `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits.
    Whole(i64),
    /// Any other number, or a date, as it is written.
    Other(String),
    Text(String),
    List(Vec<TreeNode>),
    /// A mapping, in the order of the file.
    Map(Vec<(TreeKey, TreeNode)>),
}

impl TreeValue {
    /// Returns its name for people.
    pub fn name(&self) -> &'static str {
        match self {
            TreeValue::Null => "null",
            TreeValue::Bool(_) => "a boolean",
            TreeValue::Whole(_) => "a whole number",
            TreeValue::Other(_) => "another number or a date",
            TreeValue::Text(_) => "a string",
            TreeValue::List(_) => "a list",
            TreeValue::Map(_) => "a mapping",
        }
    }
}

impl TreeNode {
    /// Returns the text of a string.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            TreeValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements of a list; none for anything else.
    pub fn list(&self) -> &[TreeNode] {
        match &self.value {
            TreeValue::List(nodes) => nodes,
            _ => &[],
        }
    }

    /// Returns the entries of a mapping; none for anything else.
    pub fn entries(&self) -> &[(TreeKey, TreeNode)] {
        match &self.value {
            TreeValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&TreeNode> {
        let mut entries = self.entries().iter();
        let entry = entries.find(|(own, _)| own.name == key);
        entry.map(|(_, node)| node)
    }
}

/// Reads strict JSON.
pub fn json(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Option<TreeNode> {
    let source = &sources[id];
    verify_contract_json::read(source, id, sink).map(|(value, _)| from_json(&value, id))
}

/// Reads JSON that may have comments and trailing commas (`tsconfig.json`, `turbo.json`).
pub fn json_with_comments(
    sources: &Sources,
    id: SourceId,
    sink: &mut Diagnostics,
) -> Option<TreeNode> {
    let at = |start: usize, end: usize| Place::new(id, Span::new(start, end));
    let text = without_comments(sources[id].text());
    if let Some(offset) = verify_contract_json::too_deep(&text) {
        let error = Diagnostic::error(verify_contract_json::DEPTH, "nested too deep");
        sink.push(error.label(at(offset, offset + 1), "one level too many"));
        return None;
    }
    let options = jsonc_parser::ParseOptions {
        allow_trailing_commas: true,
        ..verify_contract_json::strict()
    };
    match jsonc_parser::parse_to_ast(&text, &jsonc_parser::CollectOptions::default(), &options) {
        Ok(parsed) => parsed.value.map(|value| from_json(&value, id)),
        Err(fault) => {
            let range = fault.range();
            let message = format!("this is not JSON: {}", fault.kind());
            let error = Diagnostic::error(verify_contract_json::SYNTAX, message);
            sink.push(error.label(at(range.start, range.end), "here"));
            None
        }
    }
}

/// Replaces comments by blanks, so that every offset stays.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let comment = match () {
            () if in_string => 0,
            () if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            () if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            () => 0,
        };
        if comment > 0 {
            let (blank, after) = rest.split_at(comment);
            out.extend(blank.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
            rest = after;
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        out.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

/// Converts a value. Recursion is bounded: the reader has refused deeper texts.
fn from_json(value: &ast::Value<'_>, id: SourceId) -> TreeNode {
    let place =
        |range: jsonc_parser::common::Range| Place::new(id, Span::new(range.start, range.end));
    let read = match value {
        ast::Value::NullKeyword(_) => TreeValue::Null,
        ast::Value::BooleanLit(b) => TreeValue::Bool(b.value),
        ast::Value::NumberLit(n) => {
            let other = |_| TreeValue::Other(n.value.to_owned());
            n.value.parse().map_or_else(other, TreeValue::Whole)
        }
        ast::Value::StringLit(s) => TreeValue::Text(s.value.to_string()),
        ast::Value::Array(list) => {
            TreeValue::List(list.elements.iter().map(|v| from_json(v, id)).collect())
        }
        ast::Value::Object(object) => {
            let entry = |property: &ast::ObjectProp<'_>| {
                let (name, place) = (property.name.as_str(), place(property.name.range()));
                let name = name.to_owned();
                (TreeKey { name, place }, from_json(&property.value, id))
            };
            TreeValue::Map(object.properties.iter().map(entry).collect())
        }
    };
    TreeNode {
        place: place(value.range()),
        value: read,
    }
}

/// Reads TOML 1.0. The parser has a limit on nesting of its own, reports a key that occurs twice,
/// and goes on after errors.
pub fn toml(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Option<TreeNode> {
    let source = &sources[id];
    let (table, errors) = DeTable::parse_recoverable(source.text());
    for error in &errors {
        let span = error
            .span()
            .map_or(Span::new(0, 0), |s| within(source, s.start, s.end));
        let message = format!("this is not TOML: {}", one_line(error.message()));
        sink.push(Diagnostic::error(TOML, message).label(Place::new(id, span), "here"));
    }
    let mut left = MAX_NODES;
    let value = from_table(table.get_ref(), source, id, MAX_DEPTH, &mut left);
    if value.is_none() && errors.is_empty() {
        sink.push(too_large(id));
    }
    errors.is_empty().then_some(TreeNode {
        place: Place::new(id, Span::new(0, 0)),
        value: value?,
    })
}

fn from_table(
    table: &DeTable<'_>,
    source: &Source,
    id: SourceId,
    depth: usize,
    left: &mut usize,
) -> Option<TreeValue> {
    let place =
        |range: std::ops::Range<usize>| Place::new(id, within(source, range.start, range.end));
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let (name, place) = (key.get_ref().to_string(), place(key.span()));
        let value = from_toml(value, source, id, depth.checked_sub(1)?, left)?;
        entries.push((TreeKey { name, place }, value));
    }
    // The parser sorts by name; people wrote in another order.
    entries.sort_by_key(|(key, _)| key.place);
    Some(TreeValue::Map(entries))
}

fn from_toml(
    value: &Spanned<DeValue<'_>>,
    source: &Source,
    id: SourceId,
    depth: usize,
    left: &mut usize,
) -> Option<TreeNode> {
    *left = left.checked_sub(1)?;
    let span = value.span();
    let place = Place::new(id, within(source, span.start, span.end));
    let other = || TreeValue::Other(source.slice(place.span).to_owned());
    let read = match value.get_ref() {
        DeValue::String(text) => TreeValue::Text(text.to_string()),
        DeValue::Integer(n) => {
            i64::from_str_radix(n.as_str(), n.radix()).map_or_else(|_| other(), TreeValue::Whole)
        }
        DeValue::Float(_) | DeValue::Datetime(_) => other(),
        DeValue::Boolean(b) => TreeValue::Bool(*b),
        DeValue::Array(list) => {
            let mut nodes = Vec::with_capacity(list.len());
            for node in list.iter() {
                nodes.push(from_toml(node, source, id, depth.checked_sub(1)?, left)?);
            }
            TreeValue::List(nodes)
        }
        DeValue::Table(table) => from_table(table, source, id, depth, left)?,
    };
    Some(TreeNode { place, value: read })
}

/// Reads one document of YAML 1.2 in the core schema: no tags but those of the schema, keys are
/// scalars.
pub fn yaml(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Option<TreeNode> {
    read_yaml(sources, id, sink, false)
}

/// Reads YAML as CI systems and hook managers do: merge keys (`<<`) are replaced by what they
/// merge, a value with a tag (`!reference [a, b]`) becomes a mapping whose only key is the tag, and
/// a document of inputs (`spec:`) may come before the configuration.
pub fn yaml_merged(sources: &Sources, id: SourceId, sink: &mut Diagnostics) -> Option<TreeNode> {
    read_yaml(sources, id, sink, true)
}

fn read_yaml(
    sources: &Sources,
    id: SourceId,
    sink: &mut Diagnostics,
    merged: bool,
) -> Option<TreeNode> {
    let source = &sources[id];
    let mut reader = Yaml {
        source,
        id,
        merged,
        // Markers count characters, places count bytes.
        offsets: if source.text().is_ascii() {
            Vec::new()
        } else {
            source.text().char_indices().map(|(i, _)| i).collect()
        },
        anchors: BTreeMap::new(),
        open: Vec::new(),
        root: None,
        left: MAX_NODES,
    };
    match reader.read() {
        Ok(()) => Some(reader.root.unwrap_or(TreeNode {
            place: Place::new(id, Span::new(0, 0)),
            ..TreeNode::default()
        })),
        Err(fault) => {
            sink.push(*fault);
            None
        }
    }
}

struct Yaml<'s> {
    source: &'s Source,
    id: SourceId,
    /// Whether merge keys and tags are read.
    merged: bool,
    offsets: Vec<usize>,
    anchors: BTreeMap<usize, (TreeNode, usize)>,
    open: Vec<Open>,
    root: Option<TreeNode>,
    left: usize,
}

/// A collection that has not ended.
struct Open {
    anchor: usize,
    tag: Option<String>,
    place: Place,
    nodes: usize,
    what: Collection,
}

enum Collection {
    List(Vec<TreeNode>),
    Map {
        entries: Vec<(TreeKey, TreeNode)>,
        key: Option<TreeKey>,
        seen: BTreeMap<String, Place>,
        merges: Vec<TreeNode>,
    },
}

type SyntaxError = Box<Diagnostic>;

impl Yaml<'_> {
    fn read(&mut self) -> Result<(), SyntaxError> {
        let text = self.source.text();
        let mut documents = 0;
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|e| self.scan_error(&e))?;
            let place = self.place(span.start.index(), span.end.index());
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 && !self.is_header() {
                        return Err(self.fault(
                            place,
                            "a second document",
                            "a configuration is one document",
                        ));
                    }
                }
                Event::Alias(anchor) => {
                    let Some((node, count)) = self.anchors.get(&anchor).cloned() else {
                        return Err(self.fault(
                            place,
                            "an alias inside what it stands for",
                            "has no end",
                        ));
                    };
                    self.spend(count)?;
                    self.value(
                        TreeNode {
                            place,
                            value: node.value,
                        },
                        0,
                        count,
                    )?;
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.spend(1)?;
                    let own = self.own_tag(tag.as_deref());
                    let tag = tag.as_deref().filter(|_| own.is_none());
                    let value = self.scalar(&text, style, tag, place)?;
                    self.value(tagged(own, TreeNode { place, value }), anchor, 1)?;
                }
                Event::SequenceStart(anchor, tag) => {
                    self.begin(anchor, tag.as_ref(), place, Collection::List(Vec::new()))?;
                }
                Event::MappingStart(anchor, tag) => {
                    let map = Collection::Map {
                        entries: Vec::new(),
                        key: None,
                        seen: BTreeMap::new(),
                        merges: Vec::new(),
                    };
                    self.begin(anchor, tag.as_ref(), place, map)?;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(open) = self.open.pop() else {
                        continue;
                    };
                    let value = match open.what {
                        Collection::List(nodes) => TreeValue::List(nodes),
                        Collection::Map {
                            entries, merges, ..
                        } => TreeValue::Map(merge(entries, merges)),
                    };
                    let place = Place::new(self.id, open.place.span.to(place.span));
                    let node = tagged(open.tag, TreeNode { place, value });
                    self.value(node, open.anchor, open.nodes)?;
                }
                Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            }
        }
        Ok(())
    }

    fn begin(
        &mut self,
        anchor: usize,
        tag: Option<&Cow<'_, Tag>>,
        place: Place,
        what: Collection,
    ) -> Result<(), SyntaxError> {
        self.spend(1)?;
        let own = self.own_tag(tag.map(AsRef::as_ref));
        if tag.is_some() && !self.merged {
            return Err(self.fault(
                place,
                "a tag on a list or a mapping",
                "it says nothing to vplan",
            ));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.fault(
                place,
                &format!("nested more than {MAX_DEPTH} deep"),
                "one level too many",
            ));
        }
        self.open.push(Open {
            anchor,
            tag: own,
            place,
            nodes: 1,
            what,
        });
        Ok(())
    }

    /// A tag of the application, as it is written; `None` without one, and where tags are refused.
    fn own_tag(&self, tag: Option<&Tag>) -> Option<String> {
        let tag = tag.filter(|tag| self.merged && tag.handle != "tag:yaml.org,2002:")?;
        Some(format!("!{}", tag.suffix))
    }

    /// Whether the document that was read is the header of the next one.
    fn is_header(&self) -> bool {
        self.merged
            && self
                .root
                .as_ref()
                .is_some_and(|root| root.entries().len() == 1 && root.get("spec").is_some())
    }

    fn spend(&mut self, nodes: usize) -> Result<(), SyntaxError> {
        self.left = self
            .left
            .checked_sub(nodes)
            .ok_or_else(|| Box::new(too_large(self.id)))?;
        Ok(())
    }

    /// Puts a value where it belongs.
    fn value(&mut self, node: TreeNode, anchor: usize, count: usize) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), count));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.nodes += count;
        match &mut open.what {
            Collection::List(nodes) => nodes.push(node),
            Collection::Map {
                entries,
                key,
                seen,
                merges,
            } => match key.take() {
                Some(key) if self.merged && key.name == "<<" => merges.push(node),
                Some(key) => entries.push((key, node)),
                None => {
                    let name = match &node.value {
                        TreeValue::Text(text) => text.clone(),
                        TreeValue::Whole(_)
                        | TreeValue::Other(_)
                        | TreeValue::Bool(_)
                        | TreeValue::Null => self.source.slice(node.place.span).to_owned(),
                        TreeValue::List(_) | TreeValue::Map(_) => {
                            return Err(self.fault(
                                node.place,
                                "a key that is no scalar",
                                "a key is one word",
                            ));
                        }
                    };
                    if name == "<<" && !self.merged {
                        return Err(self.fault(
                            node.place,
                            "a merge key",
                            "YAML 1.2 has none: write the keys out",
                        ));
                    }
                    // A mapping may merge several others, one after the other.
                    let first = seen.insert(name.clone(), node.place);
                    if let Some(first) = first.filter(|_| name != "<<") {
                        let message = format!("`{}` stands twice", visible(&name));
                        let error = Diagnostic::error(DUPLICATE_KEY, message)
                            .label(node.place, "again here");
                        return Err(Box::new(
                            error
                                .label(first, "first here")
                                .help("write all of it under one key"),
                        ));
                    }
                    *key = Some(TreeKey {
                        name,
                        place: node.place,
                    });
                }
            },
        }
        Ok(())
    }

    /// Reads a scalar by the core schema of YAML 1.2 (section 10.3).
    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        place: Place,
    ) -> Result<TreeValue, SyntaxError> {
        if let Some(tag) = tag {
            return if tag.suffix == "str" && tag.handle == "tag:yaml.org,2002:" {
                Ok(TreeValue::Text(text.to_owned()))
            } else {
                Err(self.fault(place, "a tag", "it says nothing to vplan"))
            };
        }
        if style != ScalarStyle::Plain {
            return Ok(TreeValue::Text(text.to_owned()));
        }
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let radix = |prefix: &str, radix| {
            text.strip_prefix(prefix)
                .and_then(|t| i64::from_str_radix(t, radix).ok())
        };
        let other = || TreeValue::Other(text.to_owned());
        Ok(match text {
            "" | "~" | "null" | "Null" | "NULL" => TreeValue::Null,
            "true" | "True" | "TRUE" => TreeValue::Bool(true),
            "false" | "False" | "FALSE" => TreeValue::Bool(false),
            ".inf" | "-.inf" | "+.inf" | ".nan" => other(),
            _ if digits(unsigned) => text.parse().map_or_else(|_| other(), TreeValue::Whole),
            _ if unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                && unsigned.contains(|c: char| c.is_ascii_digit())
                && unsigned.parse::<f64>().is_ok() =>
            {
                other()
            }
            _ => match radix("0x", 16).or(radix("0o", 8)) {
                Some(number) => TreeValue::Whole(number),
                None => TreeValue::Text(text.to_owned()),
            },
        })
    }

    fn scan_error(&self, error: &ScanError) -> SyntaxError {
        let at = error.marker().index();
        self.fault(
            self.place(at, at),
            &format!("this is not YAML: {}", one_line(error.info())),
            "here",
        )
    }

    fn fault(&self, place: Place, message: &str, label: &str) -> SyntaxError {
        Box::new(Diagnostic::error(YAML, message).label(place, label))
    }

    fn place(&self, start: usize, end: usize) -> Place {
        let byte = |index: usize| {
            if self.offsets.is_empty() {
                index
            } else {
                self.offsets.get(index).copied().unwrap_or(usize::MAX)
            }
        };
        Place::new(self.id, within(self.source, byte(start), byte(end)))
    }
}

/// Adds what merge keys merge: a key of the mapping itself wins, then a later merge key, and of a
/// list the earlier mapping.
fn merge(own: Vec<(TreeKey, TreeNode)>, merges: Vec<TreeNode>) -> Vec<(TreeKey, TreeNode)> {
    if merges.is_empty() {
        return own;
    }
    let mut taken: BTreeSet<String> = own.iter().map(|(key, _)| key.name.clone()).collect();
    let mut all = own;
    for node in merges.into_iter().rev() {
        let maps = match node.value {
            TreeValue::List(nodes) => nodes,
            value => vec![TreeNode { value, ..node }],
        };
        for map in maps {
            let TreeValue::Map(entries) = map.value else {
                continue;
            };
            for (key, value) in entries {
                if taken.insert(key.name.clone()) {
                    all.push((key, value));
                }
            }
        }
    }
    all
}

/// Wraps a value that has a tag of the application.
fn tagged(tag: Option<String>, node: TreeNode) -> TreeNode {
    let Some(name) = tag else { return node };
    let place = node.place;
    TreeNode {
        place,
        value: TreeValue::Map(vec![(TreeKey { name, place }, node)]),
    }
}

fn too_large(id: SourceId) -> Diagnostic {
    let message = format!(
        "the file comes to more than {MAX_NODES} values, or nests more than {MAX_DEPTH} deep"
    );
    Diagnostic::error(TOO_LARGE, message).label(Place::new(id, Span::new(0, 0)), "in this file")
}

/// Turns a parser's message into one of vplan's.
fn one_line(message: &str) -> String {
    message.trim_end_matches('.').replace('\n', ", ")
}

/// Returns a span inside the text, on the boundaries of characters.
fn within(source: &Source, start: usize, end: usize) -> Span {
    let text = source.text();
    let floor = |mut i: usize| {
        i = i.min(text.len());
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    Span::new(floor(start), floor(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::diagnostic::Code;

    fn describe(node: &TreeNode) -> String {
        match &node.value {
            TreeValue::Null => "~".to_owned(),
            TreeValue::Bool(value) => value.to_string(),
            TreeValue::Whole(value) => value.to_string(),
            TreeValue::Other(_) => "number".to_owned(),
            TreeValue::Text(text) => text.clone(),
            TreeValue::List(nodes) => {
                let all: Vec<String> = nodes.iter().map(describe).collect();
                format!("[{}]", all.join(" "))
            }
            TreeValue::Map(entries) => {
                let all: Vec<String> = entries
                    .iter()
                    .map(|(key, node)| format!("{}:{}", key.name, describe(node)))
                    .collect();
                format!("{{{}}}", all.join(" "))
            }
        }
    }

    fn read(text: &str, merged: bool) -> Result<String, Code> {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("a.yml", text));
        let mut sink = Diagnostics::default();
        let node = if merged {
            yaml_merged(&sources, id, &mut sink)
        } else {
            yaml(&sources, id, &mut sink)
        };
        let error = sink.iter().next().map(|d| d.code);
        node.map(|node| describe(&node))
            .ok_or(error.unwrap_or(YAML))
    }

    #[test]
    fn merge_keys_and_tags_are_read_only_where_they_are_asked_for() {
        for (text, want) in [
            (
                "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3",
                "{a:{x:1 y:2} b:{y:3 x:1}}",
            ),
            ("b:\n  y: 3\n  <<: {y: 1, z: 2}", "{b:{y:3 z:2}}"),
            ("<<: [{x: 1}, {x: 2, y: 2}]", "{x:1 y:2}"),
            ("<<: {x: 1}\n<<: {x: 2}", "{x:2}"),
            ("<<: 3\na: 1", "{a:1}"),
            ("a: !reference [b, c]", "{a:{!reference:[b c]}}"),
            ("- !reference [b]\n- d", "[{!reference:[b]} d]"),
            ("a: !x y", "{a:{!x:y}}"),
            ("a: !x {y: 1}", "{a:{!x:{y:1}}}"),
            ("spec: {inputs: {a: ~}}\n---\njob: x", "{job:x}"),
        ] {
            assert_eq!(read(text, true).as_deref(), Ok(want), "{text}");
            assert!(read(text, false).is_err(), "{text}");
        }
        for text in ["a: 1\n---\nb: 1", "a: 1\na: 2", "a: &a [*a]"] {
            assert!(read(text, true).is_err(), "{text}");
        }
        assert_eq!(read("a: !!str 1", false).as_deref(), Ok("{a:1}"));
    }

    #[test]
    fn aliases_do_not_let_a_file_grow() {
        let mut text = "a0: &a0 {k: v}\n".to_owned();
        for n in 1..40 {
            let before = n - 1;
            text.push_str(&format!(
                "a{n}: &a{n} [*a{before}, *a{before}, *a{before}]\n"
            ));
        }
        assert_eq!(read(&text, true), Err(TOO_LARGE));
        let mut text = "a0: &a0 {k0: v}\n".to_owned();
        for n in 1..40 {
            let before = n - 1;
            text.push_str(&format!(
                "a{n}: &a{n}\n  <<: *a{before}\n  x{n}: *a{before}\n"
            ));
        }
        assert_eq!(read(&text, true), Err(TOO_LARGE));
    }
}
