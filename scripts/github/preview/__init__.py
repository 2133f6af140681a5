"""Preview evaluation of a pull request in the untrusted tier, and its artifact."""
