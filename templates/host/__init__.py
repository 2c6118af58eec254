"""Kernel templates and device helpers: package data."""
