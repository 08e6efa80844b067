//! Ids: indices into the lists of a program.

use structgen_grammar::RuleId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub(crate) struct $name(u32);

            impl $name {
                /// Creates the id of an index. [`Limits::nodes`](crate::Limits::nodes) keeps lists far shorter than ids
                /// can count.
                pub(crate) const fn new(index: usize) -> Self {
                    Self(index as u32)
                }

                /// Creates the id from a number, as frames store it.
                pub(crate) const fn from_number(number: u32) -> Self {
                    Self(number)
                }

                pub(crate) const fn number(self) -> u32 {
                    self.0
                }

                pub(crate) const fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )*
    };
}

ids! {
    /// A node.
    NodeId;
    /// A procedure: made from a rule, a guided part, or the body of a counted repetition.
    ProcId;
}

impl NodeId {
    /// The end of every procedure.
    pub(crate) const END: Self = Self::new(0);
}

impl From<RuleId> for ProcId {
    /// The procedures of the rules come first.
    fn from(rule: RuleId) -> Self {
        Self::new(rule.index())
    }
}
