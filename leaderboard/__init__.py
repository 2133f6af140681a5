"""The board: functions from results to ranks, comments and pages."""
