//! The command line: parses it, runs commands, prints results. The only crate that uses clap and
//! miette's fancy handler, and the only one that writes to the terminal.

#![forbid(unsafe_code)]

mod args;
mod command;
pub mod command_line;
mod complete;
pub mod hints;
mod history;
mod outputs;
mod overview;
mod page;
mod progress;
pub mod render;
mod reports;
mod request;
mod screen;
mod servers;
mod terminal;
mod value;

use clap::ColorChoice;
use command_line::{Command, CommandLine};
use std::ffi::OsString;
use std::process::ExitCode;
use terminal::Terminal;
use vplan_base::vocabulary::Exit;
use vplan_base::word::framed;
use vplan_engine::{Failure, staged};
use vplan_os::process::survive_file_limits;
use vplan_os::{completing, own_program, view};
use vplan_repo::load;

/// Runs vplan for a command line and returns its exit code.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut arguments: Vec<OsString> = arguments.collect();
    let makes_view = view::is_asked(&mut arguments);
    let Some(arguments) = own_program::end_with_parent(arguments) else {
        return ExitCode::from(Exit::Internal.code());
    };
    match view::attempted(&arguments) {
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::from(Exit::Setup.code());
        }
        None => {}
    }
    if let Some(question) = completing::question(&arguments) {
        return completed(&question);
    }
    let line = match CommandLine::read(arguments, help_color) {
        Ok(line) => line,
        Err(error) => {
            // A closed pipe must not cause a failure: `vplan --help | head -1`.
            let _ = error.print();
            return ExitCode::from(Exit::Usage.when(error.use_stderr()).code());
        }
    };
    report_bugs();
    survive_file_limits();
    let terminal = Terminal::new(line.global.color, line.global.quiet);
    trace(line.global.verbose);
    own_program::remember_directory();
    let code = run(line, makes_view, &terminal).unwrap_or_else(|failure: Failure| {
        terminal.failure(&failure);
        failure.exit.code()
    });
    ExitCode::from(terminal.close(code))
}

/// Answers a shell that completes a command line. What is wrong is not said: the user is typing.
fn completed(question: &completing::CompletionQuestion) -> ExitCode {
    let answered = complete::answer(question)
        .and_then(|text| std::io::Write::write_all(&mut std::io::stdout(), &text));
    ExitCode::from(match answered {
        Ok(()) => Exit::Success.code(),
        Err(_) => Exit::Usage.code(),
    })
}

/// Enters the directory of the command line, as git and make do: whatever it names is then relative
/// to that, files to read and to write too. Returns why a hook could not.
fn enter(line: &CommandLine) -> Result<Option<Failure>, Failure> {
    let Some(dir) = &line.global.directory else {
        return Ok(None);
    };
    match (load::enter(dir), &line.command) {
        (Ok(()), _) => Ok(None),
        // A session whose repository was moved or removed is answered all the same.
        (Err(error), Command::Hook(_)) => Ok(Some(error.into())),
        (Err(error), _) => Err(error.into()),
    }
}

