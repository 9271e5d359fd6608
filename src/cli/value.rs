//! Values of flags that several modules share.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Reads a length of time. Returns its milliseconds.
pub(super) fn duration(text: &str) -> Result<u64, &'static str> {
    vplan_base::unit::parse_duration(text).map_err(|_| "expected a duration such as `10m`")
}

/// Words that a flag takes: each with its line of help and its meaning.
pub(super) type Words<T> = [(&'static str, &'static str, T)];

/// Reads one of these words.
pub(super) fn one_of<T>(words: &'static Words<T>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let value = |(word, help, _): &(_, _, T)| PossibleValue::new(*word).help(*help);
    let known = words.iter().map(value);
    PossibleValuesParser::new(known).try_map(|word| {
        let found = words.iter().find(|(known, ..)| *known == word);
        found
            .map(|(.., meaning)| meaning.clone())
            .ok_or("no such word")
    })
}
