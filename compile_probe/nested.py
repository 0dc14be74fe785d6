"""Walking the plain containers in which arguments and results come: tuples, lists, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, cast

Leaf = Callable[[Any], Any]


def map_leaves(tree: Any, leaf: Leaf) -> Any:
    """Rebuild ``tree`` with ``leaf(value)`` in place of everything that is no plain container.

    Subclasses of dict, such as the outputs of Hugging Face models, become plain dicts.
    """
    if isinstance(tree, tuple):
        items = cast("tuple[Any, ...]", tree)
        mapped = [map_leaves(item, leaf) for item in items]
        make: Any = getattr(items, "_make", None)
        return make(mapped) if make is not None else tuple(mapped)
    if isinstance(tree, list):
        return [map_leaves(item, leaf) for item in cast("list[Any]", tree)]
    if isinstance(tree, Mapping):
        return {key: map_leaves(value, leaf) for key, value in cast("Mapping[Any, Any]", tree).items()}
    return leaf(tree)


def leaves(tree: Any) -> list[Any]:
    """Everything in ``tree`` that is no plain container, in order."""
    found: list[Any] = []
    map_leaves(tree, found.append)
    return found
