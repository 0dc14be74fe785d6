"""The attention operator that torch_npu turns ``scaled_dot_product_attention`` into, by its formula."""

from __future__ import annotations

from typing import Any, Optional

import torch

NAMES = ("npu_fusion_attention_v3", "npu_fusion_attention")
"""The first is what torch_npu 2.13 calls, the second what 2.7 does."""


def attention(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    input_layout: str,
    pse: Optional[Any] = None,
    padding_mask: Optional[Any] = None,
    atten_mask: Optional[Any] = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647,
    inner_precise: int = 0,
    prefix: Optional[Any] = None,
    actual_seq_qlen: Optional[Any] = None,
    actual_seq_kvlen: Optional[Any] = None,
    sparse_mode: int = 0,
    *_: Any,
    **__: Any,
) -> tuple[Any, ...]:
    """Attention over ``[batch, heads, sequence, width]``; a true mask hides. Parameter names are torch_npu's."""
    if input_layout != "BNSD" or keep_prob != 1.0 or sparse_mode not in (0, 2):
        raise NotImplementedError(
            f"The stand-in has attention for layout BNSD without dropout, not {input_layout}, keep_prob={keep_prob}, "
            f"sparse_mode={sparse_mode}."
        )
    if any(one is not None for one in (padding_mask, prefix, actual_seq_qlen, actual_seq_kvlen)):
        raise NotImplementedError("The stand-in has attention without padding masks and lengths.")
    repeats = query.shape[1] // key.shape[1]
    key, value = (one.repeat_interleave(repeats, 1) if repeats > 1 else one for one in (key, value))
    scores = (query.float() @ key.float().transpose(-1, -2)) * scale
    if pse is not None:
        scores = scores + pse
    hidden = atten_mask
    if sparse_mode == 2:
        rows, columns = scores.shape[-2:]
        hidden = torch.ones(rows, columns, dtype=torch.bool, device=scores.device).triu(1)
    if hidden is not None:
        scores = scores.masked_fill(hidden.bool(), float("-inf"))
    most = scores.amax(-1, keepdim=True)
    weights = (scores - most).exp()
    total = weights.sum(-1, keepdim=True)
    result = ((weights / total) @ value.float()).to(query.dtype)
    number = torch.empty(1, dtype=torch.int64, device=scores.device)
    wide = (*most.shape[:-1], 8)
    return (
        result,
        most.expand(wide).contiguous(),
        total.expand(wide).contiguous(),
        torch.empty(0, device=scores.device),
        number,
        number.clone(),
    )


def returned(schema: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results in the types that the operator's schema has: the older one returns numbers where v3 has tensors."""
    numbers = [value for value in schema.returns if str(value.type) == "int"]
    return (*results[:4], 0, 0, 0) if numbers else results
