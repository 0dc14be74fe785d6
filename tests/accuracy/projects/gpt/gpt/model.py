from torch import nn

from . import layers
from .heads import build_head


class GPT(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.blocks = nn.ModuleList([layers.Block(cfg) for _ in range(cfg.n_layer)])
        self.head = build_head(cfg.head, cfg)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
