"""Piecewise capture and replay: a Dynamo graph, cut at splitting ops, whose pieces are captured per size and replayed.

The scheme is that of vLLM and vllm-ascend (their ``PiecewiseBackend`` and ``ACLGraphWrapper``), for any model: Dynamo
hands its FX graph to ``backend``; ``hazards`` finds what cannot be captured, ``partition`` cuts the graph, and
``interpreter`` puts a ``runner`` in the place of each piece. Nothing here knows a device: ``devices`` does.
"""
