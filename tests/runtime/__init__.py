"""From a source to results: compilers, caches, executors, the SIMT checker."""
