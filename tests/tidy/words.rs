//! Counts words and phrases that do not read as English, by `words.tsv`: in code for the rows
//! `names-…`, in comments for all others. The limits only fall: each is the count at some commit.

use super::source_files;
use regex::Regex;

/// How far an exception may reach beyond a match, in bytes.
const AROUND: usize = 20;

/// Splits a line into its code and its comment. Slashes after a quote may be part of a string.
fn split(line: &str) -> (&str, &str) {
    let is_comment = |at: &usize| {
        let code = &line[..*at];
        !code.contains('"') && !code.ends_with(|c: char| !c.is_whitespace())
    };
    let found = line.match_indices("//").map(|(at, _)| at).find(is_comment);
    line.split_at(found.unwrap_or(line.len()))
}

#[test]
fn comments_and_names_are_plain_english() {
    let files = source_files();
    let lines: Vec<(String, &str, &str)> = files
        .iter()
        .flat_map(|(file, text)| text.lines().zip(1..).map(move |(line, n)| (file, n, line)))
        .map(|(file, n, line)| (format!("src/{file}:{n}"), split(line)))
        .map(|(place, (code, comment))| (place, code, comment))
        .collect();
    let mut wrong = Vec::new();
    for row in include_str!("words.tsv").lines().skip(1) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [id, pattern, exception, instead, limit] = cells[..] else {
            panic!("five cells: {row}")
        };
        let pattern = Regex::new(pattern).unwrap();
        let exception = (!exception.is_empty()).then(|| Regex::new(exception).unwrap());
        let limit: usize = limit.parse().unwrap();
        let mut places = Vec::new();
        for (place, code, comment) in &lines {
            let text = if id.starts_with("names-") {
                code
            } else {
                comment
            };
            for found in pattern.find_iter(text) {
                let is_around = |e: regex::Match<'_>| {
                    e.start() + AROUND >= found.start() && e.end() <= found.end() + AROUND
                };
                let exception = exception.as_ref();
                if !exception.is_some_and(|e| e.find_iter(text).any(is_around)) {
                    places.push(place.as_str());
                }
            }
        }
        let count = places.len();
        if count > limit {
            let places = places.join(" ");
            wrong.push(format!(
                "{id}: {count} are more than {limit}; write: {instead}: {places}"
            ));
        } else if limit - count > 5 && (limit - count) * 20 > limit {
            wrong.push(format!("{id}: lower the limit of {limit} to {count}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
