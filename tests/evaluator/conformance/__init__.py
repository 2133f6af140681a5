"""Recorded measurements: what agents saw, chose and earned, the same to the last bit until PROTOCOL is raised."""
