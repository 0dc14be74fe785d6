"""Measures, in the user's own environment, what ``torch.compile`` does to a function or module.

Depends on nothing but torch and the standard library; the supervising half does not even import torch.
"""
