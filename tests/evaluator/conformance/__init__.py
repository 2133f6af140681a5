"""Recorded measurements, which must stay the same to the last bit until PROTOCOL is raised."""
