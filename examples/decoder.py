"""A small LLaMA-style decoder with a cache of keys and values, for `--backend piecewise`.

Attention and the update of the cache stay out of captured graphs; what lies between them is compiled once for all
layers, captured for each batch size that comes often, and replayed.
"""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, LAYERS, VOCABULARY, LENGTH = 128, 4, 4, 256, 64


@torch.library.custom_op("decoder::update_cache", mutates_args=("cache",))
def update_cache(cache: torch.Tensor, new: torch.Tensor) -> None:
    """Write new keys or values of shape [batch, heads, tokens, width] to the front of the cache."""
    cache[: new.shape[0], :, : new.shape[2]].copy_(new)


@update_cache.register_fake
def _(cache: torch.Tensor, new: torch.Tensor) -> None:
    return None


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.zeros(16, HEADS, LENGTH, WIDTH // HEADS), persistent=False)
        self.register_buffer("values", torch.zeros(16, HEADS, LENGTH, WIDTH // HEADS), persistent=False)

    def forward(self, x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = rotate(q, rotation), rotate(k, rotation)
        update_cache(self.keys, k)
        update_cache(self.values, v)
        k, v = self.keys[:batch, :, :tokens], self.values[:batch, :, :tokens]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, WIDTH))


def rotate(x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding: each half of the width turned by an angle that grows with the position."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = rotation.cos(), rotation.sin()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = RMSNorm(WIDTH), Attention()
        self.norm2 = RMSNorm(WIDTH)
        self.gate, self.up = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.down = nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x), rotation)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


# probe: tokens=i64[B,16]<256; B=8|4|2
class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        half = WIDTH // HEADS // 2
        frequency = 10000.0 ** (-torch.arange(half, device=x.device) / half)
        rotation = torch.arange(tokens.shape[1], device=x.device)[:, None] * frequency
        for layer in self.layers:
            x = layer(x, rotation)
        return self.head(self.norm(x))
