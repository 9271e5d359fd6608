//! Reads a time as the user writes it.

/// Reads a date, or a date and a time of day, as the beginning of an RFC 3339 time in UTC.
pub(super) fn time(text: &str) -> Result<String, String> {
    let wrong = || {
        "expected a date such as `2026-01-02`, or a date and a time such as `2026-01-02T03:04:05Z`"
            .to_owned()
    };
    let plain = text.strip_suffix('Z').unwrap_or(text).replacen(' ', "T", 1);
    let shape: String = plain
        .chars()
        .map(|c| if c.is_ascii_digit() { 'd' } else { c })
        .collect();
    let whole = "dddd-dd-ddTdd:dd:dd.ddd";
    let is_shape = [
        "dddd-dd-dd",
        "dddd-dd-ddTdd:dd",
        "dddd-dd-ddTdd:dd:dd",
        whole,
    ]
    .contains(&shape.as_str());
    let number =
        |range: std::ops::Range<usize>| plain.get(range).and_then(|n| n.parse::<u32>().ok());
    let within =
        |range, most: u32, least: u32| number(range).is_none_or(|n| (least..=most).contains(&n));
    let is_time = within(5..7, 12, 1)
        && within(8..10, 31, 1)
        && within(11..13, 23, 0)
        && within(14..16, 59, 0);
    if is_shape && is_time && within(17..19, 60, 0) {
        Ok(plain)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, want) in [
            ("2026-01-02", Some("2026-01-02")),
            ("2026-01-02T03:04", Some("2026-01-02T03:04")),
            ("2026-01-02 03:04:05", Some("2026-01-02T03:04:05")),
            ("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05")),
            ("2026-01-02T03:04:05.678Z", Some("2026-01-02T03:04:05.678")),
            ("2026-13-02", None),
            ("2026-01-00", None),
            ("2026-01-02T24:00", None),
            ("2026-1-2", None),
            ("yesterday", None),
            ("2h", None),
            ("2026-01-02T03:04:05+01:00", None),
            ("", None),
            ("２０２６-01-02", None),
        ] {
            assert_eq!(time(text).ok().as_deref(), want, "{text}");
        }
    }
}
