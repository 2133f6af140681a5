"""Seeds of episodes and matches, and the secret of a sealed season."""
