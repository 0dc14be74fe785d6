"""A Perceiver of the package perceiver-pytorch, small: its forward is one graph."""

import torch
from perceiver_pytorch import Perceiver


def make():
    torch.manual_seed(0)
    return Perceiver(
        input_channels=3,
        input_axis=2,
        num_freq_bands=4,
        max_freq=10.0,
        depth=2,
        num_latents=16,
        latent_dim=32,
        num_classes=5,
        latent_heads=2,
        cross_dim_head=8,
        latent_dim_head=8,
    ).eval()


def probe_inputs():
    return (torch.randn(2, 16, 16, 3),), {}
