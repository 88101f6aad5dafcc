"""Commands about recipes, advice, clusters and the timing of runs."""
