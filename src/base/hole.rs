//! Placeholders: `{NAME}` in a text, filled by an `each` of the language, or by a service.

use super::name::is_reference;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Whether a text is the name of a placeholder: a letter or `_`, then letters, digits, `_` and `-`.
pub fn is_hole_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Finds the placeholders of a text: the range of each in bytes, braces included, and its name.
pub fn holes(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let opens = text.match_indices('{').map(|(at, _)| at);
    opens.filter_map(|at| {
        let (name, _) = text.get(at + 1..)?.split_once('}')?;
        let is_hole =
            is_hole_name(name) || service_hole(name).is_some() || package_hole(name).is_some();
        is_hole.then(|| (at..at + name.len() + 2, name))
    })
}

/// Whether a text has a placeholder.
pub fn has_hole(text: &str) -> bool {
    holes(text).next().is_some()
}

/// The suffix after the name of an `each` over packages, for the name of the package.
const NAME_OF: &str = ".name";

/// Returns the name of the `each` whose package a placeholder names: `pkg` of `pkg.name`.
pub fn package_hole(name: &str) -> Option<&str> {
    name.strip_suffix(NAME_OF).filter(|each| is_hole_name(each))
}

/// Returns the placeholder for the name of a package of this `each`.
pub fn hole_of_name(each: &str) -> String {
    format!("{each}{NAME_OF}")
}

/// Writes a folder, or the name of a package, as a part of a name: `@acme/ui` is `acme.ui`, and the
/// root of the repository `root`.
pub fn as_part_of_name(value: &str) -> String {
    if value == "." {
        return "root".to_owned();
    }
    let plain = |c: char| match c {
        '/' => '.',
        c if c.is_ascii_alphanumeric() || "_-.:".contains(c) => c,
        _ => '_',
    };
    value.trim_start_matches('@').chars().map(plain).collect()
}

crate::words! {
    /// The kind of value of a service's placeholder.
    Given {
        /// A free port.
        Port = "port",
        /// A folder that is there as long as the service.
        Tmp = "tmp",
    }
}

/// A placeholder of a service in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceHole<'t> {
    /// The range in bytes, braces included.
    pub range: Range<usize>,
    /// The name of the service, if it is given.
    pub service: Option<&'t str>,
    /// The kind of its value.
    pub what: Given,
}

/// Parses the name of a placeholder: `port`, `tmp`, `db.port`, `db.tmp`; `None` for any other.
pub fn service_hole(name: &str) -> Option<(Option<&str>, Given)> {
    let (service, what) = match name.rsplit_once('.') {
        Some((service, what)) => (Some(service), what),
        None => (None, name),
    };
    let what = Given::parse(what)?;
    service.is_none_or(is_reference).then_some((service, what))
}

/// Finds the placeholders of services in a text.
pub fn service_holes(text: &str) -> impl Iterator<Item = ServiceHole<'_>> {
    holes(text).filter_map(|(range, name)| {
        let (service, what) = service_hole(name)?;
        Some(ServiceHole {
            range,
            service,
            what,
        })
    })
}

