"""What the evaluator writes: results, duels, traces and previews, and their parsers."""
