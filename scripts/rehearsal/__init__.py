"""`pullrank rehearse`: a host's own agent goes the whole way of a submission, and each step is looked at."""