/// Replaces each placeholder of a service in a text by the value from `with`, or keeps it if there
/// is none. Inserted values are not scanned again.
pub fn replace(text: &str, with: &mut dyn FnMut(&ServiceHole<'_>) -> Option<String>) -> String {
    let (mut out, mut behind) = (String::with_capacity(text.len()), 0);
    for hole in service_holes(text) {
        if let Some(value) = with(&hole) {
            out.push_str(text.get(behind..hole.range.start).unwrap_or_default());
            out.push_str(&value);
            behind = hole.range.end;
        }
    }
    out.push_str(text.get(behind..).unwrap_or_default());
    out
}

/// Puts placeholders back into a text, wherever one of these values occurs in it. This is a guess,
/// for people only.
pub fn with_holes<'v>(text: &str, values: impl Iterator<Item = (&'v str, &'v str)>) -> String {
    let mut values: Vec<(&str, &str)> = values.filter(|(_, value)| !value.is_empty()).collect();
    // A longer value may contain a shorter one.
    values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let found = values.iter().find(|(_, value)| rest.starts_with(value));
        let taken = match found {
            Some((name, value)) => {
                written.push_str(&format!("{{{name}}}"));
                value.len()
            }
            None => {
                written.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    written
}

/// The placeholder values of nested `each` blocks, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<(String, String)>);

/// Texts of several rows that differ only in the placeholder values.
#[derive(Clone, Debug)]
pub struct Alike {
    written: String,
    first: (Values, String),
    count: usize,
}

impl Alike {
    /// Begins with the text of a row.
    pub fn new(values: Values, text: &str) -> Self {
        Self {
            written: values.with_holes(text),
            first: (values, text.to_owned()),
            count: 1,
        }
    }

    /// Takes the text of another row, if it is alike. If a text has a value by chance (`ui` in
    /// `build-ui`), the other row shows that.
    pub fn takes(&mut self, values: &Values, text: &str) -> bool {
        if values.fill(&self.written, Escape::Nothing) != text {
            let written = values.with_holes(text);
            let (first, own) = &self.first;
            if first.fill(&written, Escape::Nothing) != own.as_str() {
                return false;
            }
            self.written = written;
        }
        self.count += 1;
        true
    }

    /// Returns the text with placeholders; the text of a single row is unchanged.
    pub fn written(&self) -> &str {
        if self.count == 1 {
            &self.first.1
        } else {
            &self.written
        }
    }

    /// Returns how many texts it has taken.
    pub fn count(&self) -> usize {
        self.count
    }
}

impl FromIterator<(String, String)> for Values {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

/// How a value is escaped in a text, so that it adds no syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// As it is.
    Nothing,
    /// As a part of a glob.
    Glob,
    /// As a part of a regular expression.
    Regex,
}

impl Values {
    /// Adds the values of an `each` inside.
    pub fn enter(&mut self, values: impl IntoIterator<Item = (String, String)>) {
        self.0.extend(values);
    }

    /// Takes out those that were added last, so that this many are left.
    pub fn leave(&mut self, left: usize) {
        self.0.truncate(left);
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Returns them as written in names: packages as parts of one.
    pub fn in_names(&self) -> Self {
        let is_package =
            |name: &str| package_hole(name).is_some() || self.get(&hole_of_name(name)).is_some();
        let part = |(name, value): (&str, &str)| {
            let value = match is_package(name) {
                true => as_part_of_name(value),
                false => value.to_owned(),
            };
            (name.to_owned(), value)
        };
        self.iter().map(part).collect()
    }

    /// Returns the last name of the innermost `each`.
    pub fn innermost(&self) -> Option<&str> {
        let name = self.0.last().map(|(name, _)| name.as_str())?;
        Some(package_hole(name).unwrap_or(name))
    }

    /// Puts the placeholders back into a text, wherever one of the values occurs in it.
    pub fn with_holes(&self, text: &str) -> String {
        with_holes(text, self.iter())
    }

    /// Returns the value of a placeholder, if it is one of these.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Fills the placeholders that have values. Inserted values are not scanned again.
    pub fn fill<'t>(&self, text: &'t str, escape: Escape) -> Cow<'t, str> {
        if self.0.is_empty() || !has_hole(text) {
            return Cow::Borrowed(text);
        }
        let mut filled = String::with_capacity(text.len());
        let mut behind = 0;
        for (range, name) in holes(text) {
            let Some(value) = self.get(name) else {
                continue;
            };
            filled.push_str(text.get(behind..range.start).unwrap_or_default());
            behind = range.end;
            match escape {
                Escape::Nothing => filled.push_str(value),
                // For the root (`.`), the slash is dropped too.
                Escape::Glob if value == "." && is_at_slash(text, behind, &filled) => behind += 1,
                Escape::Glob => filled.push_str(&super::glob::escape::escape(value)),
                Escape::Regex => filled.push_str(&regex::escape(value)),
            }
        }
        filled.push_str(text.get(behind..).unwrap_or_default());
        Cow::Owned(filled)
    }
}

/// Whether a path begins with the placeholder that ends at this offset, and continues with a `/`.
fn is_at_slash(text: &str, behind: usize, before: &str) -> bool {
    matches!(before, "" | "!") && text.get(behind..).is_some_and(|rest| rest.starts_with('/'))
}

/// `pkg = core, py = 3.12`
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (name, value)) in self.0.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_of_a_text() {
        let names = |text| holes(text).map(|(_, name)| name).collect::<Vec<_>>();
        for (text, want) in [
            ("unit-{py}", vec!["py"]),
            ("{a}{b-c}x{_d9}", vec!["a", "b-c", "_d9"]),
            ("{db.port}{db.pid}", vec!["db.port"]),
            ("{pkg.name}{9.name}{.name}", vec!["pkg.name"]),
            ("{{a}}", vec!["a"]),
            ("{}{ a}{9}{a,b}{a", vec![]),
            ("{a{b}", vec!["b"]),
            ("", vec![]),
        ] {
            assert_eq!(names(text), want, "{text}");
            assert_eq!(has_hole(text), !want.is_empty());
        }
    }

    #[test]
    fn values_are_put_in_once() {
        let mut values = Values::default();
        values.enter([
            ("a".to_owned(), "{b}*".to_owned()),
            ("b".to_owned(), "x.y".to_owned()),
        ]);
        for (text, escape, want) in [
            ("-{a}-{b}-{c}", Escape::Nothing, "-{b}*-x.y-{c}"),
            ("{a}/*", Escape::Glob, "\\{b\\}\\*/*"),
            ("^{b}$", Escape::Regex, "^x\\.y$"),
            ("plain", Escape::Glob, "plain"),
        ] {
            assert_eq!(values.fill(text, escape), want, "{text}");
        }
        values.leave(1);
        assert_eq!(values.fill("{a}{b}", Escape::Nothing), "{b}*{b}");
    }

    #[test]
    fn the_root_has_no_name_in_a_glob() {
        let values: Values = [("d".to_owned(), ".".to_owned())].into_iter().collect();
        for (text, escape, want) in [
            ("{d}/**", Escape::Glob, "**"),
            ("!{d}/a", Escape::Glob, "!a"),
            ("x/{d}/a", Escape::Glob, "x/./a"),
            ("{d}", Escape::Glob, "."),
            ("{d}/a", Escape::Nothing, "./a"),
        ] {
            assert_eq!(values.fill(text, escape), want, "{text}");
        }
    }

    #[test]
    fn packages_stand_in_names_as_parts() {
        let values = [("p", "a/b"), ("p.name", "@x/y"), ("v", "c/d")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let values: Values = values.into_iter().collect();
        let text = "{p} {p.name} {v}";
        assert_eq!(values.fill(text, Escape::Nothing), "a/b @x/y c/d");
        assert_eq!(values.in_names().fill(text, Escape::Nothing), "a.b x.y c/d");
        assert_eq!(values.in_names().with_holes("t-x.y"), "t-{p.name}");
        let one: Values = [("p".to_owned(), "a".to_owned())].into_iter().collect();
        assert_eq!(one.innermost(), Some("p"));
    }

    #[test]
    fn parts_of_names() {
        for (value, want) in [
            ("@acme/ui", "acme.ui"),
            ("packages/a-b", "packages.a-b"),
            (".", "root"),
            ("a+b é", "a_b__"),
        ] {
            assert_eq!(as_part_of_name(value), want);
        }
    }

    #[test]
    fn holes_of_services() {
        for (name, want) in [
            ("port", Some((None, Given::Port))),
            ("db.tmp", Some((Some("db"), Given::Tmp))),
            ("web/db.port", Some((Some("web/db"), Given::Port))),
            ("a.b.port", Some((Some("a.b"), Given::Port))),
            ("ports", None),
            (".port", None),
            ("9.port", None),
            ("db.pid", None),
        ] {
            assert_eq!(service_hole(name), want, "{name}");
        }
        let text = "-p{port}:{db.tmp}/{other}{{port}}";
        let replaced = replace(text, &mut |hole| match hole.service {
            None => Some("{db.tmp}".to_owned()),
            Some(_) => Some("/t".to_owned()),
        });
        // Inserted values are not scanned again.
        assert_eq!(replaced, "-p{db.tmp}:/t/{other}{{db.tmp}}");
        assert_eq!(replace("{port}", &mut |_| None), "{port}");
    }
}
