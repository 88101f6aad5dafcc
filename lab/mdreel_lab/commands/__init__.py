"""Commands that mdreel-lab adds to the command line of mdreel."""
