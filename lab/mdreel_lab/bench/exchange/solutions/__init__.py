"""Ways for frames to go from a producer to its consumer: one file for each.

A module has ``missing(work)``, which says what is not there, and the context managers ``Sender(work)`` with
``put(number, frame, regions)`` and ``Receiver(work)`` with ``get(number, frame, regions)`` and ``done(regions)``, which
is called when the frame was analysed.
"""
