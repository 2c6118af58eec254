"""The command line: ``opweave inspect | explain | doctor | cache | demo``."""
