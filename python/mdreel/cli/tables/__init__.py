"""Commands on tables of results."""
