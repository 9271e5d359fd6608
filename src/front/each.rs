//! Expands `each` blocks: repeats their content for each row, with the placeholders filled.

use super::vplan::Lowering;
use super::vplan_value::Values;
use std::collections::BTreeMap;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::folders::{EachQuestion, FolderError, FolderQuery};
use vplan_base::hole::{Escape, hole_of_name, holes, package_hole};
use vplan_base::path::RepoPath;
use vplan_base::span::{Place, Span};
use vplan_base::word::count;
use vplan_base::workspace::WorkspaceQuery;
use vplan_contract::ConditionIndex;
use vplan_contract::caps;
use vplan_contract::draft::{At, Package};
use vplan_contract::error::{
    EACH_GLOB, EACH_NAME, EACH_TOO_MANY, EACH_TWICE, EACH_UNUSED, EACH_WORKSPACE,
};
use vplan_lang::ast::{Arg, Body, Node, Value};
use vplan_lang::error::quote;
use vplan_lang::statement::Keyword;

/// Maximum number of rows of an `each`.
const ROWS: usize = 1_000;

/// Maximum number of statements for each check of a contract; each row counts.
const STATEMENTS: usize = 10;

/// A row of an `each`: its values, and where it is written.
struct Row {
    values: Vec<String>,
    span: Span,
    /// The package that it is about, with its name.
    package: Option<(String, Package)>,
}

impl Values<'_> {
    /// Fills the placeholders with the values of a row. Returns the argument for [`Values::leave`].
    fn enter(&mut self, names: &[(&str, Span)], row: Row) -> (usize, usize) {
        let left = (self.holes.count(), self.packages.len());
        let named = names.iter().zip(row.values);
        let named = named.map(|((name, _), value)| ((*name).to_owned(), value));
        let mut named: Vec<(String, String)> = named.collect();
        if let (Some((name, package)), Some((each, _))) = (row.package, names.first()) {
            named.push((hole_of_name(each), name));
            self.packages.push(((*each).to_owned(), package));
        }
        self.holes.enter(named);
        self.in_names = self.holes.in_names();
        left
    }

    /// Removes the values of a row from the placeholders.
    fn leave(&mut self, (holes, packages): (usize, usize)) {
        self.holes.leave(holes);
        self.in_names.leave(holes);
        self.packages.truncate(packages);
    }
}

