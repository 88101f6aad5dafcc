"""What a cluster would do: a model of nodes, file system and network, in which runs are simulated.

Whatever comes from here was not measured, and says so wherever it is shown.
"""
