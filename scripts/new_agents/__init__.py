"""New agent folders: from templates, and from trained models."""
