"""What reads and writes files only: documents, figures, tables, the page; opweave stays out."""
