//! What judges and proposers answer.

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use vplan::check::judge::{JudgeAnswer, Ruling};
use vplan::plan::proposal::{MAX_COMMANDS, ProposalAnswer as Proposed};

/// Any bytes as an answer: what is not exactly of its form is none; what is accepted says what its
/// JSON says, and is written again to the same.
pub fn answers(bytes: &[u8]) {
    // A value, read without any idea of what it should be. A key that stands twice is seen by none
    // but the reader.
    let value = serde_json::from_slice::<Value>(bytes).ok();
    let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).map(str::to_owned);
    let only = |v: &Value, keys: &[&str]| {
        v.as_object()
            .is_some_and(|o| o.keys().all(|k| keys.contains(&k.as_str())))
    };
    let is_first = |v: &Value| {
        v.get("version")
            .is_none_or(|n| n.is_null() || n.as_u64() == Some(1))
    };
    match JudgeAnswer::read(bytes) {
        Ok(answer) => {
            let value = value.as_ref().expect("JSON");
            assert!(
                only(value, &["reasoning", "verdict", "version"]) && is_first(value),
                "{value}"
            );
            assert_eq!(
                text(value, "reasoning").as_deref(),
                Some(answer.reasoning.as_str())
            );
            let verdict = if answer.verdict == Ruling::Pass {
                "pass"
            } else {
                "fail"
            };
            assert_eq!(text(value, "verdict").as_deref(), Some(verdict));
            assert!(!answer.reasoning.trim().is_empty());
            assert_eq!(
                JudgeAnswer::read(&serde_json::to_vec(&answer).unwrap()).as_ref(),
                Ok(&answer)
            );
        }
        Err(bad) => {
            one_line(&bad.0);
            let fine = value
                .as_ref()
                .filter(|v| only(v, &["reasoning", "verdict", "version"]) && is_first(v));
            let fine = fine.filter(|v| text(v, "reasoning").is_some_and(|r| !r.trim().is_empty()));
            let fine =
                fine.filter(|v| matches!(text(v, "verdict").as_deref(), Some("pass" | "fail")));
            assert!(
                fine.is_none() || stands_twice(bytes),
                "refused: {fine:?}: {}",
                bad.0
            );
        }
    }
    match Proposed::read(bytes) {
        Ok(answer) => {
            assert!(answer.commands.len() <= MAX_COMMANDS);
            assert_eq!(
                Proposed::read(answer.text().as_bytes()).as_ref(),
                Ok(&answer),
                "{}",
                answer.text()
            );
            let value = value.as_ref().expect("JSON");
            assert!(
                only(value, &["commands", "version"]) || value.is_array(),
                "{value}"
            );
            let listed = value
                .get("commands")
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            assert!(
                !value.is_object() || listed == answer.commands.len(),
                "{value}"
            );
            assert!(value.is_object(), "an answer is one object: {value}");
        }
        Err(bad) => one_line(&bad.0),
    }
}

/// Whether a key of an object stands in it twice: a value has the last one, the reader looks at
/// both.
fn stands_twice(bytes: &[u8]) -> bool {
    struct Keys(Vec<String>);
    impl<'de> Visitor<'de> for Keys {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Vec<String>, A::Error> {
            while let Some((key, IgnoredAny)) = map.next_entry()? {
                self.0.push(key);
            }
            Ok(self.0)
        }
    }
    let mut keys = serde_json::Deserializer::from_slice(bytes)
        .deserialize_map(Keys(Vec::new()))
        .unwrap_or_default();
    keys.sort();
    keys.windows(2).any(|two| two[0] == two[1])
}

fn one_line(text: &str) {
    assert!(
        !text.contains('\n') && !text.chars().any(vplan::base::word::is_unsafe_to_show),
        "{text:?}"
    );
}
