//! Draws what observed checks read, by folder, with what the contract does not select.

use super::foreign::text;
use maud::{Markup, html};
use vplan_base::word::{count, first_of};
use vplan_plan::audit::matrix::{Cell, Matrix};

/// Maximum number of files and globs in a cell.
const NAMED: usize = 8;

/// Returns the section; nothing where no step was observed.
pub(super) fn section(matrix: &Matrix) -> Markup {
    let about =
        "tracked files that were read, by folder; ✗ marks those that the contract does not select";
    html! {
        @if !matrix.rows.is_empty() {
            section {
                h2 { "what the checks read" }
                p.faint { (about) }
                div.matrix tabindex="0" {
                    table {
                        tr {
                            th {}
                            @for folder in &matrix.folders { th scope="col" { code { (text(&folder.to_string())) } } }
                        }
                        @for row in &matrix.rows {
                            tr {
                                th scope="row" { (text(&row.check)) }
                                @for folder in &matrix.folders {
                                    @if let Some(cell) = row.cells.get(folder) { (drawn(cell)) } @else { td {} }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn drawn(cell: &Cell) -> Markup {
    let mut title = count(cell.read, "file") + " read";
    if !cell.selected_by.is_empty() {
        title += &format!("; selected by {}", first_of(cell.selected_by.iter(), NAMED));
    }
    let (mut tone, mut mark) = ("good", String::new());
    if !cell.holes.is_empty() {
        let holes = first_of(cell.holes.iter().map(ToString::to_string), NAMED);
        title += &format!("; not selected: {holes}");
        (tone, mark) = ("bad", format!(" ✗{}", cell.holes.len()));
    }
    html! { td class=(tone) title=(text(&title)) { (cell.read) (mark) } }
}
