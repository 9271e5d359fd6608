//! Finds the files that the system itself opens when a program is executed: the interpreter of a
//! script, and the loader of a dynamically linked program.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// The bytes of a script's first line that the system reads (`BINPRM_BUF_SIZE`).
const FIRST: usize = 256;
/// The type of the entry that names the loader (elf(5)).
const INTERPRETER: u32 = 3;

/// Returns the path of the program that a file is executed by, if it needs one.
pub(super) fn interpreter(file: &File) -> Option<Vec<u8>> {
    let mut first = [0; FIRST];
    let length = file.read_at(&mut first, 0).ok()?;
    let first = first.get(..length)?;
    match first.strip_prefix(b"#!") {
        Some(line) => of_script(line),
        None => loader(file, first),
    }
}

fn of_script(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let end = line
        .iter()
        .position(|byte| matches!(byte, b' ' | b'\t' | 0));
    let word = line.get(..end.unwrap_or(line.len()))?;
    (!word.is_empty()).then(|| word.to_vec())
}

/// Reads the program headers of a 64-bit file of this machine's byte order.
fn loader(file: &File, first: &[u8]) -> Option<Vec<u8>> {
    const MAGIC: &[u8] = b"\x7fELF\x02";
    if !first.starts_with(MAGIC) {
        return None;
    }
    let (table, size, count) = (long(first, 32)?, short(first, 54)?, short(first, 56)?);
    let size = usize::from(size).max(56);
    let mut headers = vec![0; size * usize::from(count)];
    file.read_exact_at(&mut headers, table).ok()?;
    let header = headers.chunks(size).find(|header| {
        header.first_chunk().map(|kind| u32::from_ne_bytes(*kind)) == Some(INTERPRETER)
    })?;
    let (at, length) = (long(header, 8)?, long(header, 32)?);
    let mut path = vec![
        0;
        usize::try_from(length)
            .ok()
            .filter(|length| *length <= 4096)?
    ];
    file.read_exact_at(&mut path, at).ok()?;
    let path = path.split(|byte| *byte == 0).next()?;
    (!path.is_empty()).then(|| path.to_vec())
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|long| u64::from_ne_bytes(*long))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|short| u16::from_ne_bytes(*short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_programs() {
        for (line, want) in [
            (&b"/bin/sh\n"[..], Some(&b"/bin/sh"[..])),
            (b" \t/usr/bin/env python3\n", Some(b"/usr/bin/env")),
            (b"/bin/sh", Some(b"/bin/sh")),
            (b"\n/bin/sh", None),
            (b"", None),
        ] {
            assert_eq!(of_script(line).as_deref(), want);
        }
        let own = std::env::current_exe().unwrap();
        let of = |path: &std::path::Path| interpreter(&File::open(path).ok()?);
        let loader = of(&own);
        assert_eq!(
            loader.is_some_and(|path| path.starts_with(b"/")),
            cfg!(not(target_feature = "crt-static"))
        );
        assert_eq!(of("/etc/passwd".as_ref()), None);
    }
}
