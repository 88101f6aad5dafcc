"""Pages for a browser: markup, colours, and the style that all of them share."""
