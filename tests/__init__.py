"""The tests of opweave, in rooms by what they judge: docs/testing.md."""
