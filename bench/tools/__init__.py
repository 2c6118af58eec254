"""Commands around the experiments: two builds in turns, figures of a kind of their own."""
