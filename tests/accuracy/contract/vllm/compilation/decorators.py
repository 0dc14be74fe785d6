"""vLLM's contract with a model class, made again for the proofs of rules: what its decorator does to ``forward``.

As in vLLM 0.34.0: the dynamic dimensions come from the arguments or from annotations that are tensor types; ``forward``
is compiled once, ``fullgraph=True, dynamic=False``, every guard dropped; and code in which Dynamo replaces something
on the module is refused. vLLM itself needs a GPU's worth of packages to be imported.
"""

from __future__ import annotations

import inspect
from typing import Optional

import torch

_TENSORS = [torch.Tensor, torch.Tensor | None, torch.FloatTensor, torch.FloatTensor | None, Optional[torch.Tensor]]


def support_torch_compile(
    cls=None,
    *,
    dynamic_arg_dims=None,
    mark_unbacked_dims=None,
    enable_if=None,
    is_encoder=False,
    use_aot_compile=True,
):
    def decorate(cls):
        parameters = inspect.signature(cls.forward).parameters
        dims = dynamic_arg_dims
        if dims is None:
            dims = {name: 0 for name, parameter in parameters.items() if parameter.annotation in _TENSORS}
        if not dims:
            raise ValueError(f"No dynamic dimensions found in the forward method of {cls}.")
        for name in dims:
            if name not in parameters:
                raise ValueError(f"dynamic_arg_dims: argument {name} not found in the forward method of {cls}")
        cls.__call__ = _calling(dims)
        cls.captured_names = lambda self: {name for graph in self._graphs for name in graph}
        return cls

    return decorate if cls is None else decorate(cls)


def _calling(dims):
    def call(self, *args, **kwargs):
        if "_compiled" not in self.__dict__:
            self.__dict__["_graphs"] = []
            for name, argument in inspect.signature(self.forward).bind(*args, **kwargs).arguments.items():
                if isinstance(argument, torch.Tensor) and name in dims:
                    for dim in [dims[name]] if isinstance(dims[name], int) else list(dims[name]):
                        torch._dynamo.mark_dynamic(argument, dim)
            self.__dict__["_compiled"] = torch.compile(
                self.forward,
                fullgraph=True,
                dynamic=False,
                backend=_noting(self._graphs),
                options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe},
            )
            code = type(self).forward.__code__

            def refuse(old, new):
                if old is code and "update" in new.co_names:
                    raise RuntimeError("Assigning / modifying buffers of nn.Module during forward is not allowed")

            handle = torch._dynamo.convert_frame.register_bytecode_hook(refuse)
            try:
                return self._compiled(*args, **kwargs)
            finally:
                handle.remove()
        return self._compiled(*args, **kwargs)

    return call


def _noting(graphs):
    def backend(graph, inputs, **options):
        graphs.append({str(getattr(node.target, "__name__", node.target)).split(".")[0] for node in graph.graph.nodes})
        return graph.forward

    return backend
