"""The jobs of an official run: plan, evaluate in shards, check what the shards hand in, record it."""
