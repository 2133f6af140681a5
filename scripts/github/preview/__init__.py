"""Preview evaluation of a pull request, untrusted, and its artifact."""
