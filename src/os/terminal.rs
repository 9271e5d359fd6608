//! Describes the standard streams: whether they are terminals, and the settings of the environment
//! for them.

use std::io::IsTerminal;

/// The properties of the standard streams.
#[derive(Clone, Copy, Debug)]
pub struct TerminalProperties {
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Whether `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// Whether `FORCE_COLOR` or `CLICOLOR_FORCE` is set and neither empty nor `0`.
    pub force_color: bool,
    /// Whether `TERM` is `dumb`.
    pub dumb: bool,
    /// Whether `CI` is set and neither empty, `0` nor `false`; or a CI system that does not set it
    /// has set its own variable.
    pub ci: bool,
    /// The terminal's width in columns.
    pub width: Option<usize>,
}

/// Reads the properties of the standard streams.
pub fn read() -> TerminalProperties {
    let value = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let yes = |name: &str| value(name).is_some_and(|v| v != "0" && v != "false");
    TerminalProperties {
        stdout_is_terminal: std::io::stdout().is_terminal(),
        stderr_is_terminal: std::io::stderr().is_terminal(),
        no_color: value("NO_COLOR").is_some(),
        force_color: yes("FORCE_COLOR") || yes("CLICOLOR_FORCE"),
        dumb: value("TERM").is_some_and(|v| v == "dumb"),
        ci: yes("CI")
            || [
                "TF_BUILD",
                "JENKINS_URL",
                "TEAMCITY_VERSION",
                "CODEBUILD_BUILD_ID",
            ]
            .into_iter()
            .any(yes),
        width: width(),
    }
}

/// The present columns and lines of standard error's terminal.
pub fn size_of_stderr() -> Option<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether standard output and standard error are one and the same: a terminal, a pipe, a file.
pub fn same_stream() -> bool {
    let identity = |fd| rustix::fs::fstat(fd).ok().map(|s| (s.st_dev, s.st_ino));
    let (out, err) = (
        identity(rustix::stdio::stdout()),
        identity(rustix::stdio::stderr()),
    );
    out.is_some() && out == err
}
