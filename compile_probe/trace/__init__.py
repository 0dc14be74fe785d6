"""What a run of the user's own wrote about its compilations, read from outside: no torch is imported here.

PyTorch writes a structured trace of every process whose environment holds ``TORCH_TRACE``. ``log`` reads one such file
as it grows, ``story`` turns its entries into facts, ``record`` merges the facts of all processes, ``folder`` follows
a folder of files, ``sources`` finds the traced files among those at hand.
"""
