"""A module that breaks its graph in several ways, each with a quick fix or a rewrite that the editor shows.

Open it in the editor: hover over the underlined lines, then press Ctrl+. on one. Or run:
  compile-lens check examples/breaks.py
"""

import time

import torch
from torch import nn


class Denoiser(nn.Module):
    """Scales its input, and does four things that a graph cannot hold."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.calls = 0
        self.inner = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        start = time.perf_counter()
        peak = x.abs().max().item()
        if x.mean() > 0:
            x = x / peak
        else:
            x = x * peak
        x = torch.relu(self.inner(x))
        print("spread", x.shape, time.perf_counter() - start)
        return x[x > 0].sum() + x


model = Denoiser()
model.compile()


def probe_inputs():
    """What the probe calls the target with: positional arguments, keyword arguments."""
    return (torch.randn(16, 64),), {}
