import torch
from torch import nn

from gpt.registry import register


@register("mlp")
class MlpHead(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.fc = nn.Linear(cfg.n_embd, 8)

    def forward(self, x):
        y = self.fc(x)
        chosen = torch.nonzero(y > 0)  # breaks
        return y, chosen


@register("never_built")
class OtherHead(nn.Module):
    def __init__(self, cfg):
        super().__init__()

    def forward(self, x):
        return x.tolist()
