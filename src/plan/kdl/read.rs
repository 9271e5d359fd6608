//! Reads a plan from KDL. The types of the plan decide how each node is read, and every error has
//! its place.

use super::super::Plan;
use super::super::error::{CONFLICT, DOCUMENT, DocumentError, PlanError, SYNTAX};
use super::super::validity::{checked, is_known, other_version};
use super::text::{KdlNode, KdlValue, NodeEntry, parse};
use super::write::LIST;
use serde::Deserialize as _;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use std::collections::BTreeSet;
use std::fmt::Display;
use vplan_base::span::Span;
use vplan_base::word::visible;

/// Reads a plan and nothing else: `document` checks whether it is sound and has its digest.
fn plan(text: &str) -> Result<(Plan, Vec<KdlNode>), DocumentError> {
    let nodes = parse(text).map_err(|found| {
        let (code, help) = match found.conflict {
            true => (
                CONFLICT,
                Some("settle the conflict, or make the plan again"),
            ),
            false => (SYNTAX, None),
        };
        let help = help.map(str::to_owned);
        PlanError::new(code, found.message, help).at(found.span)
    })?;
    let version = find(&nodes, "version").and_then(|node| node.entries.first());
    match version.map(|entry| (entry, &entry.value)) {
        Some((_, KdlValue::Integer(version))) if is_known(*version) => {}
        Some((entry, KdlValue::Integer(version))) => {
            return Err(other_version(&version.to_string()).at(entry.span()));
        }
        _ => {
            let message = "this is no plan: it does not say its version";
            let help = Some("`vplan plan -o FILE` writes one".to_owned());
            return Err(PlanError::new(DOCUMENT, message, help).into());
        }
    }
    match Plan::deserialize(Reader(TextPart::Document(&nodes))) {
        Ok(plan) => Ok((plan, nodes)),
        Err(fault) => {
            let error = PlanError::new(DOCUMENT, fault.message, fault.help);
            Err(error.at(fault.span))
        }
    }
}

fn find<'n>(nodes: &'n [KdlNode], name: &str) -> Option<&'n KdlNode> {
    nodes.iter().find(|n| n.name.text == name)
}

fn children(node: &KdlNode) -> &[KdlNode] {
    node.children.as_deref().unwrap_or_default()
}

/// Reads a plan that `to_kdl` wrote, with any comments that were added, and checks it as `document`
/// does.
///
/// # Errors
/// The text is no KDL, no plan, of another version, changed since it was made, or not to be run;
/// each with its place.
pub fn from_kdl(text: &str) -> Result<Plan, DocumentError> {
    let (plan, nodes) = plan(text)?;
    let Err(unfit) = checked(&plan) else {
        return Ok(plan);
    };
    let found = match (unfit.step, unfit.field) {
        (Some(index), field) => {
            let steps = find(&nodes, "steps").map(children).unwrap_or_default();
            steps.get(index).map(|step| {
                let field = field.and_then(|field| find(children(step), field).cloned());
                field.unwrap_or_else(|| step.clone())
            })
        }
        (None, Some(field)) => find(&nodes, field).cloned(),
        (None, None) => None,
    };
    let span = found.map(|node| Reader(TextPart::Node(&node)).span());
    Err(PlanError::from(unfit).at(span))
}

/// An error in a node.
#[derive(Debug)]
struct NodeError {
    message: String,
    help: Option<String>,
    span: Option<Span>,
}

impl NodeError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
            span: None,
        }
    }

    /// Sets the place, unless one further inside is known already.
    fn at(mut self, span: Span) -> Self {
        self.span = self.span.or(Some(span));
        self
    }
}

impl Display for NodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NodeError {}

impl de::Error for NodeError {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(visible(message.to_string()))
    }

    fn invalid_type(found: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::new(format!("a value of another kind is expected than {found}"))
    }

    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self::new("another number of values is expected")
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self {
            help: nearest(field, known),
            ..Self::new(format!("`{}` has no place here", visible(field)))
        }
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        let variant_shown = visible(variant);
        let message = format!("`{variant_shown}` is none of the words that can stand here");
        Self {
            help: nearest(variant, known),
            ..Self::new(message)
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("`{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("`{field}` is here twice"))
    }
}

fn nearest(given: &str, known: &[&str]) -> Option<String> {
    let near = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(given, k), *k));
    match near.min() {
        Some((distance, name)) if distance <= 2 => Some(format!("did you mean `{name}`?")),
        _ if known.is_empty() => None,
        _ => Some(format!("known are `{}`", known.join("`, `"))),
    }
}

