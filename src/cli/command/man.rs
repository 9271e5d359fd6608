//! `vplan man`: prints a manual page, or writes those of all commands.

use super::answer::*;
use super::help::subcommand;
use crate::args::Man;
use crate::outputs::MAN;
use clap_mangen::Man as Page;
use vplan_os::{files, view};

/// Prints a page in roff, or writes all pages into a folder.
///
/// # Errors
/// An unknown command; a folder that cannot be written to.
pub fn run(args: &Man, terminal: &Terminal) -> Result<u8, Failure> {
    match &args.dir {
        Some(dir) => write_all(dir, args.force, terminal)?,
        None => terminal.print(&roff(&Page::new(subcommand(args.command.as_deref())?))?),
    }
    Ok(Exit::Success.code())
}

fn roff(page: &Page) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    page.render(&mut bytes)
        .map_err(|e| Failure::new(Exit::Internal, "vplan::internal", e.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a page for each command, nested ones too. Nothing is written when a file is in the way.
fn write_all(dir: &Path, force: bool, terminal: &Terminal) -> Result<(), Failure> {
    let mut pages = Vec::new();
    collect(subcommand(None)?, &mut pages);
    let pages: Vec<_> = pages
        .iter()
        .map(|page| Ok((dir.join(page.get_filename()), roff(page)?)))
        .collect::<Result<_, Failure>>()?;
    for (path, _) in &pages {
        MAN.check(path, force, "vplan::usage::man")?;
    }
    let shown = visible_path(dir);
    let failed = |error: std::io::Error| {
        let message = format!("the pages cannot be written to `{shown}`: {error}");
        Failure::setup("vplan::man::written", message)
    };
    files::make_folders(&view::outside(dir)).map_err(failed)?;
    for (path, text) in &pages {
        MAN.write(path, text, force).map_err(failed)?;
    }
    if !terminal.quiet {
        terminal.say(&format!("wrote {} pages to `{shown}`\n", pages.len()));
    }
    Ok(())
}

fn collect(command: clap::Command, pages: &mut Vec<Page>) {
    for nested in command.get_subcommands() {
        collect(nested.clone(), pages);
    }
    pages.push(Page::new(command));
}
