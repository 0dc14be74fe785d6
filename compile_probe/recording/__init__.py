"""Records what functions and modules of a run are called with: enough to call them again, no large tensor's values.

The run's processes load this package (see ``site/sitecustomize.py``); it patches public names of torch only.
"""
