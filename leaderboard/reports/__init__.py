"""Where a pull request's agents would stand if they were merged, and where merged agents stand."""
