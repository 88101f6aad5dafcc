"""Randomized fault run: channels on three hosts, whose processes are killed and stopped and whose links are cut.

``python -m fault_run --seed N --seconds 3600``, called in the folder ``tests``, starts simulations, consumers,
viewers, archivers, a server and relays on three hosts with networks of their own. Faults that are drawn from the seed
meet them. Killed processes are restarted as the documentation advises. In the end the run compares what all of them
have taken and committed with what was published. The run consists of rounds with new channels, as a channel may be
opened 64 times.

`cast` lists the channels and processes, `plan` draws the faults, `simulation`, `readers` and `transfers` are what the
processes do, `agent` starts them on a host, `rounds` lets a round happen, and `oracle` judges it.
"""
