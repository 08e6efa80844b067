//! Operations on grammars against the texts that they have.

mod intersections;
mod round_trips;
