"""The trusted side: it steps environments, runs sandboxes and decides verdicts."""
