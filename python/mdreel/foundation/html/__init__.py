"""Building blocks of HTML pages: markup, colours, and the common style sheet."""
