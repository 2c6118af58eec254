"""HTML of what a notebook or a browser shows: markup, colours, one style; it knows no objects."""