/// The part of the text that is read.
#[derive(Clone, Copy)]
enum TextPart<'a> {
    Document(&'a [KdlNode]),
    Node(&'a KdlNode),
    Entry(&'a NodeEntry),
}

/// Deserializes one place as the requested type.
#[derive(Clone, Copy)]
struct Reader<'a>(TextPart<'a>);

impl<'a> Reader<'a> {
    fn span(self) -> Span {
        match self.0 {
            TextPart::Document(_) => Span::default(),
            // The name is enough to find it; the whole node may go over hundreds of lines.
            TextPart::Node(node) => match node.entries.as_slice() {
                [entry] if node.children.is_none() => entry.span(),
                _ => node.name.span,
            },
            TextPart::Entry(entry) => entry.span(),
        }
    }

    fn fault(self, message: impl Into<String>) -> NodeError {
        NodeError::new(message).at(self.span())
    }

    fn out_of_range(self, number: i128) -> NodeError {
        self.fault(format!(
            "the number {number} is too large or too small here"
        ))
    }

    /// Gives an error without a place this one.
    fn placed<T>(self, read: Result<T, NodeError>) -> Result<T, NodeError> {
        read.map_err(|error| error.at(self.span()))
    }

    /// Returns the only value of this place.
    fn scalar(self, wanted: &str) -> Result<&'a KdlValue, NodeError> {
        let entry = match self.0 {
            TextPart::Entry(entry) => entry,
            TextPart::Node(node) => match node.entries.as_slice() {
                [entry]
                    if entry.name.is_none() && node.children.is_none() && node.mark.is_none() =>
                {
                    entry
                }
                _ => return Err(self.fault(format!("{wanted} is expected here, and nothing else"))),
            },
            TextPart::Document(_) => return Err(self.fault(format!("{wanted} is expected"))),
        };
        match &entry.mark {
            Some(ty) => Err(NodeError::new("a value has no mark in a plan").at(ty.span)),
            None => Ok(&entry.value),
        }
    }

    fn integer<T: TryFrom<i128>>(self) -> Result<T, NodeError> {
        const WANTED: &str = "a whole number";
        match self.scalar(WANTED)? {
            KdlValue::Integer(number) => {
                T::try_from(*number).map_err(|_| self.out_of_range(*number))
            }
            _ => Err(self.fault(format!("{WANTED} is expected here"))),
        }
    }

    fn text(self) -> Result<&'a str, NodeError> {
        const WANTED: &str = "a text";
        match self.scalar(WANTED)? {
            KdlValue::Text(text) | KdlValue::Bare(text) => Ok(text),
            _ => Err(self.fault(format!("{WANTED} in quotes is expected here"))),
        }
    }

    fn is_marked(self) -> Result<bool, NodeError> {
        match self.0 {
            TextPart::Node(node) => match &node.mark {
                Some(ty) if ty.text == LIST => Ok(true),
                Some(ty) => {
                    let message = format!("`({})` is no mark of a plan", visible(&ty.text));
                    Err(NodeError::new(message).at(ty.span))
                }
                None => Ok(false),
            },
            TextPart::Document(_) | TextPart::Entry(_) => Ok(false),
        }
    }

    fn items(self) -> Result<Vec<Reader<'a>>, NodeError> {
        let TextPart::Node(node) = self.0 else {
            return Err(self.fault("a list is expected here"));
        };
        self.is_marked()?;
        if let Some(property) = node.entries.iter().find(|e| e.name.is_some()) {
            return Err(NodeError::new("a list is expected here, not a field").at(property.span()));
        }
        let words = node.entries.iter().map(|e| Reader(TextPart::Entry(e)));
        let Some(children) = &node.children else {
            return Ok(words.collect());
        };
        if let Some(other) = children.iter().find(|n| n.name.text != "-") {
            return Err(NodeError::new("an item of a list begins with `-`").at(other.name.span));
        }
        if !node.entries.is_empty() {
            return Err(self.fault("the items of a list stand either behind its name or below it"));
        }
        Ok(children.iter().map(|n| Reader(TextPart::Node(n))).collect())
    }

    fn fields(self) -> Result<Vec<(&'a str, Span, Reader<'a>)>, NodeError> {
        let mut fields = Vec::new();
        let children = match self.0 {
            TextPart::Document(document) => Some(document),
            TextPart::Node(node) => {
                if let Some(ty) = &node.mark {
                    return Err(NodeError::new("no list is expected here").at(ty.span));
                }
                for entry in &node.entries {
                    let Some(name) = &entry.name else {
                        let message = "a field is expected here, with its name";
                        return Err(NodeError::new(message).at(entry.span()));
                    };
                    let value = Reader(TextPart::Entry(entry));
                    fields.push((name.text.as_str(), name.span, value));
                }
                if node.entries.is_empty() && node.children.is_none() {
                    return Err(self.fault("fields are expected here"));
                }
                node.children.as_deref()
            }
            TextPart::Entry(_) => return Err(self.fault("fields are expected here, not a word")),
        };
        for node in children.unwrap_or_default() {
            let value = Reader(TextPart::Node(node));
            fields.push((node.name.text.as_str(), node.name.span, value));
        }
        let mut seen = BTreeSet::new();
        match fields.iter().find(|(name, ..)| !seen.insert(*name)) {
            Some((name, at, _)) => {
                Err(NodeError::new(format!("`{}` is here twice", visible(name))).at(*at))
            }
            None => Ok(fields),
        }
    }

    /// Whether this is a list, where its type leaves that open.
    fn is_list(self) -> Result<bool, NodeError> {
        let TextPart::Node(node) = self.0 else {
            return Ok(false);
        };
        let arguments = node.entries.iter().filter(|e| e.name.is_none()).count();
        let first = node.children.as_ref().and_then(|children| children.first());
        let dashes = || first.is_some_and(|first| first.name.text == "-");
        Ok(self.is_marked()? || arguments > 1 || dashes())
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ty;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
            let number: $type = self.integer()?;
               self.placed(visitor.$visit(number))
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = NodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        if self.is_list()? {
            return self.deserialize_seq(visitor);
        }
        let is_alone = match self.0 {
            TextPart::Entry(_) => true,
            TextPart::Node(node) => {
                let is_value = matches!(node.entries.as_slice(), [e] if e.name.is_none());
                node.children.is_none() && is_value
            }
            TextPart::Document(_) => false,
        };
        if !is_alone {
            return self.deserialize_map(visitor);
        }
        let read = match self.scalar("a value")? {
            KdlValue::Text(text) | KdlValue::Bare(text) => visitor.visit_str(text),
            KdlValue::Integer(number) => match i64::try_from(*number) {
                Ok(number) if number < 0 => visitor.visit_i64(number),
                Ok(number) => visitor.visit_u64(number.unsigned_abs()),
                Err(_) => {
                    return Err(self.out_of_range(*number));
                }
            },
            KdlValue::Bool(yes) => visitor.visit_bool(*yes),
            KdlValue::Null => return Err(self.fault("a plan has no such value")),
        };
        self.placed(read)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        match self.scalar("`#true` or `#false`")? {
            KdlValue::Bool(yes) => visitor.visit_bool(*yes),
            _ => Err(self.fault("`#true` or `#false` is expected here")),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8; deserialize_i16 visit_i16 i16; deserialize_i32 visit_i32 i32; deserialize_i64 visit_i64 i64;
        deserialize_u8 visit_u8 u8; deserialize_u16 visit_u16 u16; deserialize_u32 visit_u32 u32; deserialize_u64 visit_u64 u64;
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        self.placed(visitor.visit_str(self.text()?))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, NodeError> {
        self.placed(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        let items = Items(self.items()?.into_iter());
        self.placed(visitor.visit_seq(items))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        let fields = Fields {
            rest: self.fields()?.into_iter(),
            value: None,
        };
        self.placed(visitor.visit_map(fields))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NodeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NodeError> {
        let variant = match self.0 {
            TextPart::Node(node)
                if node.children.is_some() || node.entries.iter().any(|e| e.name.is_some()) =>
            {
                match self.fields()?.as_slice() {
                    [(name, at, value)] => Variant {
                        name,
                        at: *at,
                        value: Some(*value),
                    },
                    _ => return Err(self.fault("exactly one field is expected here")),
                }
            }
            _ => Variant {
                name: self.text()?,
                at: self.span(),
                value: None,
            },
        };
        self.placed(visitor.visit_enum(variant))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NodeError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct i128 u128 }
}

struct Items<'a>(std::vec::IntoIter<Reader<'a>>);

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = NodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, NodeError> {
        let read = |reader: Reader<'de>| reader.placed(seed.deserialize(reader));
        self.0.next().map(read).transpose()
    }
}

struct Fields<'a> {
    rest: std::vec::IntoIter<(&'a str, Span, Reader<'a>)>,
    value: Option<Reader<'a>>,
}

