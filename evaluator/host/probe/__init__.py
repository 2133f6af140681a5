"""`pullrank probe`: checks that a sandbox enforces its limits."""
