"""Random op-code lists: operators of fragments, kernels of op-codes, edits, joins."""
