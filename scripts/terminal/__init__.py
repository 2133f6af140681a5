"""Tables for the terminal: evaluations, duels and standings."""
