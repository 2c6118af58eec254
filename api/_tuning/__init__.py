"""Toggles by measurement, on the device at hand."""
