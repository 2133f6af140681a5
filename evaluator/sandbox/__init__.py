"""The untrusted side: the code that runs beside the agent, and all that an attacker can reach."""