fn run(mut line: CommandLine, makes_view: bool, terminal: &Terminal) -> Result<u8, Failure> {
    let unreachable = enter(&line)?;
    if view::has_checkout() {
        line.keep_folders();
        view::enter_checkout().map_err(|e| staged::no_checkout(&e))?;
    }
    let global = &line.global;
    if makes_view {
        return Err(staged::enter(&global.engine(), line.command.records()));
    }
    match line.command {
        Command::Init(args) => command::init::run(global, &args, terminal),
        Command::Import(args) => command::import::run(global, &args, terminal),
        Command::Check(args) => command::check::run(global, &args, terminal),
        Command::Fmt(args) => command::fmt::run(global, &args, terminal),
        Command::Explain(args) => command::explain::run(global, &args, terminal),
        Command::Plan(args) => command::plan::run(global, &args, terminal),
        Command::Run(args) => command::run::run(global, &args, terminal),
        Command::Fix(args) => command::fix::run(global, &args, terminal),
        Command::Loop(args) => command::r#loop::run(global, &args, terminal),
        Command::Gate(args) => command::gate::run(global, &args, terminal),
        Command::Hook(args) => command::hook::run(global, &args, unreachable, terminal),
        Command::Emit(args) => command::emit::run(global, &args, terminal),
        Command::Merge(args) => command::merge::run(global, &args, terminal),
        Command::Feedback(args) => command::feedback::run(global, &args, terminal),
        Command::Diff(args) => command::diff::run(global, &args, terminal),
        Command::Test(args) => command::test::run(global, &args, terminal),
        Command::Recover(args) => command::recover::run(global, &args, terminal),
        Command::Step(args) => command::step::run(global, &args, terminal),
        Command::Classify(args) => command::classify::run(global, &args, terminal),
        Command::Argv(args) => command::argv::run(global, &args, terminal),
        Command::Lock(args) => command::lock::run(global, &args, terminal),
        Command::Audit(args) => command::audit::run(global, &args, terminal),
        Command::Baseline(args) => command::baseline::run(global, &args, terminal),
        Command::Std(args) => command::std::run(global, &args, terminal),
        Command::Schema(args) => command::schema::run(global, &args, terminal),
        Command::Completions(args) => command::completions::run(&args, terminal),
        Command::Man(args) => command::man::run(&args, terminal),
        Command::Status(args) => command::status::run(global, &args, terminal),
        Command::Runs(args) => command::runs::run(global, &args, terminal),
        Command::Details(args) => command::details::run(global, &args, terminal),
        Command::Log(args) => command::log::run(global, &args, terminal),
        Command::Report(args) => command::report::run(global, &args, terminal),
        Command::Stats(args) => command::stats::run(global, &args, terminal),
        Command::Verify(args) => command::verify::run(global, &args, terminal),
        Command::Gc(args) => command::gc::run(global, &args, terminal),
        Command::Tour(_) => command::tour::run(terminal),
        Command::Help(args) => command::help::run(&args, terminal),
    }
}

/// Makes a bug in vplan exit 1, wherever it is found, never a code that says something about the
/// change. Steps that run are stopped by their supervisors when this process is gone.
fn report_bugs() {
    std::panic::set_hook(Box::new(|found| {
        let said = found.payload_as_str().unwrap_or("it panicked");
        let what = said.strip_prefix("a bug in vplan: ").unwrap_or(said);
        let place = framed(" (", found.location(), ")");
        let text =
            format!("error[vplan::internal]: a bug in vplan, please report it: {what}{place}");
        let text = vplan_base::word::visible(&text) + "\n";
        // If standard error is gone too, nothing can be reported.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        std::process::exit(i32::from(Exit::Internal.code()));
    }));
}

/// Whether what clap says is coloured: it says most of it when the command line cannot be read,
/// `--color` included.
fn help_color(arguments: &[OsString]) -> ColorChoice {
    let words = arguments.iter().filter_map(|a| a.to_str());
    let words: Vec<&str> = words.take_while(|a| *a != "--").collect();
    let joined = words.iter().rev().find_map(|w| w.strip_prefix("--color="));
    let apart = || {
        words.windows(2).rev().find_map(|pair| match pair {
            ["--color", value] => Some(*value),
            _ => None,
        })
    };
    let seen = vplan_os::terminal::read();
    match joined.or_else(apart) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ if seen.no_color => ColorChoice::Never,
        _ if seen.force_color => ColorChoice::Always,
        _ => ColorChoice::Auto,
    }
}

fn trace(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    // A second subscriber in one process (a library user's) is theirs to keep.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(true)
        .with_ansi(false)
        .without_time()
        .try_init();
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use vplan_base::index::bug;

    /// Not a test: see the next one.
    #[test]
    #[ignore = "started in a process of its own"]
    fn found_here() {
        super::report_bugs();
        bug("here");
    }

    /// Not a test: see the next one.
    #[test]
    #[ignore = "started in a process of its own"]
    fn found_in_a_thread() {
        super::report_bugs();
        // The driving thread waits for a message that never comes.
        let (_kept, messages) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(|| bug("in a thread"));
            let _ = messages.recv();
        });
    }

    #[expect(clippy::disallowed_methods, reason = "a test starts itself")]
    #[test]
    fn a_bug_is_exit_1_whichever_thread_finds_it() {
        for (name, what) in [("found_here", "here"), ("found_in_a_thread", "in a thread")] {
            let ended = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--ignored", &format!("tests::{name}")])
                .output()
                .unwrap();
            let said = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(1), "{said}");
            let wording = "error[vplan::internal]: a bug in vplan, please report it: ";
            assert!(said.contains(&format!("{wording}{what} (src/")), "{said}");
        }
    }
}
