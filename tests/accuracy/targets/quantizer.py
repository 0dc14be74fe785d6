"""A vector quantizer of the package vector-quantize-pytorch, in training: it initialises and expires codes by data."""

import torch
from vector_quantize_pytorch import VectorQuantize


def make():
    torch.manual_seed(0)
    return VectorQuantize(dim=16, codebook_size=32, kmeans_init=True, threshold_ema_dead_code=2)


def probe_inputs():
    return (torch.randn(2, 64, 16),), {}
