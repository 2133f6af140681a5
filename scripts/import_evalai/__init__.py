"""Conversion of an EvalAI challenge configuration into challenge.yml and Markdown pages."""
