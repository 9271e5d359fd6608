//! The codes of messages about imports.

vplan_base::codes! {
    "vplan::contract::":
    /// A file of another repository widens what a check may do, and the importing file does not allow it.
    pub(super) IMPORT_NOT_ALLOWED = "import_not_allowed";
    /// The block of an import names a check that the file does not have.
    pub(super) CHANGE_UNKNOWN = "change_unknown";
    /// Two lines of such a block change the same.
    pub(super) CHANGE_TWICE = "change_twice";
    /// A check that is taken out is needed by another.
    pub(super) CHANGE_NEEDED = "change_needed";
    /// A line of such a block says what holds anyway.
    pub(super) CHANGE_NOTHING = "change_nothing";
    /// The text after `import` names nothing that can be imported.
    pub IMPORT_SOURCE = "import_source";
    /// The text after `at` is not a directory of the repository.
    pub(super) IMPORT_AT = "import_at";
    /// Files that import each other.
    pub IMPORT_CYCLE = "import_cycle";
    /// Imports inside imports, more than the cap.
    pub(super) IMPORT_DEPTH = "import_depth";
    /// More files than the cap.
    pub(super) IMPORT_FILES = "import_files";
    /// More uses of files than the cap, or more text than the cap.
    pub(super) IMPORT_SIZE = "import_size";
    /// A file that is imported says which branch changes are made for.
    pub(super) BASE_IMPORTED = "base_imported";
    /// A file that is imported says which folders a checkout has as links.
    pub(super) LINKED_IMPORTED = "linked_imported";
    /// A file that is imported says which toolchains decide.
    pub(super) TOOLCHAIN_IMPORTED = "toolchain_imported";
    /// A file that is imported says which machines there are.
    pub(super) MACHINE_IMPORTED = "machine_imported";
}
