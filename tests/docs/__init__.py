"""Pages hold: their code runs, their tables are true, their links lead somewhere."""
