"""A popular board under load: thousands of pull requests through the real bot, on a simulated clock."""
