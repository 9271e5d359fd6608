//! Parses and prints durations (`1m30s`) and sizes (`2MiB`): the productions DURATION and SIZE of
//! src/lang/grammar.md, "Grammar".

use nom::Parser as _;
use nom::bytes::complete::take_till;
use nom::character::complete::digit1;
use nom::combinator::all_consuming;
use nom::multi::many1;

/// The reason why a duration or a size could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// The number before the unit is missing.
    Number,
    /// The number has no unit.
    NoUnit,
    /// The unit is unknown.
    UnknownUnit,
    /// The parts of a duration are not in the order of their units, or one is as long as one of the
    /// next larger unit.
    Parts,
    /// The value is zero; durations and sizes are positive.
    Zero,
    /// The value does not fit below 2^53.
    Overflow,
}

/// The greatest integer that JSON readers represent exactly (RFC 8259 section 6): 2^53 - 1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

const DURATIONS: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
const SIZES: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// Reads a number and its unit. Returns the value and how much one of that unit is.
fn parse(number: &str, unit: &str, units: &[(&str, u64)]) -> Result<(u64, u64), UnitError> {
    if number.is_empty() {
        return Err(UnitError::Number);
    }
    if unit.is_empty() {
        return Err(UnitError::NoUnit);
    }
    let known = units.iter().find(|(name, _)| *name == unit);
    let (_, factor) = known.ok_or(UnitError::UnknownUnit)?;
    let number: u64 = number.parse().map_err(|_| UnitError::Overflow)?;
    let value = number.checked_mul(*factor).ok_or(UnitError::Overflow)?;
    Ok((value, *factor))
}

/// Checks that a value is allowed: above zero, and exact for JSON readers.
fn checked(value: u64) -> Result<u64, UnitError> {
    match value {
        0 => Err(UnitError::Zero),
        1..=MAX_INTEGER => Ok(value),
        _ => Err(UnitError::Overflow),
    }
}

/// Parses a duration such as `500ms`, `30s`, `1h30m` into milliseconds.
///
/// # Errors
/// Anything else, zero, and values of 2^53 ms and more.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    let part = (digit1::<&str, ()>, take_till(|c: char| c.is_ascii_digit()));
    let (_, parts) = all_consuming(many1(part))
        .parse(text)
        .map_err(|_| UnitError::Number)?;
    let mut total = 0_u64;
    // Of the first part there may be any number.
    let mut larger = u64::MAX;
    for (number, unit) in parts {
        let (value, factor) = parse(number, unit, DURATIONS)?;
        let next = DURATIONS.iter().map(|(_, f)| *f).find(|f| *f > factor);
        if larger < u64::MAX && (factor >= larger || value >= next.unwrap_or(u64::MAX)) {
            return Err(UnitError::Parts);
        }
        larger = factor;
        total = total.checked_add(value).ok_or(UnitError::Overflow)?;
    }
    checked(total)
}

/// Suggests the intended spelling of a text that is not a duration: `1m90s`, `30s1m`, `1.5m`.
pub fn meant_duration(text: &str) -> Option<String> {
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let mut total = 0_u64;
    let mut rest = text;
    while !rest.is_empty() {
        let (digits, behind) = rest.split_at(rest.find(|c| !number(c))?);
        let (unit, next) = behind.split_at(behind.find(number).unwrap_or(behind.len()));
        let (_, factor) = DURATIONS.iter().find(|(name, _)| *name == unit)?;
        let (whole, parts) = digits.split_once('.').unwrap_or((digits, "0"));
        let scale = 10_u64.checked_pow(u32::try_from(parts.len()).ok()?)?;
        let parts = parts.parse::<u64>().ok()?.checked_mul(*factor)?;
        let whole = whole.parse::<u64>().ok()?.checked_mul(*factor)?;
        if !parts.is_multiple_of(scale) {
            return None;
        }
        total = total.checked_add(whole)?.checked_add(parts / scale)?;
        rest = next;
    }
    checked(total).ok()?;
    let mut written = String::new();
    for (unit, factor) in DURATIONS.iter().rev() {
        if total >= *factor {
            written.push_str(&format!("{}{unit}", total / factor));
            total %= factor;
        }
    }
    Some(written)
}

/// Parses a size such as `10B`, `64KiB`, `2MB` into bytes.
///
/// # Errors
/// Anything else, zero, and values of 2^53 bytes and more.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    checked(parse(number, unit, SIZES)?.0)
}

fn show(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| value != 0 && value.is_multiple_of(*factor);
    match units.iter().filter(fits).max_by_key(|(_, factor)| *factor) {
        Some((unit, factor)) => format!("{}{unit}", value / factor),
        None => format!("{value}{}", units.first().map_or("", |(unit, _)| unit)),
    }
}

/// Formats milliseconds in the largest unit that is exact.
pub fn show_duration(ms: u64) -> String {
    show(ms, DURATIONS)
}

/// Formats a measured time, for people: `46ms`, `3.2s`, `2m05s`.
pub fn show_time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{}m{:02}s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// Formats bytes in the largest unit that is exact.
pub fn show_size(bytes: u64) -> String {
    show(bytes, SIZES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, value) in [
            ("500ms", Ok(500)),
            ("30s", Ok(30_000)),
            ("10m", Ok(600_000)),
            ("2h", Ok(7_200_000)),
            ("0s", Err(UnitError::Zero)),
            ("5", Err(UnitError::NoUnit)),
            ("s", Err(UnitError::Number)),
            ("-1s", Err(UnitError::Number)),
            ("5d", Err(UnitError::UnknownUnit)),
            ("5 s", Err(UnitError::UnknownUnit)),
            ("99999999999999999999h", Err(UnitError::Overflow)),
            ("9007199254740992ms", Err(UnitError::Overflow)),
            ("1m30s", Ok(90_000)),
            ("1h30m", Ok(5_400_000)),
            ("2h0m1s5ms", Ok(7_201_005)),
            ("90m", Ok(5_400_000)),
            ("1h60m", Err(UnitError::Parts)),
            ("1h90s", Err(UnitError::Parts)),
            ("1m90s", Err(UnitError::Parts)),
            ("1s1000ms", Err(UnitError::Parts)),
            ("30s1m", Err(UnitError::Parts)),
            ("1m1m", Err(UnitError::Parts)),
            ("1m30", Err(UnitError::NoUnit)),
            ("1.5m", Err(UnitError::UnknownUnit)),
            ("0m0s", Err(UnitError::Zero)),
        ] {
            assert_eq!(parse_duration(text), value, "{text}");
        }
        for (text, meant) in [
            ("1m90s", Some("2m30s")),
            ("30s1m", Some("1m30s")),
            ("1.5m", Some("1m30s")),
            ("0.25s", Some("250ms")),
            ("1h1h", Some("2h")),
            ("0.0001s", None),
            ("0s", None),
            ("5", None),
            ("5d", None),
            ("m", None),
            ("", None),
            ("1.2.3s", None),
            ("99999999999h99999999999h", None),
        ] {
            assert_eq!(meant_duration(text).as_deref(), meant, "{text}");
            if let Some(meant) = meant {
                assert!(parse_duration(meant).is_ok(), "{meant}");
            }
        }
        assert_eq!(show_duration(90_000), "90s");
        assert_eq!(show_duration(7_200_000), "2h");
        assert_eq!(show_duration(1), "1ms");
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_size("64KiB"), Ok(65_536));
        assert_eq!(parse_size("1MB"), Ok(1_000_000));
        assert_eq!(parse_size("1"), Err(UnitError::NoUnit));
        assert_eq!(show_size(65_536), "64KiB");
    }
}
