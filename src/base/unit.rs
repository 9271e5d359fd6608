//! Parses and prints durations (`10m`) and sizes (`2MiB`).

/// The reason why a duration or a size could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// No digits in front of the unit.
    Number,
    /// The number has no unit.
    NoUnit,
    /// The unit is unknown.
    UnknownUnit,
    /// The value is zero; durations and sizes are positive.
    Zero,
    /// The value does not fit below 2^53.
    Overflow,
}

/// The greatest integer that JSON readers keep exact (RFC 8259 section 6): 2^53 - 1.
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

fn parse(text: &str, units: &[(&str, u64)]) -> Result<u64, UnitError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(UnitError::Number);
    }
    if unit.is_empty() {
        return Err(UnitError::NoUnit);
    }
    let factor = units
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or(UnitError::UnknownUnit)?
        .1;
    let number: u64 = number.parse().map_err(|_| UnitError::Overflow)?;
    match number.checked_mul(factor) {
        Some(0) => Err(UnitError::Zero),
        Some(value) if value <= MAX_INTEGER => Ok(value),
        _ => Err(UnitError::Overflow),
    }
}

/// Reads a duration such as `500ms`, `30s`, `10m`, `2h` into milliseconds.
///
/// # Errors
/// Anything else, zero, and values of 2^53 ms and more.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    parse(text, DURATIONS)
}

/// Reads a size such as `10B`, `64KiB`, `2MB` into bytes.
///
/// # Errors
/// Anything else, zero, and values of 2^53 bytes and more.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    parse(text, SIZES)
}

fn show(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| value != 0 && value.is_multiple_of(*factor);
    match units.iter().filter(fits).max_by_key(|(_, factor)| *factor) {
        Some((unit, factor)) => format!("{}{unit}", value / factor),
        None => format!("{value}{}", units.first().map_or("", |(unit, _)| unit)),
    }
}

/// Writes milliseconds in the largest unit that keeps them exact.
#[must_use]
pub fn show_duration(ms: u64) -> String {
    show(ms, DURATIONS)
}

/// Writes a time that was measured, for people: `46ms`, `3.2s`, `2m05s`.
#[must_use]
pub fn show_time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{}m{:02}s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// Writes bytes in the largest unit that keeps them exact.
#[must_use]
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
        ] {
            assert_eq!(parse_duration(text), value, "{text}");
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
