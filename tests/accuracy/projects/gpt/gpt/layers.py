import torch
from torch import nn

from .base import Recorded
from .config import GPTConfig
from .functional import *


class Attention(Recorded):
    def __init__(self, cfg: GPTConfig):
        super().__init__()
        self.qkv = nn.Linear(cfg.n_embd, 3 * cfg.n_embd)
        self.cfg = cfg

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        att = q @ k.transpose(-2, -1)
        if self.cfg.debug:
            print("att", att)
        if self.cfg.clip and att.abs().max() > 1e6:  # breaks
            att = att.clamp(-10, 10)
        self.record(att)
        return soft_cap(att).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, cfg: GPTConfig):
        super().__init__()
        self.attn = Attention(cfg)
        self.norm = nn.LayerNorm(cfg.n_embd)

    def forward(self, x):
        return x + self.attn(self.norm(x))
