//! Compares a file, as it would be committed, with a committed one: after git's built-in
//! conversions for the tracked attributes. No filter program runs.
//!
//! A setting of the machine never makes two contents equal: neither `core.autocrlf` nor
//! `.git/info/attributes` is read, and a `.gitattributes` only if it is unchanged since the base.
//! If an attribute requires an unknown conversion (another `filter`, a rare encoding), different
//! bytes count as different content.

use super::Git;
use super::attributes::{Attributes, Rules, Value};
use super::listing::Listing;
use super::memory::Learned;
use super::object::{Oid, blob_id};
use super::pattern;
use rustix::fs::fstat;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use vplan_base::canon::{Digest, Hasher};
use vplan_os::files;
use vplan_os::stat_cache::{StatStamp, now};

/// Size limit of a converted file and of a `.gitattributes`, in bytes.
const MOST: u64 = 256 << 20;

/// The conversion of line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// CRLF becomes LF.
    Text,
    /// The same, unless the file looks binary.
    Auto,
}

/// The conversions of a file when it is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Conversion {
    /// Whether a pointer of Git LFS replaces it.
    lfs: bool,
    encoding: Option<Vec<u8>>,
    lines: Option<Lines>,
    /// Whether a checkout writes CRLF.
    crlf: bool,
    ident: bool,
}

impl Conversion {
    /// Returns the conversion; `None` if there is none, or if it is unknown here.
    fn from_attributes(attributes: &Attributes) -> Option<Self> {
        let is = |name: &str, text: &str| {
            attributes.get(name) == Some(&Value::Is(text.as_bytes().to_vec()))
        };
        match attributes.get("filter") {
            Some(Value::Is(name)) if name == b"lfs" => {
                return Some(Self {
                    lfs: true,
                    ..Self::default()
                });
            }
            Some(Value::Is(_)) => return None,
            _ => {}
        }
        let said = attributes.get("text").or_else(|| attributes.get("crlf"));
        let mut lines = match said {
            Some(Value::Set) => Some(Lines::Text),
            Some(Value::Is(value)) if value == b"auto" => Some(Lines::Auto),
            Some(Value::Is(value)) if value == b"input" => Some(Lines::Text),
            _ => None,
        };
        if (is("eol", "lf") || is("eol", "crlf")) && lines.is_none() && said != Some(&Value::Unset)
        {
            lines = Some(Lines::Text);
        }
        let encoding = match attributes.get("working-tree-encoding") {
            Some(Value::Is(name)) if !name.is_empty() => Some(name.to_ascii_uppercase()),
            _ => None,
        };
        let ident = attributes.get("ident") == Some(&Value::Set);
        let some = encoding.is_some() || lines.is_some() || ident;
        some.then_some(Self {
            lfs: false,
            encoding,
            lines,
            crlf: is("eol", "crlf"),
            ident,
        })
    }

    /// Returns the id that the file would be committed with, by the length of the repository's ids.
    fn id(&self, mut file: File, size: u64, length: usize) -> io::Result<Option<Oid>> {
        if self.lfs {
            let mut hasher = Hasher::default();
            let copied = io::copy(&mut file, &mut hasher)?;
            let pointer = format!(
                "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {copied}\n",
                hasher.finish().hex()
            );
            return blob_id(length, pointer.len() as u64, pointer.as_bytes()).map(Some);
        }
        if size > MOST {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        file.take(MOST).read_to_end(&mut bytes)?;
        let Some(bytes) = self.convert(bytes) else {
            return Ok(None);
        };
        blob_id(length, bytes.len() as u64, &*bytes).map(Some)
    }

    fn convert(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        if let Some(encoding) = &self.encoding {
            bytes = decode(encoding, &bytes)?;
        }
        match self.lines {
            Some(Lines::Auto) if is_binary(&bytes) => {}
            Some(_) => bytes = without_cr(&bytes),
            None => {}
        }
        Some(if self.ident { collapse(&bytes) } else { bytes })
    }
}

/// Decodes bytes to UTF-8.
fn decode(encoding: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| -> Option<Vec<u8>> {
        let (pairs, []) = bytes.as_chunks::<2>() else {
            return None;
        };
        let text: String = char::decode_utf16(pairs.iter().map(|p| unit(*p)))
            .collect::<Result<_, _>>()
            .ok()?;
        Some(text.into_bytes())
    };
    let (little, big) = (b"\xff\xfe", b"\xfe\xff");
    let has_mark = bytes.starts_with(little) || bytes.starts_with(big);
    match encoding {
        b"UTF-8" | b"UTF8" => Some(bytes.to_vec()),
        // Git requires a byte-order mark if the name leaves the order open, and refuses one
        // otherwise.
        b"UTF-16" | b"UTF16" | b"UTF-16LE-BOM" | b"UTF-16BE-BOM" => {
            match bytes.strip_prefix(little) {
                Some(rest) => units(rest, u16::from_le_bytes),
                None => units(bytes.strip_prefix(big)?, u16::from_be_bytes),
            }
        }
        b"UTF-16LE" | b"UTF16LE" if !has_mark => units(bytes, u16::from_le_bytes),
        b"UTF-16BE" | b"UTF16BE" if !has_mark => units(bytes, u16::from_be_bytes),
        b"ISO-8859-1" | b"ISO8859-1" | b"LATIN1" | b"LATIN-1" => {
            let text: String = bytes.iter().map(|b| char::from(*b)).collect();
            Some(text.into_bytes())
        }
        _ => None,
    }
}

/// Whether git treats a text as binary by default: a NUL, a CR without LF, or too many unprintable
/// characters.
fn is_binary(bytes: &[u8]) -> bool {
    let (mut printable, mut other) = (0_u64, 0_u64);
    // A file of DOS may end in one.
    let text = bytes.strip_suffix(b"\x1a").unwrap_or(bytes);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            0 => return true,
            b'\r' if text.get(at + 1) != Some(&b'\n') => return true,
            b'\r' | b'\n' => {}
            b'\x08' | b'\t' | b'\x1b' | b'\x0c' => printable += 1,
            0x7f | 0..32 => other += 1,
            _ => printable += 1,
        }
    }
    printable >> 7 < other
}

fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let next = bytes.iter().skip(1).chain(std::iter::once(&0));
    bytes
        .iter()
        .zip(next)
        .filter(|(byte, next)| **byte != b'\r' || **next != b'\n')
        .map(|(byte, _)| *byte)
        .collect()
}

/// Turns `$Id: …$` into `$Id$`.
fn collapse(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|b| *b == b'$') {
        let (before, after) = rest.split_at(at + 1);
        out.extend_from_slice(before);
        rest = after;
        let Some(text) = rest.strip_prefix(b"Id:") else {
            continue;
        };
        let Some(end) = text.iter().position(|b| *b == b'$') else {
            break;
        };
        // A stamp must end on its line. Text that neither git nor an older tool wrote as a stamp is
        // content, though git would commit the two alike.
        if let Some(after) = text
            .get(end + 1..)
            .filter(|_| text.iter().take(end).all(|b| is_of_stamp(*b)))
        {
            out.extend_from_slice(b"Id$");
            rest = after;
        }
    }
    out.extend_from_slice(rest);
    out
}

fn is_of_stamp(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" .,:/_-+@".contains(&byte)
}

/// Compares files as they would be committed.
pub(super) struct Converter<'a> {
    git: &'a Git,
    listing: &'a Listing,
    /// By directory, with `/` at its end; `None` if the file differs from that of the base.
    rules: BTreeMap<Vec<u8>, Option<Rules>>,
    pub learned: Vec<Learned>,
}

impl<'a> Converter<'a> {
    pub(super) fn new(git: &'a Git, listing: &'a Listing) -> Self {
        Self {
            git,
            listing,
            rules: BTreeMap::new(),
            learned: Vec::new(),
        }
    }

    /// Whether a file with other bytes than a blob would be committed as that blob.
    pub(super) fn is_same(&mut self, path: &[u8], blob: &Oid) -> bool {
        self.conversion(path)
            .is_some_and(|conversion| self.id(path, &conversion, blob.length()) == Some(*blob))
    }

    /// Whether a file that would be committed as a blob has line ends that a checkout would not
    /// give it, according to the attributes.
    pub(super) fn has_other_line_ends(&mut self, path: &[u8], blob: &Oid) -> bool {
        let conversion = self.conversion(path);
        let conversion = conversion.filter(|c| c.lines.is_some() && !c.crlf);
        conversion.is_some_and(|mut conversion| {
            conversion.lines = None;
            self.id(path, &conversion, blob.length()) != Some(*blob)
        })
    }

    fn conversion(&mut self, path: &[u8]) -> Option<Conversion> {
        let is_end = |end: &usize| path.get(..*end).is_some_and(|dir| dir.ends_with(b"/"));
        let ends: Vec<usize> = [0]
            .into_iter()
            .chain((1..path.len()).filter(is_end))
            .collect();
        for end in &ends {
            let dir = path.get(..*end)?;
            if !self.rules.contains_key(dir) {
                let rules = self.read(dir);
                self.rules.insert(dir.to_vec(), rules);
            }
        }
        let files = ends.iter().map(|end| {
            let (dir, below) = path.split_at_checked(*end)?;
            Some((self.rules.get(dir)?.as_ref()?, below))
        });
        Conversion::from_attributes(&Attributes::evaluate(&files.collect::<Option<Vec<_>>>()?))
    }

