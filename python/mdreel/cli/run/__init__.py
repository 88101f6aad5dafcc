"""Commands for recipes, recommendations, clusters and the timing of runs."""
