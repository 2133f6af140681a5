"""`pullrank rehearse`: submits an agent on GitHub, checks every step up to the site, and withdraws it."""
