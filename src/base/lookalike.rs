//! Reduces names to their appearance: without case, accents and invisible characters, and with a
//! Latin letter for each letter of another script that looks like it. Two different names with one
//! skeleton are hard to tell apart.
//!
//! The table has the letters of Unicode's confusables (UTS 39) that occur in names of files: those
//! of Cyrillic, Greek and Armenian, and punctuation.

use super::word::is_unsafe_to_show;
use std::borrow::Cow;

/// Letters, and the Latin ones that look like them.
const ALIKE: [(&str, &str); 5] = [
    // Cyrillic.
    (
        "аԁеԍһіјкӏорԛсѕтѵԝхуьвмнзАВСЕНІЈКМОРЅТХУԜԚ",
        "adeghijklopqcstvwxybbmn3abcehijkmopstxywq",
    ),
    // Greek.
    (
        "αβγεηικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
        "abyenikvoptuxwabezhikmnoptyx",
    ),
    // Armenian.
    ("օսհոցզ", "ouhngq"),
    // Latin letters with a form of their own.
    ("ıȷɑɡłøđħŧßſ", "ijaglodhtss"),
    ("‐‑‒–—−․∕⁄⧸’", "------.///'"),
];

/// Latin letters with accents, each group after its letter.
const ACCENTED: &str = "aàáâãäåāăą cçćĉċč dď eèéêëēĕėęě gĝğġģ hĥ iìíîïĩīĭį jĵ kķ lĺļľ nñńņň oòóôõöōŏő rŕŗř sśŝşš tţť uùúûüũūŭůűų wŵ yýÿŷ zźżž";

/// Returns the skeleton of a name; a plain name is its own.
pub fn skeleton(name: &str) -> Cow<'_, str> {
    if is_plain(name.as_bytes()) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => {}
            '\u{ff01}'..='\u{ff5e}' => {
                let ascii = char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c);
                out.push(ascii.to_ascii_lowercase());
            }
            c if is_unsafe_to_show(c) => {}
            c if c.is_whitespace() => out.push(' '),
            c => match alike(c) {
                Some(latin) => out.push(latin),
                None => out.extend(c.to_lowercase().map(|c| alike(c).unwrap_or(c))),
            },
        }
    }
    Cow::Owned(out)
}

/// Whether the bytes of a name show that it is its own skeleton.
pub fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|b| b.is_ascii() && !b.is_ascii_uppercase())
}

fn alike(c: char) -> Option<char> {
    let of_table = ALIKE.iter().find_map(|(from, to)| {
        let at = from.chars().position(|own| own == c)?;
        to.chars().nth(at)
    });
    let accented = || {
        let mut groups = ACCENTED.split(' ');
        groups.find(|group| group.contains(c))?.chars().next()
    };
    of_table.or_else(accented)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike() {
        for (name, want) in [
            ("src/a", "src/a"),
            ("Src/A", "src/a"),
            // Cyrillic, Greek, full width.
            ("\u{455}r\u{441}/\u{430}", "src/a"),
            ("\u{405}RC/\u{391}", "src/a"),
            ("\u{ff53}rc\u{ff0f}a", "src/a"),
            ("src\u{2215}a", "src/a"),
            ("s\u{200b}rc/a", "src/a"),
            ("src/ de\u{301}ja", "src/ deja"),
            ("src/ D\u{e9}j\u{c0}", "src/ deja"),
            ("src/日本", "src/日本"),
        ] {
            assert_eq!(skeleton(name), want, "{name}");
            assert_eq!(skeleton(want), want);
        }
        for (from, to) in ALIKE {
            assert_eq!(from.chars().count(), to.chars().count(), "{from}");
        }
    }
}
