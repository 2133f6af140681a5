"""Verifying recorded results and duels: by replay, against main's history, and by playing again."""
