//! From the grammar IR to byte automata: terminals as DFAs, rules as a recursive transition network with registers.
