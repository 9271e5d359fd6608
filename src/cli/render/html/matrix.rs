//! Draws what observed checks read, by folder, with what the contract does not select.

use super::foreign::text;
use std::fmt::Write as _;
use vplan_base::word::{count, first_of};
use vplan_plan::audit::matrix::{Cell, Matrix};

/// Maximum number of files and globs in a cell.
const NAMED: usize = 8;

/// Writes the section; nothing where no step was observed.
pub(super) fn section(out: &mut String, matrix: &Matrix) {
    if matrix.rows.is_empty() {
        return;
    }
    out.push_str(
        "<section>\n<h2>what the checks read</h2>\n<p class=\"faint\">tracked files that were read, by folder; ✗ marks those that the \
         contract does not select</p>\n<div class=\"matrix\" tabindex=\"0\">\n<table>\n<tr><th></th>",
    );
    for folder in &matrix.folders {
        let folder = text(&folder.to_string());
        let _ = write!(out, "<th scope=\"col\"><code>{folder}</code></th>");
    }
    out.push_str("</tr>\n");
    for row in &matrix.rows {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", text(&row.check));
        for folder in &matrix.folders {
            match row.cells.get(folder) {
                Some(cell) => write_cell(out, cell),
                None => out.push_str("<td></td>"),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table>\n</div>\n</section>\n");
}

fn write_cell(out: &mut String, cell: &Cell) {
    let mut title = count(cell.read, "file") + " read";
    if !cell.selected_by.is_empty() {
        let by = first_of(cell.selected_by.iter(), NAMED);
        let _ = write!(title, "; selected by {by}");
    }
    let (mut tone, mut mark) = ("good", String::new());
    if !cell.holes.is_empty() {
        let holes = first_of(cell.holes.iter().map(ToString::to_string), NAMED);
        let _ = write!(title, "; not selected: {holes}");
        (tone, mark) = ("bad", format!(" ✗{}", cell.holes.len()));
    }
    let (title, read) = (text(&title), cell.read);
    let _ = write!(
        out,
        "<td class=\"{tone}\" title=\"{title}\">{read}{mark}</td>"
    );
}
