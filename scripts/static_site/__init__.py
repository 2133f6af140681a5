"""The static site as a whole: building it, its search index, and what was deployed last."""
