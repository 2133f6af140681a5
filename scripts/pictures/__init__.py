"""Recorded episodes and matches as pictures: for the site, for `pullrank watch`, and the branch that keeps them."""
