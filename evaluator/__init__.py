"""The evaluator measures agents: a trusted host, an untrusted sandbox, and the model that both share."""
