"""The commands of `pullrank`, one module each."""
