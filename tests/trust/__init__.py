"""What must never go wrong: the rows of docs/trust.md that no single layer keeps."""
