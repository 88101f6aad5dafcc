"""Ways from one process to another: each file has a ``Producer`` and a ``Consumer``, which ``pair`` runs."""
