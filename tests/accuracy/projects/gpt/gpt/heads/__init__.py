from ..registry import HEADS
from . import mlp  # noqa: F401  # registers


def build_head(name, cfg):
    return HEADS[name](cfg)
