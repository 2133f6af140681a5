"""The sandboxes, one module for each kind, and what they share."""
