"""Reading of YAML documents and submission folders."""
