//! Writes the live view to standard error.
//!
//! The view's library fills each line with blanks to its end, so that what a terminal echoes, such
//! as `^C`, begins a line of its own; the library does not know of that line, and when it draws
//! again its first row stays. Here lines end in a line feed, and the last one does not end: what is
//! echoed follows its text, and is taken away with it.

use indicatif::TermLike;
use std::fmt;
use std::io::{self, Write};
use std::sync::Mutex;
use vplan_os::parallel::locked;

/// A terminal, as it is drawn on.
pub struct Screen {
    /// Columns and lines, as they are now.
    size: fn() -> Option<(u16, u16)>,
    drawing: Mutex<Drawing>,
}

/// What is being drawn.
struct Drawing {
    bytes: Vec<u8>,
    /// A line is full, and nothing has been drawn below it.
    is_full: bool,
    out: Box<dyn Write + Send>,
}

impl Screen {
    /// Draws on `out`, a terminal of the size that `size` tells.
    pub fn new(out: Box<dyn Write + Send>, size: fn() -> Option<(u16, u16)>) -> Self {
        let drawing = Drawing {
            bytes: Vec::new(),
            is_full: false,
            out,
        };
        Self {
            size,
            drawing: Mutex::new(drawing),
        }
    }

    /// Adds a sequence that moves the cursor; none for no step.
    fn moved(&self, steps: usize, direction: char) {
        if steps > 0 {
            let sequence = format!("\x1b[{steps}{direction}");
            locked(&self.drawing).bytes.extend(sequence.bytes());
        }
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        (self.size)().map_or(80, |(columns, _)| columns.max(1))
    }

    fn height(&self) -> u16 {
        (self.size)().map_or(24, |(_, lines)| lines.max(1))
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D');
        Ok(())
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        let mut drawing = locked(&self.drawing);
        drawing.bytes.extend(s.bytes());
        drawing.bytes.extend(b"\r\n");
        Ok(())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        let mut drawing = locked(&self.drawing);
        if s.bytes().all(|b| b == b' ') {
            drawing.is_full = true;
            return Ok(());
        }
        if std::mem::take(&mut drawing.is_full) {
            drawing.bytes.extend(b"\r\n");
        }
        drawing.bytes.extend(s.bytes());
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        locked(&self.drawing).bytes.extend(b"\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut drawing = locked(&self.drawing);
        drawing.is_full = false;
        let bytes = std::mem::take(&mut drawing.bytes);
        drawing.out.write_all(&bytes)?;
        drawing.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
    use std::num::NonZero;
    use std::sync::Arc;

    /// A terminal that a test looks at.
    #[derive(Clone)]
    struct Shown(Arc<Mutex<vt100::Parser>>);

    impl Write for Shown {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().process(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Shown {
        fn lines(&self) -> Vec<String> {
            let parser = self.0.lock().unwrap();
            let rows = parser.screen().rows(0, 40);
            rows.map(|row| row.trim_end().to_owned())
                .filter(|row| !row.is_empty())
                .collect()
        }
    }

    /// An echo of the terminal between two drawings leaves no row on the screen.
    #[test]
    fn an_echo_leaves_nothing_behind() {
        for echoed in ["", "^C", "^C^C", "typed"] {
            let size = |n| NonZero::new(n).unwrap();
            let mut shown = Shown(Arc::new(Mutex::new(vt100::Parser::new(
                size(20),
                size(40),
                0,
            ))));
            let screen = Screen::new(Box::new(shown.clone()), || Some((40, 20)));
            let target = ProgressDrawTarget::term_like(Box::new(screen));
            let all = MultiProgress::with_draw_target(target);
            let bar = all.add(ProgressBar::new(2));
            bar.set_style(ProgressStyle::with_template("  {pos}/{len}{msg}").unwrap());
            let row = all.insert_before(&bar, ProgressBar::new_spinner());
            row.set_style(ProgressStyle::with_template("  {wide_msg}").unwrap());
            row.set_message("one");
            bar.set_message(" 3s");
            bar.tick();
            assert_eq!(shown.lines(), ["  one", "  0/2 3s"]);
            shown.write_all(echoed.as_bytes()).unwrap();
            row.set_message("two");
            assert_eq!(shown.lines(), ["  two", "  0/2 3s"], "{echoed}");
            shown.write_all(echoed.as_bytes()).unwrap();
            row.finish_and_clear();
            all.remove(&row);
            bar.finish_and_clear();
            assert_eq!(shown.lines(), Vec::<String>::new(), "{echoed}");
        }
    }
}
