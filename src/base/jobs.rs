//! How many steps run in parallel: a number, or up to the number of processors, for steps that are
//! known not to conflict.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// How many steps run in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// So many, at least 1.
    Number(u32),
    /// As many as there are processors, for steps whose observed effects do not conflict. The plan
    /// does not contain the number of processors.
    Auto,
}

impl Jobs {
    /// One after another.
    pub const ONE: Jobs = Jobs::Number(1);
    /// Limit of [`Jobs::Number`].
    pub const MOST: u32 = 256;
    /// The word for [`Jobs::Auto`].
    pub const AUTO: &'static str = "auto";

    /// Returns it with a number that is not 0.
    pub fn at_least_one(self) -> Self {
        match self {
            Jobs::Number(number) => Jobs::Number(number.max(1)),
            Jobs::Auto => Jobs::Auto,
        }
    }

    /// Returns the maximum number of parallel steps on a machine with that many processors.
    pub fn most(self, processors: usize) -> usize {
        let number = match self {
            Jobs::Number(number) => usize::try_from(number).unwrap_or(usize::MAX),
            Jobs::Auto => processors,
        };
        number.max(1)
    }
}

impl From<u32> for Jobs {
    fn from(number: u32) -> Self {
        Jobs::Number(number)
    }
}

impl fmt::Display for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Jobs::Number(number) => number.fmt(f),
            Jobs::Auto => f.write_str(Self::AUTO),
        }
    }
}

impl Serialize for Jobs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Jobs::Number(number) => serializer.serialize_u32(*number),
            Jobs::Auto => serializer.serialize_str(Self::AUTO),
        }
    }
}

impl<'de> Deserialize<'de> for Jobs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl Visitor<'_> for Reader {
            type Value = Jobs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or `auto`")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Jobs, E> {
                let small = u32::try_from(number);
                small
                    .map(Jobs::Number)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Jobs, E> {
                match word {
                    Jobs::AUTO => Ok(Jobs::Auto),
                    _ => Err(E::invalid_type(Unexpected::Str(word), &self)),
                }
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl JsonSchema for Jobs {
    fn schema_name() -> Cow<'static, str> {
        "Jobs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"format": "uint32", "minimum": 0, "type": "integer"},
                {"const": Self::AUTO, "type": "string"},
            ],
            "description": "A number of steps, or `auto`: as many as the machine has processors, where what they do does not meet.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_word() {
        for (text, jobs) in [
            ("1", Some(Jobs::ONE)),
            ("256", Some(Jobs::Number(256))),
            ("\"auto\"", Some(Jobs::Auto)),
            ("\"autos\"", None),
            ("\"1\"", None),
            ("-1", None),
            ("4294967296", None),
            ("null", None),
        ] {
            let read = serde_json::from_str::<Jobs>(text);
            assert_eq!(read.as_ref().ok(), jobs.as_ref(), "{text}");
            if let Some(jobs) = jobs {
                assert_eq!(serde_json::to_string(&jobs).unwrap(), text);
                assert_eq!(jobs.to_string(), text.trim_matches('"'));
            }
        }
    }

    #[test]
    fn the_most_at_once() {
        assert_eq!((Jobs::Number(3).most(8), Jobs::Auto.most(8)), (3, 8));
        assert_eq!((Jobs::Number(0).most(8), Jobs::Auto.most(0)), (1, 1));
    }
}
