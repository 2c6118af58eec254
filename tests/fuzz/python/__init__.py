"""Ordinary Python around arrays: questions, identity, side effects, held to what Python does."""
