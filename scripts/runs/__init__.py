"""Running agents: sandboxes, evaluations, duels and tournaments, and which tasks an agent may enter."""
