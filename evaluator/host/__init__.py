"""The trusted side: steps environments, owns containers, decides verdicts."""
