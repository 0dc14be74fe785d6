from dataclasses import dataclass, field


@dataclass
class BaseConfig:
    debug: bool = False


@dataclass
class GPTConfig(BaseConfig):
    n_layer: int = 2
    n_embd: int = 32
    head: str = "mlp"
    clip: bool = field(default=True)
