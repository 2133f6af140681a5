"""Recorded measurements, which must stay the same to the last bit until MEASUREMENT_VERSION is raised."""
