//! Maps every failure of a server that executes steps to a reaction: a total table.

/// The reaction to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The call for the same execution is resumed or repeated: the connection failed, or the server
    /// is busy.
    Resume,
    /// Some content was lost there: all inputs are uploaded again, then the call is repeated.
    Upload,
    /// Another order is sent: this try has no end that counts.
    Order,
    /// Nothing: no order has another end.
    Never,
}

/// The numbers of statuses (google/rpc/code.proto).
pub mod code {
    /// It ended.
    pub const OK: i32 = 0;
    /// The call was cancelled.
    #[cfg(test)]
    pub(crate) const CANCELLED: i32 = 1;
    /// Clients also report this for a server that is gone.
    pub const UNKNOWN: i32 = 2;
    /// The request is invalid.
    pub(crate) const INVALID_ARGUMENT: i32 = 3;
    /// Its time was up.
    #[cfg(test)]
    pub(crate) const DEADLINE_EXCEEDED: i32 = 4;
    /// Something is not there.
    pub const NOT_FOUND: i32 = 5;
    /// The caller may not do that.
    pub const PERMISSION_DENIED: i32 = 7;
    /// There is too much to do.
    pub(crate) const RESOURCE_EXHAUSTED: i32 = 8;
    /// Something that it needs is not there.
    pub(crate) const FAILED_PRECONDITION: i32 = 9;
    /// It was given up.
    pub(crate) const ABORTED: i32 = 10;
    /// It cannot do that.
    pub const UNIMPLEMENTED: i32 = 12;
    /// It failed.
    pub(crate) const INTERNAL: i32 = 13;
    /// It is not there.
    pub(crate) const UNAVAILABLE: i32 = 14;
    /// The caller is unknown.
    pub const UNAUTHENTICATED: i32 = 16;
}

/// Returns the reaction to a status. `OK` is the status of an end without an answer.
pub fn after(status: i32) -> Next {
    match status {
        code::UNAVAILABLE | code::RESOURCE_EXHAUSTED | code::ABORTED | code::UNKNOWN => {
            Next::Resume
        }
        // Servers report any of these for lost contents.
        code::FAILED_PRECONDITION | code::NOT_FOUND | code::INTERNAL => Next::Upload,
        code::INVALID_ARGUMENT
        | code::PERMISSION_DENIED
        | code::UNIMPLEMENTED
        | code::UNAUTHENTICATED => Next::Never,
        // Among them DEADLINE_EXCEEDED and CANCELLED: in any case, this vplan did not end it.
        _ => Next::Order,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_an_answer() {
        let all = |next| (-2..20).filter(move |status| after(*status) == next);
        assert_eq!(all(Next::Resume).collect::<Vec<_>>(), [2, 8, 10, 14]);
        assert_eq!(all(Next::Upload).collect::<Vec<_>>(), [5, 9, 13]);
        assert_eq!(all(Next::Never).collect::<Vec<_>>(), [3, 7, 12, 16]);
        assert_eq!(after(code::OK), Next::Order);
        assert_eq!(after(code::DEADLINE_EXCEEDED), Next::Order);
        assert_eq!(after(code::CANCELLED), Next::Order);
    }
}
