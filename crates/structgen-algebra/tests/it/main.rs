//! Operations on grammars, compared with explicit lists of their texts.

mod intersections;
mod limits;
mod round_trips;
