//! Whether a plan that was read is one that vplan writes.

use super::Plan;
use super::canonical::FIRST;
use super::canonical::VERSION;
use super::digest::digest;
use super::error::{self, PlanError, TAMPERED};
use super::soundness::{Unfit, sound};
use vplan_base::word::visible;
/// Whether plans of this version are read.
pub(crate) fn is_known(version: impl Into<i128>) -> bool {
    (i128::from(FIRST)..=i128::from(VERSION)).contains(&version.into())
}

/// Returns the error for a plan that another vplan wrote.
pub(crate) fn other_version(version: &str) -> PlanError {
    let newer = version.parse::<u64>().is_ok_and(|v| v > u64::from(VERSION));
    let message = format!("this plan has version {version}, known are {FIRST} and {VERSION}");
    let help = if newer {
        "it was written by a newer vplan: read it with that one"
    } else {
        "make the plan again"
    };
    PlanError::new(error::VERSION, message, Some(help.to_owned()))
}

/// Checks a plan from any source: it has the digest that it contains, and may be run.
///
/// # Errors
/// The violated rule, and its step.
pub(crate) fn checked(plan: &Plan) -> Result<(), Unfit> {
    let actual = digest(plan);
    let of_digest = |message: String, help: Option<&str>| {
        let help = help.map(str::to_owned);
        Err(Unfit {
            code: TAMPERED,
            message,
            help,
            step: None,
            field: Some("digest"),
        })
    };
    match &plan.digest {
        Some(said) if *said == actual => {}
        Some(said) => {
            let help =
                "it was changed after it was made; make it again from its contract and request";
            let message = format!("the plan says its digest is {said}, but it is {actual}");
            return of_digest(message, Some(help));
        }
        None => return of_digest("the plan has no digest".to_owned(), None),
    }
    sound(plan)
}

/// Any JSON in which no object has a name twice.
pub(crate) struct Once;

impl<'de> serde::Deserialize<'de> for Once {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Once)
    }
}

impl<'de> serde::de::Visitor<'de> for Once {
    type Value = Once;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_str<E>(self, _: &str) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Once, A::Error> {
        while list.next_element::<Once>()?.is_some() {}
        Ok(Once)
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Once, A::Error> {
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if seen.contains(&name) {
                let message = format!("`{}` is here twice", visible(&name));
                return Err(serde::de::Error::custom(message));
            }
            seen.insert(name);
            map.next_value::<Once>()?;
        }
        Ok(Once)
    }
}
