"""The documents and values of the evaluator: frozen and typed, without I/O."""
