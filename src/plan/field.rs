//! The fields of a step that hold settings of the table, read and written by the row.

use super::step::empty;
use super::{MAY_CHANGE, Origin, Step};
use vplan_base::glob::{Glob, Selection};
use vplan_base::index::bug;
use vplan_base::machine::On;
use vplan_base::service::Service;
use vplan_base::setting::{Row, Setting, Value};
use vplan_base::vocabulary::{FormatName, Open};
use vplan_check::Severity;
use vplan_check::confine::{NetworkUse, SandboxLevel};
use vplan_contract::Check;

/// The value of a setting in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// Nothing.
    Nothing,
    /// It is set.
    Flag,
    /// A number, or a duration in milliseconds.
    Number(u64),
    /// A word, a name or a text.
    Text(&'a str),
    /// Paths outside of the repository, at least one.
    Outside(&'a [String]),
    /// Globs, at least one.
    Globs(&'a [Glob]),
    /// A selection of files.
    Selection(&'a Selection),
    /// Services, at least one.
    Services(&'a [Service]),
}

/// A field of a step that holds a setting of the table.
pub(super) trait Field {
    /// Returns what is in it.
    fn held(&self) -> FieldValue<'_>;
    /// Puts a checked value into it.
    fn put(&mut self, value: Value);
    /// Makes it what it is in an empty step.
    fn clear(&mut self);
}

macro_rules! fields {
    ($($field:ty: $from:pat => $put:expr, |$this:ident| $held:expr;)*) => {
        $(impl Field for $field {
            fn held(&self) -> FieldValue<'_> {
                let $this = self;
                $held
            }

            fn put(&mut self, value: Value) {
                *self = match value {
                    $from => $put,
                    _ => bug("a setting with a value of another kind"),
                };
            }

            fn clear(&mut self) {
                *self = Self::default();
            }
        })*
    };
}

fields! {
    bool: Value::Flag => true, |set| if *set { FieldValue::Flag } else { FieldValue::Nothing };
    u32: Value::Number(n) => u32::try_from(n).unwrap_or(u32::MAX), |n| FieldValue::Number((*n).into());
    u64: Value::Number(n) => n, |n| FieldValue::Number(*n);
    Option<u64>: Value::Number(n) => Some(n), |n| n.map_or(FieldValue::Nothing, FieldValue::Number);
    Option<String>: Value::Text(text) => Some(text),
        |text| text.as_deref().map_or(FieldValue::Nothing, FieldValue::Text);
    Severity: Value::Word(word) => if word == "warning" { Self::Warning } else { Self::Blocking },
        |severity| FieldValue::Text(match severity {
            Severity::Blocking => "blocking",
            Severity::Warning => "warning",
        });
    SandboxLevel: Value::Word(word) => Self::parse(word).unwrap_or_default(),
        |level| FieldValue::Text(level.name());
    NetworkUse: Value::Word(word) => Self::parse(word).unwrap_or_default(),
        |network| FieldValue::Text(network.name());
    Vec<Glob>: Value::Globs(globs) => globs,
        |globs| if globs.is_empty() { FieldValue::Nothing } else { FieldValue::Globs(globs) };
    Vec<String>: Value::Outside(paths) => paths,
        |paths| if paths.is_empty() { FieldValue::Nothing } else { FieldValue::Outside(paths) };
    Vec<Service>: Value::Services(services) => services,
        |services| if services.is_empty() { FieldValue::Nothing } else { FieldValue::Services(services) };
    Option<On>: Value::On(on) => Some(on),
        |on| on.as_ref().map_or(FieldValue::Nothing, |on| FieldValue::Text(on.word()));
    Option<Selection>: Value::Selection(selection) => Some(selection),
        |selection| selection.as_ref().map_or(FieldValue::Nothing, FieldValue::Selection);
}

impl Field for Option<Open<FormatName>> {
    fn held(&self) -> FieldValue<'_> {
        self.as_deref()
            .map_or(FieldValue::Nothing, FieldValue::Text)
    }

    fn put(&mut self, value: Value) {
        *self = match value {
            Value::Word(word) => Some(word.into()),
            // One that the contract defines.
            Value::Text(name) => Some(name.as_str().into()),
            _ => None,
        };
    }

    fn clear(&mut self) {
        *self = None;
    }
}

/// Lists the rows of the table with the fields of a step, and those whose value is none of the
/// table's.
macro_rules! fields_of_settings {
    ($($row:ident $field:ident,)* ; $($particular:ident,)*) => {
        impl Step {
            fn field(&self, row: Row) -> Option<&dyn Field> {
                match row {
                    $(Row::$row => Some(&self.$field),)*
                    $(Row::$particular)|* => None,
                }
            }

            fn field_mut(&mut self, row: Row) -> Option<&mut dyn Field> {
                match row {
                    $(Row::$row => Some(&mut self.$field),)*
                    $(Row::$particular)|* => None,
                }
            }
        }
    };
}

fields_of_settings! {
    Always always, Cleans cleans, Context context, Describe describe,
    Exclusive exclusive, Fix fix, Format format, Inputs inputs, MaxErrors max_errors,
    MaxWarnings max_warnings, MinTests min_tests, Network network, On on, Optional optional, Produces produces,
    Reads reads, Requires requires, Retries retries, Sandbox sandbox, Setup setup, Severity severity, Shared shared,
    Timeout timeout_ms, Unchanged unchanged, With with, Writes writes,
    ;
    Dir, Env, Exit, Needs, PassEnv, Report, SkipExit, Tags, Tier, ToolPath,
}

impl Step {
    /// Returns what it has of a setting; nothing of one that is not a value of the table.
    pub fn held(&self, row: Row) -> FieldValue<'_> {
        self.field(row).map_or(FieldValue::Nothing, Field::held)
    }

    /// Puts a checked value where it keeps a setting.
    pub(super) fn put(&mut self, row: Row, value: Value) {
        let value = match value {
            Value::Command(command) => Value::Text(command.to_text()),
            value => value,
        };
        match self.field_mut(row) {
            Some(field) => field.put(value),
            None => bug("a setting that a step has no field for"),
        }
    }

    /// Returns a step with only what a check declares about the files that it may change.
    pub fn changing(check: &Check) -> Self {
        let mut step = Self {
            env: check.env.clone(),
            report: check.report.clone(),
            ..empty(check.kind, Origin::Contract)
        };
        for row in [MAY_CHANGE, Row::Produces, Row::Cleans] {
            if let Some(value) = check.settings.get(&row) {
                step.put(row, value.clone());
            }
        }
        step
    }

    /// Makes these settings what they are in an empty step.
    pub fn forget(&mut self, is_out: fn(&Setting) -> bool) {
        for row in Row::ALL.iter().filter(|row| is_out(row.setting())) {
            if let Some(field) = self.field_mut(*row) {
                field.clear();
            }
        }
    }
}