impl Lowering<'_> {
    /// Lowers the block of an `each` once for each row. Recursion is bounded by the cap on nesting.
    pub(super) fn each(
        &mut self,
        node: &Node<'_>,
        around: &mut Vec<ConditionIndex>,
        tier: Option<At<u8>>,
    ) {
        let Some(body) = node.body.as_ref().filter(|_| !node.broken) else {
            // What it would have made is not reported as unknown.
            self.draft.absent.push(String::new());
            return;
        };
        let names = names(node);
        // A part that cannot be read may use the placeholder.
        let checked = if is_broken(node) { &[][..] } else { &names };
        for (name, span) in checked {
            if !body.nodes.iter().any(|node| uses(node, name)) {
                let error = format!("`{{{name}}}` is used nowhere in the block");
                let label = "a name without a use";
                let help = format!("write `{{{name}}}` where the value stands, or leave it out");
                let error = Diagnostic::at(EACH_UNUSED, error, self.place(*span), label);
                let error = error.help(help);
                self.values.sink.push(error);
            }
        }
        let is = |mark| node.args.iter().any(|arg| arg.value == Value::Mark(mark));
        let (in_folders, in_workspace) = (is("in-folders"), is("in-workspace"));
        let rows = match () {
            () if in_folders => self.folders(node, &names),
            () if in_workspace => self.packages(node),
            () => Some(rows(node, names.len())),
        };
        let Some(rows) = rows else {
            self.draft.absent.push(String::new());
            return;
        };
        if (in_folders || in_workspace) && self.is_too_many(node, body, rows.len()) {
            return;
        }
        let mut seen: BTreeMap<&[String], Span> = BTreeMap::new();
        for row in &rows {
            if let Some(first) = seen.insert(&row.values, row.span) {
                let error = format!("the row {} is there twice", quote(&row.values.join(" ")));
                let error =
                    Diagnostic::twice(EACH_TWICE, error, self.place(row.span), self.place(first));
                let error = error.help("keep one of them");
                self.values.sink.push(error);
                return;
            }
        }
        let outer = self.values.row;
        for row in rows {
            let left = self.values.enter(&names, row);
            let holes = self.values.holes.clone();
            self.values.row = self.draft.rows.add(self.values.id, holes);
            self.entries(&body.nodes, around, tier.clone());
            self.values.leave(left);
        }
        self.values.row = outer;
    }

    /// The rows of an `each` over packages: none where the workspace is not known yet.
    fn packages(&mut self, node: &Node<'_>) -> Option<Vec<Row>> {
        let is_str = |arg: &&Arg<'_>| matches!(arg.value, Value::Str(_));
        let named = node.args.iter().find(is_str);
        let text = match named {
            Some(arg) => self.values.text(arg, Escape::Nothing)?,
            None => ".".to_owned(),
        };
        let span = named.map_or(node.keyword, |arg| arg.span);
        let place = self.place(span);
        let Some(workspace) = WorkspaceQuery::parse(&self.whereabouts.dir, &text) else {
            let message = format!("{} is no manifest of the repository", quote(&text));
            let error = Diagnostic::error(EACH_WORKSPACE, message)
                .label(place, "a path below the directory of the contract is expected")
                .help("it is written `each NAME in-workspace \"web/package.json\" {`, or without a path for the manifest beside the root");
            self.values.sink.push(error);
            return None;
        };
        let query = EachQuestion::Workspace(workspace.clone());
        self.draft.asked.entry(query.clone()).or_insert(place);
        let known = self.whereabouts.folders.get(&query)?.clone();
        let mut rows = Vec::new();
        for (folder, member) in &known.members {
            let Ok(value) = String::from_utf8(folder.as_bytes().to_vec()) else {
                self.report_no_text(folder, place);
                continue;
            };
            let package = Package {
                workspace: workspace.clone(),
                folder: folder.clone(),
            };
            rows.push(Row {
                values: vec![value],
                span,
                package: Some((member.name.clone(), package)),
            });
        }
        self.draft.folders.insert(query, known);
        Some(rows)
    }

    fn report_no_text(&mut self, folder: &RepoPath, place: Place) {
        let message = format!("the name of the folder `{folder}` is not UTF-8");
        let help = "give the folder another name; a folder is never skipped";
        let error = Diagnostic::at(EACH_NAME, message, place, "a value is text");
        self.values.sink.push(error.help(help));
    }

    /// Returns the rows of an `each` over folders. None while the folders are unknown, or if the
    /// pattern is not a glob of folders, which is reported.
    fn folders(&mut self, node: &Node<'_>, names: &[(&str, Span)]) -> Option<Vec<Row>> {
        let is_str = |arg: &&Arg<'_>| matches!(arg.value, Value::Str(_));
        let mut strings = node.args.iter().filter(is_str);
        let first = strings.next()?;
        let glob = self.values.text(first, Escape::Glob)?;
        let with = strings.filter_map(|arg| self.values.text(arg, Escape::Nothing));
        let with: Vec<String> = with.collect();
        let stars = glob.split('/').filter(|name| *name == "*").count();
        let fault = match FolderQuery::parse(&self.whereabouts.dir, &glob, &with) {
            Ok(query) if stars == names.len() => return self.rows_of(query, first.span),
            Ok(_) | Err(FolderError::NoStar) => {
                let names = count(names.len(), "name");
                (format!("{names} and {stars} `*`"), "a `*` for each name")
            }
            Err(FolderError::Wildcard) => (
                format!("{} is no glob of folders", quote(&glob)),
                "`*` stands for a whole name, and nothing else is a wildcard",
            ),
            Err(FolderError::Path) => (
                format!("{} names no folders of the repository", quote(&glob)),
                "a path below the directory of the contract is expected",
            ),
        };
        let help =
            "it is written `each NAME in-folders \"packages/*\" {`, with as many `*` as names";
        let (message, label) = fault;
        let error = Diagnostic::at(EACH_GLOB, message, self.place(first.span), label);
        self.values.sink.push(error.help(help));
        None
    }

    fn rows_of(&mut self, query: FolderQuery, span: Span) -> Option<Vec<Row>> {
        let place = self.place(span);
        let asked = EachQuestion::Folders(query.clone());
        self.draft.asked.entry(asked.clone()).or_insert(place);
        let known = self.whereabouts.folders.get(&asked)?.clone();
        let mut rows = Vec::new();
        for folder in &known {
            let values = query.values(folder);
            let values = values.map(|name| String::from_utf8(name.to_vec()));
            // Path segments above this file's directory are not values.
            match values.collect::<Result<Vec<String>, _>>() {
                Ok(values) => rows.push(Row {
                    values,
                    span,
                    package: None,
                }),
                Err(_) => self.report_no_text(folder, place),
            }
        }
        self.draft.folders.insert(asked, known);
        Some(rows)
    }

    /// Whether the rows of an `each` over folders make more than a contract may have, which is
    /// reported.
    fn is_too_many(&mut self, node: &Node<'_>, body: &Body<'_>, rows: usize) -> bool {
        let made = Made::count(&body.nodes, &mut None);
        let checks = made.checks.saturating_mul(rows);
        let made = Made {
            checks: checks.saturating_add(self.draft.entries.len()),
            statements: made.statements.saturating_mul(rows),
        };
        let Some(message) = made.excess(rows, "folders") else {
            return false;
        };
        let error = Diagnostic::error(EACH_TOO_MANY, message)
            .label(self.place(node.keyword), "nothing was written out")
            .help("name fewer folders, or write the check for all of them once");
        self.values.sink.push(error);
        true
    }

    /// Whether the rows make more than a contract may have, which is reported. They are counted
    /// before anything is made.
    pub(super) fn is_too_much(&mut self, nodes: &[Node<'_>]) -> bool {
        let mut most_rows = None;
        let made = Made::count(nodes, &mut most_rows);
        let first = nodes
            .iter()
            .find(|node| node.statement.keyword == Keyword::Each);
        let Some((rows, place)) = most_rows.or(first.map(|node| (0, node.keyword))) else {
            return false;
        };
        let Some(message) = made.excess(rows, "rows") else {
            return false;
        };
        let error = Diagnostic::error(EACH_TOO_MANY, message)
            .label(self.place(place), "nothing was written out")
            .help("an `each` inside another multiplies the rows");
        self.values.sink.push(error);
        true
    }
}

