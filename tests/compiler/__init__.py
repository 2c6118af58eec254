"""From a graph to sources: passes, fusion, memory, bounds."""
