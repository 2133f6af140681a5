"""What the terminal shows: progress, and tables of evaluations, duels and standings."""