    /// Reads the rules of a directory, if its file is the one of the base: a change does not decide
    /// how it is compared.
    fn read(&self, dir: &[u8]) -> Option<Rules> {
        let path = [dir, b".gitattributes"].concat();
        let place = self.place(&path);
        let Some(base) = self.listing.get(&path) else {
            let missing = place
                .symlink_metadata()
                .is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
            return missing.then(Rules::default);
        };
        let text = files::read_plain(&place, pattern::MOST).ok()?;
        let id = blob_id(base.id.length(), text.len() as u64, &*text).ok()?;
        (id == base.id && base.mode & 0o170_000 == 0o100_000)
            .then(|| Rules::read(&text, dir.is_empty()))
    }

    fn id(&mut self, path: &[u8], conversion: &Conversion, length: usize) -> Option<Oid> {
        let since = now();
        let file = files::open_plain(&self.place(path)).ok()?;
        let stat = fstat(&file).ok()?;
        let (stamp, size) = (StatStamp::from(&stat), u64::try_from(stat.st_size).ok()?);
        // No path has a NUL, so this is the name of no other file.
        let path = [&*self.git.key(path), format!("\0{conversion:?}").as_bytes()].concat();
        let known: Option<Digest> = self.git.memory.table().digest(&path, &stamp);
        if let Some(id) = known.and_then(|id| Oid::from_padded(length, *id.as_bytes())) {
            return Some(id);
        }
        let again = file.try_clone().ok()?;
        let id = conversion.id(file, size, length).ok()??;
        if StatStamp::from(&fstat(&again).ok()?) == stamp {
            self.learned.push(Learned {
                path,
                stamp,
                id,
                since,
                size,
            });
        }
        Some(id)
    }

    fn place(&self, path: &[u8]) -> PathBuf {
        self.git.root().join(std::ffi::OsStr::from_bytes(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(rules: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let rules = Rules::read(rules.as_bytes(), true);
        Conversion::from_attributes(&Attributes::evaluate(&[(&rules, b"f")]))?
            .convert(bytes.to_vec())
    }

    #[test]
    fn line_ends() {
        for (rules, text, want) in [
            ("f text", "a\r\nb\rc\r\r\n", Some("a\nb\rc\r\n")),
            ("f eol=crlf", "a\r\n", Some("a\n")),
            ("f crlf", "a\r\n", Some("a\n")),
            ("f text=auto", "a\r\nb\n", Some("a\nb\n")),
            ("f text=auto", "a\r\nb\rc", Some("a\r\nb\rc")),
            ("f text=auto", "a\r\n\0", Some("a\r\n\0")),
            ("f -text eol=crlf", "a\r\n", None),
            ("f binary", "a\r\n", None),
            ("f diff", "a\r\n", None),
            ("f filter=x text", "a\r\n", None),
        ] {
            let got = convert(rules, text.as_bytes());
            assert_eq!(got.as_deref(), want.map(str::as_bytes), "{rules} {text:?}");
        }
    }

    #[test]
    fn idents_and_encodings() {
        let ident =
            |text: &str| String::from_utf8(convert("f ident", text.as_bytes()).unwrap()).unwrap();
        for (text, want) in [
            ("x $Id: abc$ y $Id: $ $Id$", "x $Id$ y $Id$ $Id$"),
            ("$Id: a\nb$", "$Id: a\nb$"),
            ("/* $Id: */ exit(); /* $ */", "/* $Id: */ exit(); /* $ */"),
            ("$Id: a\rb$", "$Id: a\rb$"),
            ("$Id: a.c,v 1.2 2003/01/02 03:04:05 b Exp $", "$Id$"),
            ("$Id: a", "$Id: a"),
            ("$$Id: a$$", "$$Id$$"),
        ] {
            assert_eq!(ident(text), want, "{text}");
        }
        let decoded =
            |name: &str, bytes: &[u8]| convert(&format!("f working-tree-encoding={name}"), bytes);
        assert_eq!(
            decoded("utf-16", b"\xff\xfea\0\xe4\0").as_deref(),
            Some("aä".as_bytes())
        );
        assert_eq!(
            decoded("UTF-16", b"\xfe\xff\0a").as_deref(),
            Some(&b"a"[..])
        );
        assert_eq!(decoded("UTF-16", b"a\0"), None, "no mark");
        assert_eq!(decoded("UTF-16LE", b"a\0").as_deref(), Some(&b"a"[..]));
        assert_eq!(decoded("UTF-16LE", b"a"), None);
        assert_eq!(decoded("latin1", b"\xe4").as_deref(), Some("ä".as_bytes()));
        assert_eq!(decoded("SHIFT-JIS", b"a"), None);
    }
}
