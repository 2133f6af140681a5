"""A stand-in for GitHub: small, stateful, and held to GitHub's own description of its API."""
