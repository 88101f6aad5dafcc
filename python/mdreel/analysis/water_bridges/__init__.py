"""Water bridges."""