/// How much a text makes, rows counted.
#[derive(Default)]
struct Made {
    checks: usize,
    statements: usize,
}

impl Made {
    /// Counts, without making anything. `most` becomes the first `each` with more rows than the cap.
    fn count(nodes: &[Node<'_>], most: &mut Option<(usize, Span)>) -> Self {
        let mut all = Self::default();
        for node in nodes {
            let is_check = matches!(
                node.statement.keyword,
                Keyword::Check | Keyword::RunAnonymous
            );
            let inner = node
                .body
                .as_ref()
                .map(|body| Self::count(&body.nodes, most));
            let rows = if node.statement.keyword == Keyword::Each {
                row_count(node)
            } else {
                1
            };
            if rows > ROWS {
                most.get_or_insert((rows, node.keyword));
            }
            let inner = inner.unwrap_or_default();
            let checks = inner.checks.saturating_mul(rows);
            all.checks = all.checks.saturating_add(checks + usize::from(is_check));
            let statements = inner.statements.saturating_mul(rows).saturating_add(1);
            all.statements = all.statements.saturating_add(statements);
        }
        all
    }

    /// Says what of this, or of the rows, is more than a contract may have.
    fn excess(&self, rows: usize, of: &str) -> Option<String> {
        let Self { checks, statements } = self;
        let most = caps::Caps::default().checks;
        if rows > ROWS {
            Some(format!("an `each` of {rows} {of}, {ROWS} are the most"))
        } else if *checks > most {
            Some(format!(
                "{checks} checks with all rows, {most} are the most"
            ))
        } else {
            let most = most * STATEMENTS;
            (*statements > most)
                .then(|| format!("{statements} statements with all rows, {most} are the most"))
        }
    }
}

/// Returns the names of an `each`.
fn names<'n>(node: &'n Node<'_>) -> Vec<(&'n str, Span)> {
    let head = node.args.iter();
    let head = head.take_while(|arg| !matches!(arg.value, Value::Mark(_)));
    let name = |arg: &'n Arg<'_>| Some((arg.word()?, arg.span));
    head.filter_map(name).collect()
}

fn row_count(node: &Node<'_>) -> usize {
    let values = node.args.iter();
    let values = values.filter(|arg| matches!(arg.value, Value::Item(_)));
    values.count() / names(node).len().max(1)
}

/// Returns the rows of an `each` with this many names.
fn rows<'n>(node: &'n Node<'_>, names: usize) -> Vec<Row> {
    let item = |arg: &'n Arg<'_>| match &arg.value {
        Value::Item(value) => Some((value.as_str(), arg.span)),
        _ => None,
    };
    let items: Vec<(&str, Span)> = node.args.iter().filter_map(item).collect();
    let row = |items: &[(&'n str, Span)]| {
        let (first, last) = (items.first()?, items.last()?);
        Some(Row {
            values: items.iter().map(|(value, _)| (*value).to_owned()).collect(),
            span: first.1.to(last.1),
            package: None,
        })
    };
    items.chunks(names.max(1)).filter_map(row).collect()
}

/// Whether something in a statement or its block could not be read.
fn is_broken(node: &Node<'_>) -> bool {
    let inside = |body: &Body<'_>| body.broken || body.nodes.iter().any(is_broken);
    node.broken || node.body.as_deref().is_some_and(inside)
}

/// Whether a statement or its block uses a placeholder with this name.
fn uses(node: &Node<'_>, name: &str) -> bool {
    let has = |text: &str| {
        let mut holes = holes(text);
        holes.any(|(_, hole)| package_hole(hole).unwrap_or(hole) == name)
    };
    let forms = [format!("{{{name}}}"), format!("{{{}}}", hole_of_name(name))];
    let in_arg = |arg: &Arg<'_>| match &arg.value {
        Value::Word(text) | Value::Not(text) => has(text),
        Value::Str(string) => string.holes && has(&string.text),
        Value::Command(command) => forms.iter().any(|hole| command.names_hole(hole)),
        Value::Assignment(pair) => forms.iter().any(|hole| pair.names_hole(hole)),
        Value::Shell(_) | Value::Mark(_) | Value::Item(_) => false,
    };
    node.args.iter().any(in_arg)
        || node
            .body
            .iter()
            .any(|body| body.nodes.iter().any(|node| uses(node, name)))
}
