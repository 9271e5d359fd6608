//! Makes the schema of a document from the types that are serialised.

use super::documents::{Direction, Kind};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{Schema, json_schema};
use serde_json::Value;

/// The schema of a kind of document.
pub(super) fn schema(kind: &Kind) -> Schema {
    let settings = SchemaSettings::draft2020_12();
    let settings = match kind.direction {
        Direction::Read => settings.for_deserialize(),
        Direction::Written => settings.for_serialize(),
    };
    let mut generator = settings.into_generator();
    let mut schema = match kind.shapes {
        [one] => one(&mut generator),
        several => {
            let parts = several.iter().map(|shape| part(shape(&mut generator)));
            let any: Vec<Value> = parts.collect();
            json_schema!({"$schema": "https://json-schema.org/draft/2020-12/schema", "anyOf": any})
        }
    };
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    if kind.direction == Direction::Written {
        RecursiveTransform(lenient).transform(&mut schema);
    }
    RecursiveTransform(plain).transform(&mut schema);
    let version = match kind.name {
        "plan" => vplan_plan::canonical::VERSION,
        _ => 1,
    };
    let id = format!("urn:vplan:schema:{}:{version}", kind.name);
    schema.insert("$id".to_owned(), id.into());
    schema.insert("title".to_owned(), format!("vplan {}", kind.name).into());
    schema.insert("description".to_owned(), kind.about.into());
    schema
}

/// A schema as a part of another one.
fn part(mut schema: Schema) -> Value {
    for key in ["$schema", "$defs", "title"] {
        schema.remove(key);
    }
    schema.to_value()
}

/// Types that vplan reads again reject unknown keys; other readers should accept them. Optional
/// values are omitted, never null.
fn lenient(schema: &mut Schema) {
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.remove("additionalProperties");
    }
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(name);
    let required: Vec<String> = required.collect();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let optional = properties.iter_mut();
    let optional = optional.filter(|(name, _)| !required.contains(name));
    optional.for_each(|(_, property)| not_null(property));
}

fn name(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn not_null(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(any)) = object.get_mut("anyOf") {
        any.retain(|s| s.get("type").is_none_or(|t| t != "null"));
        // A reference next to a description is equivalent to one inside `anyOf`.
        if let [Value::Object(one)] = any.as_slice() {
            let one = one.clone();
            object.remove("anyOf");
            one.into_iter().for_each(|(key, value)| {
                object.entry(key).or_insert(value);
            });
        }
    }
}

/// A version is the same everywhere; descriptions are made of docstrings: what only their tool
/// understands is taken out.
fn plain(schema: &mut Schema) {
    if schema.get("const").is_some_and(|v| *v == 1) {
        let description = "The version of this shape.".into();
        schema.insert("description".to_owned(), description);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let plain = text.replace("[`", "`").replace("`]", "`");
        let words: Vec<&str> = plain.split_whitespace().collect();
        *text = words.join(" ");
    }
}
