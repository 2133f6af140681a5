"""Everything that talks to GitHub: the API, workflow steps, pull requests, previews, official runs and `pullrank doctor`."""
