"""A module that compiles into one graph: nothing to mend, only something to measure.

Press "Probe" above the class, or run:  compile-lens probe examples/clean.py::Mixer
"""

import torch
from torch import nn


class Mixer(nn.Module):
    """Normalises, widens, gates and projects back, with a residual connection."""

    def __init__(self, width: int = 64, factor: int = 4):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * factor * width)
        self.down = nn.Linear(factor * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = self.up(self.norm(x)).chunk(2, dim=-1)
        scale = torch.rsqrt(value.square().mean(-1, keepdim=True) + 1e-6)
        return x + self.down(value * scale * torch.sigmoid(gate) + torch.tanh(value))


model = Mixer()
model.compile()


def probe_inputs():
    """What the probe calls the target with: positional arguments, keyword arguments."""
    return (torch.randn(32, 64),), {}
