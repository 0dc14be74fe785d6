"""A module that compiles into one graph: nothing to mend, only something to measure.

Press "Probe" above the class, or run:  compile-lens probe examples/clean.py::GatedNorm
"""

import torch
from torch import nn


class GatedNorm(nn.Module):
    """Normalises its input and mixes in a gated, bounded copy: many small steps that a compiler can fuse into few."""

    def __init__(self, width: int = 256):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.gate = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        normed = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-6)
        normed = normed * self.scale + self.shift
        bounded = torch.tanh(normed) + 0.5 * torch.sigmoid(2 * normed)
        return x + torch.sigmoid(self.gate(x)) * (bounded - normed.clamp(-3, 3))


model = GatedNorm()
model.compile()


def probe_inputs():
    """What the probe calls the target with: positional arguments, keyword arguments."""
    return (torch.randn(2048, 256),), {}
