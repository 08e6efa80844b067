//! Explanations of refused texts: the keyword is the one that an independent validator names, the rule and the place
//! are right, and the nearest text matches.

mod grammars;
mod mutated;
mod suite;
