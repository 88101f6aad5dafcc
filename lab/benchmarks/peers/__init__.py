"""One file for each contender: it does one job in a process of its own and prints what that took."""
