//! Guaranteed JSON from language models: typed extraction and the pieces underneath.
