"""What the first use of an argument says of it: the sizes that torch's layers take, and what indexes or masks."""

from __future__ import annotations

LAYERS: dict[str, tuple[int, str]] = {
    "Linear": (0, "8, {}"),
    "Bilinear": (0, "8, {}"),
    "LayerNorm": (0, "8, 16, {}"),
    "RMSNorm": (0, "8, 16, {}"),
    "BatchNorm1d": (0, "8, {}"),
    "BatchNorm2d": (0, "4, {}, 16, 16"),
    "BatchNorm3d": (0, "2, {}, 8, 8, 8"),
    "GroupNorm": (1, "4, {}, 16, 16"),
    "Conv1d": (0, "8, {}, 64"),
    "Conv2d": (0, "4, {}, 32, 32"),
    "Conv3d": (0, "2, {}, 8, 16, 16"),
    "ConvTranspose1d": (0, "8, {}, 64"),
    "ConvTranspose2d": (0, "4, {}, 16, 16"),
    "RNN": (0, "16, 8, {}"),
    "LSTM": (0, "16, 8, {}"),
    "GRU": (0, "16, 8, {}"),
    "LSTMCell": (0, "8, {}"),
    "GRUCell": (0, "8, {}"),
    "MultiheadAttention": (0, "16, 8, {}"),
    "TransformerEncoderLayer": (0, "16, 8, {}"),
    "TransformerDecoderLayer": (0, "16, 8, {}"),
}
"""Layers by class: which argument of the constructor is the size that the input must have, and where it stands."""

EMBEDDINGS: dict[str, int] = {"Embedding": 0, "EmbeddingBag": 0}
"""Layers that are indexed: which argument of the constructor is the number of entries."""

WRAPPERS = frozenset({"Sequential"})
"""Layers that give their input to the first one inside."""

INDEXES: dict[str, tuple[int, int]] = {
    "embedding": (0, -1),
    "one_hot": (0, -1),
    "cross_entropy": (1, -1),
    "nll_loss": (1, -1),
    "gather": (2, 1),
    "index_select": (2, 1),
    "index_add": (2, 1),
    "index_copy": (2, 1),
    "scatter": (2, 1),
    "scatter_": (2, 1),
    "scatter_add": (2, 1),
    "scatter_add_": (2, 1),
    "take": (1, 0),
    "take_along_dim": (1, 0),
}
"""Callables that take whole numbers as indices: at which argument as a function, and as a method of a tensor."""

MASKS: dict[str, tuple[int, int]] = {
    "where": (0, 0),
    "masked_fill": (1, 0),
    "masked_fill_": (1, 0),
    "masked_select": (1, 0),
}
"""Callables that take a mask, in the same way."""

INTEGER_DTYPES = ("LongTensor", "IntTensor")
INDEX_NAMES = ("ids", "idx", "index", "indices", "labels", "tokens", "targets", "target", "label")
"""How indices are called, where nothing else tells: the name or its last word."""
