"""The workflows, checked without GitHub: linted, their shape, their conditions, and a whole story run from the YAML."""