impl<'de> de::MapAccess<'de> for Fields<'de> {
    type Error = NodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, NodeError> {
        let Some((name, at, value)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(name.into_deserializer())
            .map(Some)
            .map_err(|e: NodeError| e.at(at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, NodeError> {
        let reader = self.value.take();
        let reader = reader.ok_or_else(|| NodeError::new("a value is missing"))?;
        reader.placed(seed.deserialize(reader))
    }
}

struct Variant<'a> {
    name: &'a str,
    at: Span,
    value: Option<Reader<'a>>,
}

impl<'de> de::EnumAccess<'de> for Variant<'de> {
    type Error = NodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), NodeError> {
        let name: de::value::StrDeserializer<'_, NodeError> = self.name.into_deserializer();
        Ok((seed.deserialize(name).map_err(|e| e.at(self.at))?, self))
    }
}

impl<'de> Variant<'de> {
    fn value(self) -> Result<Reader<'de>, NodeError> {
        let missing = format!("`{}` needs a value", visible(self.name));
        self.value
            .ok_or_else(|| NodeError::new(missing).at(self.at))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'de> {
    type Error = NodeError;

    fn unit_variant(self) -> Result<(), NodeError> {
        match self.value {
            Some(_) => {
                Err(NodeError::new(format!("`{}` has no value", visible(self.name))).at(self.at))
            }
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, NodeError> {
        seed.deserialize(self.value()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, NodeError> {
        self.value()?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NodeError> {
        self.value()?.deserialize_map(visitor)
    }
}
