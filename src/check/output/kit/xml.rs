//! Walks untrusted XML: iteratively, without expanding what it declares, keeping a bounded part of
//! its text.

use crate::output::kit::message::Message;
use crate::results::TEXT_KEPT;
use quick_xml::events::{BytesStart, Event};

/// Takes the parts of a document in their order. Depths count from 1 for the root.
pub trait Visit {
    /// An element begins. Its name is without its namespace.
    fn open(&mut self, depth: usize, name: &str, attributes: &Attributes<'_>);
    /// Text within the element that is open.
    fn text(&mut self, text: &str);
    /// The element at this depth ends.
    fn close(&mut self, depth: usize);
}

/// The attributes of an element.
pub struct Attributes<'a>(&'a BytesStart<'a>);

impl Attributes<'_> {
    /// Gives each one's name and a way to its value, which costs only when it is taken. Names that
    /// occur twice are given twice: looking for them costs too much where there are a million.
    pub fn each(&self, mut take: impl FnMut(&str, &dyn Fn() -> String)) {
        for attribute in self.0.attributes().with_checks(false).flatten() {
            take(attribute.key.local_name().as_ref(), &|| {
                let raw: &str = attribute.value.as_ref();
                let end = raw.floor_char_boundary(4 * TEXT_KEPT);
                let raw = raw.get(..end).unwrap_or_default();
                // What is not predefined stays as it is written.
                quick_xml::escape::unescape(raw).map_or_else(|_| raw.to_owned(), Into::into)
            });
        }
    }
}

/// A text as documents spell it.
pub fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).into_owned()
}

/// The greatest depth of elements.
const DEPTH: usize = 1000;

/// Walks through all documents that follow each other in a text.
///
/// # Errors
/// One line on what is wrong with it; what was well before that has been given.
pub fn walk(text: &str, visit: &mut impl Visit) -> Result<(), String> {
    let mut reader = quick_xml::Reader::from_str(text);
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Err(error) => return Err(error.to_string()),
            Ok(Event::Eof) if depth > 0 => return Err("it ends before it is complete".to_owned()),
            Ok(Event::Eof) => return Ok(()),
            Ok(Event::Decl(_)) if depth > 0 => {
                return Err("another one begins before it is complete".to_owned());
            }
            Ok(Event::Start(_)) if depth >= DEPTH => {
                return Err("it is nested too deeply".to_owned());
            }
            Ok(Event::Start(start)) => {
                depth += 1;
                visit.open(depth, start.local_name().as_ref(), &Attributes(&start));
            }
            Ok(Event::Empty(start)) => {
                let name = start.local_name();
                visit.open(depth + 1, name.as_ref(), &Attributes(&start));
                visit.close(depth + 1);
            }
            Ok(Event::End(_)) => {
                visit.close(depth);
                depth = depth.saturating_sub(1);
            }
            Ok(Event::Text(text)) => visit.text(&text.into_inner()),
            Ok(Event::CData(text)) => visit.text(&text.into_inner()),
            Ok(Event::GeneralRef(reference)) => {
                let name = reference.borrow().into_inner();
                let mut buffer = [0; 4];
                let text = match reference.resolve_char_ref() {
                    Ok(Some(character)) => &*character.encode_utf8(&mut buffer),
                    // What a document declares itself may hold elements, and is not expanded.
                    Ok(None) => match quick_xml::escape::resolve_xml_entity(&name) {
                        Some(text) => text,
                        None => return Err(format!("it uses the unknown entity `{name}`")),
                    },
                    Err(_) => "\u{fffd}",
                };
                visit.text(text);
            }
            Ok(Event::Comment(_) | Event::PI(_) | Event::DocType(_) | Event::Decl(_)) => {}
        }
    }
}

/// Adds text while there is room.
pub fn append(to: &mut String, text: &str) {
    let room = (4 * TEXT_KEPT).saturating_sub(to.len());
    let end = text.floor_char_boundary(room);
    to.push_str(text.get(..end).unwrap_or_default());
}

/// The first lines of a text that say something, without terminal sequences and what is below them
/// of a stack.
pub(crate) fn first_lines(text: &str) -> String {
    let mut message = Message::default();
    for line in vplan_base::inert::without_escapes(text).lines() {
        let start = line.trim_start();
        if start.starts_with("at ") || start.starts_with("stack backtrace:") {
            break;
        }
        message.line(line);
    }
    message.take().unwrap_or_default()
}
