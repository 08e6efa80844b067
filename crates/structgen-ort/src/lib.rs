//! Language models on ONNX Runtime: the runtime library, sessions, key-value caches and execution providers.
