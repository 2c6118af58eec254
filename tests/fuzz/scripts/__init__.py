"""Scripts: programs that are Python text as NumPy's users write it, with writes, branches, loops."""
