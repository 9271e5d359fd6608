//! Validates `machine` blocks, and what checks say of them: `on`.

use super::Check;
use super::checker::{Checker, KnownMachine};
use super::draft::{self, At};
use super::error::{
    ADD_INPUTS, DUPLICATE_LINE, EMPTY_MACHINE, MACHINE_HERE, MACHINE_SIZE, ON_WITHOUT_INPUTS,
    UNKNOWN_MACHINE, UNUSED_MACHINE, defined_twice,
};
use std::collections::BTreeMap;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::machine::{MOST_PROPERTIES, Machine, On};
use vplan_base::setting::{Row, Value};
use vplan_base::span::Place;
use vplan_base::word::visible;

impl Checker<'_> {
    /// Reads all `machine` blocks.
    pub(super) fn read_machines(&mut self) {
        for machine in &self.draft.machines {
            let At { value: name, place } = &machine.name;
            if name == On::HERE {
                let message = "`here` is the machine of vplan itself";
                let error = Diagnostic::at(MACHINE_HERE, message, *place, "this name is taken");
                let error = error.help("give it another name; `on here` needs no block");
                self.report(error);
                continue;
            }
            if let Some(first) = self.machines.get(name) {
                let what = format!("the machine `{name}`");
                self.report(defined_twice(&what, *place, first.place));
                continue;
            }
            let known = KnownMachine {
                place: *place,
                properties: self.properties(machine),
                is_used: false,
            };
            self.machines.insert(name.clone(), known);
        }
    }

    /// Reads the lines of a block.
    fn properties(&mut self, machine: &draft::Machine) -> BTreeMap<String, String> {
        let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
        let mut properties = BTreeMap::new();
        for At { value, place } in &machine.properties {
            let (name, value) = value;
            if let Some(first) = seen.insert(name, *place) {
                let message = format!("the property \"{}\" stands twice", visible(name));
                let error = Diagnostic::twice(DUPLICATE_LINE, message, *place, first);
                let error = error.help("keep one of them");
                self.report(error);
            }
            properties.insert(name.clone(), value.clone());
        }
        if let Some(line) = machine.properties.get(MOST_PROPERTIES) {
            let count = machine.properties.len();
            let message =
                format!("the machine has {count} properties, {MOST_PROPERTIES} are the most");
            let error = Diagnostic::at(MACHINE_SIZE, message, line.place, "the first one too many");
            self.report(error);
        }
        if machine.properties.is_empty() && !machine.is_broken {
            let error = Diagnostic::error(EMPTY_MACHINE, "the machine is like any other")
                .label(machine.name.place, "without a property")
                .help("write what the server knows it by: `property \"OSFamily\" \"linux\"`");
            self.report(error);
        }
        properties
    }

    /// Reads the word after `on`. `None` after an error.
    pub(super) fn on(&mut self, name: &str, place: Place) -> Option<On> {
        if name == On::HERE {
            return Some(On::Here);
        }
        if let Some(known) = self.machines.get_mut(name) {
            known.is_used = true;
            let (name, properties) = (name.to_owned(), known.properties.clone());
            return Some(On::Machine(Machine { name, properties }));
        }
        if self.incomplete || self.names.is_absent(name) {
            return None;
        }
        let known = self.machines.keys().map(String::as_str).chain([On::HERE]);
        let named = At::new(name, place);
        let error = (self.names).unknown(UNKNOWN_MACHINE, "machine", named, known);
        let help = || format!("a block `machine {} {{` makes it known", visible(name));
        self.report(error.or_help(help));
        None
    }

    /// A check that is to be executed on another machine, where not all that it depends on is known.
    pub(super) fn report_on(&mut self, made: &Check, check: &draft::Check) {
        let own = check.settings.iter().rfind(|one| one.value.row == Row::On);
        let on = made.settings.get(&Row::On);
        if let (Some(own), Some(Value::On(On::Machine(_)))) = (own, on)
            && !self.incomplete
            && !made.has(Row::Inputs)
        {
            let message = "what must be on that machine is not said";
            let label = "the check has no `inputs`";
            let error = Diagnostic::at(ON_WITHOUT_INPUTS, message, own.place, label);
            self.report(error.help(ADD_INPUTS));
        }
    }

    /// Warns of machines that nothing is executed on.
    pub(super) fn report_unused_machines(&mut self) {
        // A contract without checks says so itself.
        if self.names.defined.is_empty() || self.incomplete {
            return;
        }
        for (name, known) in self.machines.iter().filter(|(_, known)| !known.is_used) {
            let message = format!("the machine `{name}` is never used");
            let help = format!("write `on {name}` into a check, or remove the block");
            let warning = Diagnostic::warning(UNUSED_MACHINE, message)
                .label(known.place, "no check says `on` and its name");
            self.sink.push(warning.help(help));
        }
    }
}
