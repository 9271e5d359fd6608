//! Validates services and their uses in checks: `with`, and the placeholders `{port}` and `{tmp}`.

use super::checker::{Checker, DefinedService, Reference};
use super::draft::{self, At, Verb};
use super::error::{
    CHANGED_MISPLACED, DUPLICATE_LINE, NO_VERB, SEVERAL_VERBS, UNKNOWN_SERVICE, UNUSED_SERVICE,
    another_name, defined_twice,
};
use super::resolve::line;
use super::{Body, Check, InclusionIndex, ServicePlace};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::{Command, Piece};
use vplan_base::diagnostic::Diagnostic;
use vplan_base::hole::{Given, ServiceHole, replace};
use vplan_base::service::{Ready, ReadyCommand, Service, replace_in, words_mut};
use vplan_base::setting::{Row, Value};
use vplan_base::word::{Word, framed, visible};

impl Checker<'_> {
    /// Reads all services. One that several rows of an `each` define alike is one.
    pub(super) fn read_services(&mut self) {
        let draft = self.draft;
        let mut all: BTreeMap<String, DefinedService> = BTreeMap::new();
        for service in &draft.services {
            let read = self.service(service);
            let name = &service.name;
            match all.get(&name.value) {
                Some(first)
                    if first.place.span == name.place.span
                        && name.place.row > 0
                        && (first.service == read.service || read.service.is_none()) => {}
                Some(first) => {
                    let what = format!("service `{}`", visible(&name.value));
                    let is_row = first.place.span == name.place.span && name.place.row > 0;
                    let help = match is_row {
                        true => "its rows differ: write one service for each value",
                        false => another_name([first.inclusion, read.inclusion]),
                    };
                    let error = defined_twice(&what, name.place, first.place);
                    self.report(error.help(help));
                }
                None => {
                    all.insert(name.value.clone(), read);
                }
            }
        }
        self.services.all = all;
    }

    fn service(&mut self, service: &draft::Service) -> DefinedService {
        let name = &service.name;
        let shown = visible(&name.value);
        if service.verbs.is_empty() && !service.broken {
            let error = Diagnostic::error(NO_VERB, format!("service `{shown}` runs nothing"))
                .label(name.place, "has no `run`")
                .help("write what it runs as its first line: `run COMMAND`");
            self.report(error);
        }
        for again in service.verbs.iter().skip(1) {
            let error = format!("service `{shown}` runs two programs");
            let error = Diagnostic::at(SEVERAL_VERBS, error, again.place, "a second one");
            let error = error.help("a service is one program: write two services");
            self.report(error);
        }
        for again in service.ready.iter().skip(1) {
            let error = format!("`ready` stands twice in service `{shown}`");
            let error = Diagnostic::error(DUPLICATE_LINE, error)
                .label(again.place, "again here")
                .help("keep one of them; `ready run COMMAND` may ask for several things");
            self.report(error);
        }
        let (dir, mut env, timeout_ms, needs) = self.service_settings(&service.settings);
        let mut read = DefinedService {
            service: None,
            needs,
            place: name.place,
            inclusion: service.inclusion,
        };
        let Some((pieces, assigned)) = self.service_command(service.verbs.first()) else {
            return read;
        };
        env.extend(assigned);
        let mut argv = words_of(pieces);
        let ready = service.ready.first();
        let mut wait = ready.map(|ready| match &ready.value {
            draft::Ready::Tcp(port) => Ready::Tcp(port.clone()),
            draft::Ready::File(path) => Ready::File(path.clone()),
            draft::Ready::Line(text) => Ready::Line(text.clone()),
            draft::Ready::Run(command) => {
                let verb = Verb::Command(vplan_check::Kind::Run, command.clone());
                let verb = At::new(verb, ready.place);
                let (pieces, env) = self.service_command(Some(&verb)).unwrap_or_default();
                let argv = words_of(pieces);
                Ready::Run(ReadyCommand { argv, env })
            }
        });
        // A service writes its own placeholders without its name.
        let mut wrong: Option<String> = None;
        let mut own = |hole: &ServiceHole<'_>| {
            let other = hole.service.filter(|said| !is_called(&name.value, said));
            wrong = other.map(str::to_owned).or(wrong.take());
            Some(format!("{{{}}}", hole.what.name()))
        };
        for word in argv.iter_mut().chain(env.values_mut()) {
            replace_in(word, &mut own);
        }
        match &mut wait {
            Some(Ready::Tcp(text) | Ready::File(text) | Ready::Line(text)) => {
                *text = replace(text, &mut own);
            }
            Some(Ready::Run(run)) => {
                let words = run.argv.iter_mut().chain(run.env.values_mut());
                words.for_each(|word| replace_in(word, &mut own));
            }
            None => {}
        }
        if let Some(other) = wrong {
            let message = format!("service `{shown}` says a hole of `{}`", visible(&other));
            let error = Diagnostic::error(UNKNOWN_SERVICE, message)
                .label(name.place, "it knows its own port and folder")
                .help("write `{port}` and `{tmp}`; a service does not run beside another one");
            self.report(error);
        }
        let mut service = Service {
            command: vplan_base::command::to_text(&Default::default(), &argv),
            argv,
            dir,
            env,
            file: None,
            line: None,
            name: name.value.clone(),
            ready: wait,
            timeout_ms: timeout_ms.max(1),
        };
        if service.ready.is_none() && service.wants_port() {
            service.ready = Some(Ready::Tcp("{port}".to_owned()));
        }
        read.service = Some(service);
        read
    }

    /// The words and assignments of a command of a service. `None` after an error.
    fn service_command(
        &mut self,
        verb: Option<&At<Verb>>,
    ) -> Option<(Vec<Piece>, vplan_base::command::Env)> {
        let At { value, place } = verb?;
        let Verb::Command(_, Command::Argv { env, pieces }) = value else {
            return None;
        };
        if pieces.contains(&Piece::Changed) {
            let message = "`{changed}` has no meaning for a service";
            let error = Diagnostic::error(CHANGED_MISPLACED, message)
                .label(*place, "a service is there for several checks")
                .help("hand the files to a check that runs beside it");
            self.report(error);
            return None;
        }
        Some((pieces.clone(), env.clone()))
    }

    /// The services that a `with` names, and the checks that prepare them.
    pub(super) fn with(&mut self, names: &[At<String>]) -> (Vec<Service>, Vec<Reference>) {
        let mut found = BTreeMap::new();
        let mut needs = Vec::new();
        for name in names {
            let Some(defined) = self.services.all.get(&name.value) else {
                if !self.names.is_absent(&name.value) {
                    let known = self.services.all.keys().map(String::as_str);
                    let (name, shown) = (name.as_ref(), visible(&name.value));
                    let error = (self.names).unknown(UNKNOWN_SERVICE, "service", name, known);
                    let help = || format!("write `service {shown}: COMMAND`");
                    self.report(error.or_help(help));
                }
                continue;
            };
            let prepared = defined.needs.iter();
            needs.extend(prepared.map(|need| At::new(need.value, name.place)));
            if let Some(service) = &defined.service {
                found.insert(&name.value, service.clone());
            }
            self.services.used.insert(name.value.clone());
        }
        (found.into_values().collect(), needs)
    }

    /// Qualifies the placeholders of a check with the full names of its services; reports a
    /// placeholder without a value.
    pub(super) fn fill_in_services(&mut self, made: &mut Check, check: &draft::Check) {
        let with = match made.settings.get(&Row::With) {
            Some(Value::Services(services)) => services.clone(),
            _ => Vec::new(),
        };
        let names: Vec<&str> = with.iter().map(|s| s.name.as_str()).collect();
        let said = check.settings.iter().find_map(|s| match &s.value.value {
            draft::Written::Texts(said) if s.value.row == Row::With => Some(said),
            _ => None,
        });
        let said = said.into_iter().flatten();
        let said: BTreeSet<&str> = said.map(|name| name.value.as_str()).collect();
        // Without placeholders there is nothing to fill, whatever a text looks like; unresolved
        // services were reported.
        if check.hole.is_none() && names.is_empty() || said.len() > names.len() {
            return;
        }
        let place = check.hole.as_ref().map_or(check.place, |hole| hole.place);
        let mut faults: Vec<(String, String)> = Vec::new();
        let mut whole = |hole: &ServiceHole<'_>| {
            let what = hole.what.name();
            let found: Vec<&&str> = match hole.service {
                Some(said) if names.contains(&said) => {
                    names.iter().filter(|name| **name == said).collect()
                }
                Some(said) => names.iter().filter(|name| is_called(name, said)).collect(),
                None => names.iter().collect(),
            };
            match found.as_slice() {
                [name] => {
                    let of = with.iter().find(|service| service.name == **name);
                    if hole.what == Given::Port && of.is_some_and(|of| !of.wants_port()) {
                        let help = "write `{port}` where the service says on which one it listens";
                        faults.push((format!("service `{name}` has no port"), help.to_owned()));
                    }
                    return Some(format!("{{{name}.{what}}}"));
                }
                [] => {
                    let of = framed("", hole.service, ".");
                    let help = match (hole.service, names.first()) {
                        (Some(_), Some(near)) => format!("write `{{{near}.{what}}}`"),
                        (Some(service), None) => format!("write `with {service}`"),
                        (None, _) => match self.services.all.keys().next() {
                            Some(name) => format!("write `with {name}`"),
                            None => "write `with NAME`, and `service NAME: COMMAND`".to_owned(),
                        },
                    };
                    let message = "is of no service that the check runs beside";
                    faults.push((format!("`{{{of}{what}}}` {message}"), help));
                }
                [first, ..] => faults.push((
                    format!("`{{{what}}}` is of several services"),
                    format!("write `{{{first}.{what}}}`"),
                )),
            }
            None
        };
        if let Body::Command(Command::Argv { pieces, .. }) = &mut made.body {
            words_mut(pieces).for_each(|word| replace_in(word, &mut whole));
        }
        if let Some(Value::Command(Command::Argv { env, pieces })) =
            made.settings.get_mut(&Row::Fix)
        {
            let words = words_mut(pieces).chain(env.values_mut());
            words.for_each(|word| replace_in(word, &mut whole));
        }
        if !(names.is_empty() && matches!(made.body, Body::File { .. } | Body::Judge(_))) {
            for word in made.env.values_mut() {
                replace_in(word, &mut whole);
            }
        }
        if let Some((message, help)) = faults.into_iter().next() {
            let error = Diagnostic::error(UNKNOWN_SERVICE, message)
                .label(place, "stands for nothing in this");
            self.report(error.help(help));
        }
    }

    /// Warns of services that no check uses. Imports may define more than is used.
    pub(super) fn report_unused_services(&mut self) {
        for (name, defined) in &self.services.all {
            if self.incomplete
                || defined.inclusion != InclusionIndex::CONTRACT
                || self.services.used.contains(name)
            {
                continue;
            }
            let warning =
                Diagnostic::warning(UNUSED_SERVICE, format!("service `{name}` is never used"))
                    .label(defined.place, "no check says `with` and its name")
                    .help("remove it, or write `with` into the block of a check that needs it");
            self.sink.push(warning);
        }
    }

    /// Where the services are defined, by name.
    pub(super) fn service_places(&self) -> BTreeMap<String, ServicePlace> {
        let place = |(name, defined): (&String, &DefinedService)| {
            let place = ServicePlace {
                line: line(self.sources, defined.place),
                source: defined.place.source,
            };
            (name.clone(), place)
        };
        self.services.all.iter().map(place).collect()
    }
}

/// Whether a service is meant by a name: its own, or that without the namespaces of imports.
fn is_called(name: &str, said: &str) -> bool {
    let before = name.strip_suffix(said);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

pub(super) fn words_of(pieces: Vec<Piece>) -> Vec<Word> {
    let word = |piece| match piece {
        Piece::Word(word) => Some(word),
        Piece::Changed => None,
    };
    pieces.into_iter().filter_map(word).collect()
}
