//! Operations on grammars against the texts that they have.

mod intersections;
mod limits;
mod round_trips;
