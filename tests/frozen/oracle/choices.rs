//! How do bytes become decisions? In order, so that a change of one byte changes one decision.

/// What is left of some bytes.
pub struct Choices<'a>(pub &'a [u8]);

impl<'a> Choices<'a> {
    /// The next byte; 0 when there is none.
    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// A number below `most`, which is not 0.
    pub fn below(&mut self, most: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % most
    }

    /// One of several.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// The next bytes, at most so many.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

/// Some fields, separated by a zero; the last one holds the rest.
pub fn fields<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut parts = bytes.splitn(N, |b| *b == 0);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// Bytes with one change after another: a byte put in, taken out, another one instead, a line
/// twice, two lines in each other's place, the end cut off.
pub fn mutated(good: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..choices.byte() % 4 + 1 {
        if choices.is_over() || bytes.is_empty() {
            break;
        }
        let how = choices.byte();
        let at = choices.below(bytes.len());
        let mut lines: Vec<Vec<u8>> = bytes
            .split_inclusive(|b| *b == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let line = at % lines.len();
        match how % 10 {
            0 => bytes[at] ^= 1 << (choices.byte() % 8),
            1 => bytes[at] = choices.byte(),
            2 => bytes.insert(at, choices.byte()),
            3 => drop(bytes.remove(at)),
            4 => bytes.truncate(at),
            5 => {
                lines.insert(line, lines[line].clone());
                bytes = lines.concat();
            }
            // A digit for a digit keeps the form, and says something else.
            6 | 7 => {
                let digits = (at..bytes.len()).find(|i| bytes[*i].is_ascii_hexdigit());
                if let Some(at) = digits {
                    bytes[at] = b"0123456789abcdef"
                        [usize::from(choices.byte()) % if how % 10 == 6 { 10 } else { 16 }];
                }
            }
            8 => {
                let other = choices.below(lines.len());
                lines.swap(line, other);
                bytes = lines.concat();
            }
            _ => {
                lines.remove(line);
                bytes = lines.concat();
            }
        }
    }
    bytes
}
