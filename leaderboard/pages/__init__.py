"""The pages of the site: Markdown and HTML from standings, through the templates in `templates/`."""
