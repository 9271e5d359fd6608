//! Lowers the block of an import: what it changes of what it brings.

use super::vplan::Lowering;
use vplan_base::command::is_env_name;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::nearest::nearest;
use vplan_base::setting::Row;
use vplan_contract::draft::{Allowance, At, Changes, Override, SettingName};
use vplan_lang::ast::{Arg, Node};
use vplan_lang::error::{UNKNOWN_WORD, quote};
use vplan_lang::statement::Keyword;

impl Lowering<'_> {
    /// Lowers the lines of an import's block.
    pub(super) fn changes(&mut self, node: &Node<'_>) -> Changes {
        let mut changes = Changes::default();
        for line in node.lines() {
            match line.statement.keyword {
                Keyword::AllowImport => {
                    let allowed = line.values().filter_map(|arg| self.allowance(arg));
                    changes.allowed.extend(allowed);
                }
                Keyword::Without => changes.without.extend(self.values.words(line)),
                Keyword::Override => {
                    let changed = self.change(line);
                    changes.overrides.extend(changed);
                }
                _ => {}
            }
        }
        changes
    }

    fn allowance(&mut self, arg: &Arg<'_>) -> Option<At<Allowance>> {
        let allowance = Allowance::parse(self.values.one_of(arg, Allowance::NAMES)?)?;
        Some(At::new(allowance, self.place(arg.span)))
    }

    fn change(&mut self, node: &Node<'_>) -> Option<Override> {
        let name = self.values.word(node)?;
        let content = self.content(node);
        let hole = self.hole_of_service(node);
        self.report_literal_holes(node);
        let mut without = Vec::new();
        for line in node.lines() {
            if line.statement.keyword == Keyword::WithoutSetting {
                without.extend(line.values().filter_map(|arg| self.setting_name(arg)));
            }
        }
        Some(Override {
            name,
            verbs: content.verbs,
            settings: content.settings,
            hole,
            without,
        })
    }

    /// Reads `timeout`, or `env.NAME`; reports an unknown setting.
    fn setting_name(&mut self, arg: &Arg<'_>) -> Option<At<SettingName>> {
        let word = arg.word()?;
        let place = self.place(arg.span);
        let (setting, variable) = match word.split_once('.') {
            Some((setting, variable)) => (setting, Some(variable)),
            None => (word, None),
        };
        let mut rows = Row::ALL.iter().copied();
        let row = rows.find(|row| row.setting().word == setting);
        let is_sound = variable.is_none_or(|name| row == Some(Row::Env) && is_env_name(name));
        if let Some(row) = row.filter(|_| is_sound) {
            let variable = variable.map(str::to_owned);
            return Some(At::new(SettingName { row, variable }, place));
        }
        let words = Row::ALL.iter().map(|row| row.setting().word);
        let help = match (row, nearest(setting, words.clone())) {
            (Some(Row::Env), _) => {
                "one variable is written `env.NAME`, all of them `env`".to_owned()
            }
            (Some(_), _) => format!("write `{setting}`"),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => format!("known are: {}", words.collect::<Vec<_>>().join(" ")),
        };
        let message = format!("{} is no setting", quote(word));
        let error = Diagnostic::at(UNKNOWN_WORD, message, place, "no check has it");
        self.values.sink.push(error.help(help));
        None
    }
}
