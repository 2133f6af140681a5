"""The evaluator: measures an agent's returns; trusted host, untrusted sandbox, the model they speak of."""
