import dataclasses
import enum
from typing import NamedTuple

import torch


class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"


@dataclasses.dataclass
class Config:
    width: int = 8
    act: Act = Act.RELU


class State(NamedTuple):
    hidden: torch.Tensor
    step: int


class Block(torch.nn.Module):
    def __init__(self, config, *, scale=1.0):
        super().__init__()
        self.lin = torch.nn.Linear(config.width, config.width)
        self.act = config.act
        self.scale = scale

    def forward(self, x, state=None, *, flag=False):
        y = self.lin(x) * self.scale
        return torch.tanh(y) if self.act is Act.TANH else torch.relu(y)


class Net(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(config, scale=0.5) for _ in range(2)])

    def forward(self, ids):
        x = torch.nn.functional.one_hot(ids, 8).float()
        for block in self.blocks:
            x = block(x, State(x, 3), flag=True)
        return x


@torch.compile
def loss(net, ids, target):
    return (net(ids) - target).abs().mean()
