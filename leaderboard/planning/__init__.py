"""What to evaluate next: missing work, opponents, phases and quotas, and how work is split into shards."""
