"""Write ``knowledge/torch_signatures.json``: what torch's functions and Tensor methods return, read from its stubs.

Run it in an environment that holds the torch to describe: ``python tools/generate_knowledge.py``. The table is
committed, so that the server never imports torch. Sources: ``torch/_C/__init__.pyi`` (class ``TensorBase``),
``torch/_C/_VariableFunctions.pyi``, ``torch/nn/functional.pyi`` and ``.py``, ``torch/functional.py``.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "server" / "compile_lens" / "knowledge" / "torch_signatures.json"
TORCH = Path(torch.__file__).parent

SCALARS = {
    "_bool": "bool",
    "bool": "bool",
    "_int": "int",
    "int": "int",
    "_int | SymInt": "int",
    "_float": "float",
    "float": "float",
    "_complex": "complex",
    "Number": "number",
    "str": "str",
    "None": "none",
    "Size": "size",
    "_dtype": "dtype",
    "torch.dtype": "dtype",
    "_device": "device",
    "_layout": "layout",
    "list": "list",
    "numpy.ndarray": "ndarray",
    "Self": "T",
    "S": "T",
    "Tensor": "T",
    "torch.Tensor": "T",
}


def kind_of(annotation: str) -> str:
    """The short name of a return annotation: ``T``, ``T,T``, ``T*`` (any number of tensors), ``bool``, ..., ``any``."""
    text = annotation.strip("\"'")
    if text in SCALARS:
        return SCALARS[text]
    if text.startswith("torch.return_types."):
        fields = getattr(torch.return_types, text.rsplit(".", 1)[1], None)
        count = getattr(fields, "n_fields", None) or 2
        return ",".join(["T"] * count)
    if match := re.fullmatch(r"[tT]uple\[(.*)\]", text):
        parts = [part.strip() for part in match[1].split(",")]
        if parts[-1] == "...":
            return "T*" if kind_of(parts[0]) == "T" else "int*"
        kinds = [kind_of(part) for part in parts]
        return ",".join(kinds) if all("," not in kind for kind in kinds) else "any"
    if text in ("Sequence[Tensor]", "list[Tensor]", "List[Tensor]"):
        return "T*"
    if text == "Tensor | None":
        return "T|none"
    return "any"


def returns(body: list[ast.stmt]) -> dict[str, str]:
    """Return kinds by function name, overloads joined with ``|``."""
    table: dict[str, list[str]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            kinds = table.setdefault(node.name, [])
            for kind in kind_of(ast.unparse(node.returns)).split("|"):
                if kind not in kinds:
                    kinds.append(kind)
    return {name: "|".join(kinds) for name, kinds in table.items()}


INTEGERS = re.compile(r"^(_int|_size|int\b|SymInt|Size|_dispatchkey|Sequence\[(_int|int|SymInt))")


def integer_parameters(body: list[ast.stmt], method: bool) -> dict[str, str]:
    """By function name, a letter for each positional parameter: ``i`` where every overload wants an integer or size."""
    table: dict[str, list[str]] = {}
    for node in body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        letters = ""
        for parameter in node.args.args[1:] if method else node.args.args:
            text = ast.unparse(parameter.annotation) if parameter.annotation else ""
            letters += "i" if INTEGERS.match(text) and "Tensor" not in text else "-"
        if node.args.vararg is not None and node.args.vararg.annotation is not None:
            text = ast.unparse(node.args.vararg.annotation)
            letters += "i" * 6 if INTEGERS.match(text) else ""
        table.setdefault(node.name, []).append(letters)
    merged: dict[str, str] = {}
    for name, overloads in table.items():
        longest = max(map(len, overloads))
        columns = ["".join(o[i] for o in overloads if i < len(o)) for i in range(longest)]
        # An overload with a tensor in that place would take it.
        letters = "".join("i" if set(column) == {"i"} else "-" for column in columns).rstrip("-")
        if letters:
            merged[name] = letters
    return merged


def stub(path: str) -> list[ast.stmt]:
    return ast.parse((TORCH / path).read_text(encoding="utf-8")).body


def module_classes() -> list[str]:
    """Public classes of torch.nn that are modules."""
    return sorted(
        name for name, value in vars(torch.nn).items() if inspect.isclass(value) and issubclass(value, torch.nn.Module)
    )


def main() -> None:
    tensor = next(n for n in stub("_C/__init__.pyi") if isinstance(n, ast.ClassDef) and n.name == "TensorBase")
    variable = returns(stub("_C/_VariableFunctions.pyi"))
    functions = {f"torch.{name}": kind for name, kind in variable.items() if hasattr(torch, name)}
    for name, kind in returns(stub("functional.py")).items():
        if hasattr(torch, name) and not name.startswith("_"):
            functions.setdefault(f"torch.{name}", kind)
    for source in ("nn/functional.py", "nn/functional.pyi"):
        for name, kind in returns(stub(source)).items():
            if hasattr(torch.nn.functional, name) and not name.startswith("_"):
                key = f"torch.nn.functional.{name}"
                if kind != "any" or key not in functions:
                    functions[key] = kind
    for namespace in (torch.special, torch.linalg, torch.fft, torch.sparse):
        for name in dir(namespace):
            if callable(getattr(namespace, name)) and not name.startswith("_") and name.islower():
                doc = getattr(namespace, name).__doc__ or ""
                match = re.search(r"-> *(\(.*?\)|\w+)", doc)
                several = bool(match) and match[1].startswith("(")
                functions.setdefault(f"{namespace.__name__}.{name}", "any" if several else "T")
    attributes = {
        node.target.id: kind_of(ast.unparse(node.annotation))
        for node in tensor.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    table = {
        "torch": torch.__version__.split("+")[0],
        "functions": dict(sorted(functions.items())),
        "methods": dict(sorted(returns(tensor.body).items())),
        "attributes": dict(sorted(attributes.items())),
        "integer_parameters": {
            **{f".{n}": v for n, v in integer_parameters(tensor.body, True).items()},
            **{f"torch.{n}": v for n, v in integer_parameters(stub("_C/_VariableFunctions.pyi"), False).items()},
            "torch.nn.functional.one_hot": "-i",
            "torch.arange": "iii",
        },
        "module_classes": module_classes(),
    }
    TABLE.write_text(json.dumps(table, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{TABLE.relative_to(ROOT)}: {len(functions)} functions, {len(table['methods'])} methods")


if __name__ == "__main__":
    main()
