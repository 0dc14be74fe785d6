"""All rules, by code and by the operations they want to see."""

from __future__ import annotations

from functools import lru_cache

from ..semantics.operations import Operation
from .compile_arguments import CompileArguments
from .compile_disabled import CompileDisabled
from .compiled_anew import CompiledAnew
from .compiled_forward import CompiledForward
from .context_manager import ContextManager
from .contract_argument import ContractArgument
from .contract_attribute import ContractAttribute
from .contract_buffer import ContractBuffer
from .contract_dimensions import ContractDimensions
from .contract_operator import ContractOperator
from .contract_scalar_read import ContractScalarRead
from .contract_shape_branch import ContractShapeBranch
from .contract_undecorated import ContractUndecorated
from .data_dependent_branch import DataDependentBranch
from .data_dependent_operator import DataDependentOperator
from .debug_backend import DebugBackend
from .dynamic_shape import DynamicShape
from .eager_copy import EagerCopy
from .eager_method import EagerMethod
from .explicit_break import ExplicitBreak
from .growing_container import GrowingContainer
from .host_call import HostCall
from .host_output import HostOutput
from .layer_in_place import LayerInPlace
from .module_counter import ModuleCounter
from .never_compiled import NeverCompiled
from .numpy_random import NumpyRandom
from .parameter_construction import ParameterConstruction
from .prefixed_keys import PrefixedKeys
from .recurrent_layer import RecurrentLayer
from .rule import EFFECTS, Rule
from .scalar_read import ScalarRead
from .specialised_number import SpecialisedNumber
from .tolist import Tolist
from .training_step import TrainingStep
from .unresolved_region import UnresolvedRegion
from .untraced_operator import UntracedOperator
from .unused_result import UnusedResult
from .value_formatting import ValueFormatting
from .varying_argument import VaryingArgument
from .wrapper_identity import WrapperIdentity

_CLASSES: tuple[type[Rule], ...] = (
    DataDependentBranch,
    ScalarRead,
    Tolist,
    HostOutput,
    HostCall,
    DynamicShape,
    DataDependentOperator,
    ContextManager,
    RecurrentLayer,
    ExplicitBreak,
    TrainingStep,
    ParameterConstruction,
    UntracedOperator,
    ValueFormatting,
    ModuleCounter,
    SpecialisedNumber,
    VaryingArgument,
    GrowingContainer,
    NumpyRandom,
    CompiledForward,
    UnusedResult,
    EagerMethod,
    EagerCopy,
    LayerInPlace,
    PrefixedKeys,
    WrapperIdentity,
    CompileArguments,
    CompileDisabled,
    DebugBackend,
    CompiledAnew,
    ContractShapeBranch,
    ContractScalarRead,
    ContractAttribute,
    ContractBuffer,
    ContractArgument,
    ContractDimensions,
    ContractOperator,
    ContractUndecorated,
    NeverCompiled,
    UnresolvedRegion,
)


def _register(classes: tuple[type[Rule], ...]) -> dict[str, Rule]:
    """Rules by code. A rule without proof, or with a version bound that nothing proves, cannot be registered."""
    rules: dict[str, Rule] = {}
    for cls in classes:
        if cls.code in rules:
            raise ValueError(f"{cls.__name__} takes the code {cls.code} of {type(rules[cls.code]).__name__}")
        if cls.effect not in EFFECTS:
            raise ValueError(f"{cls.code}: {cls.effect!r} is no effect; use one of {', '.join(EFFECTS)}")
        if not cls.invalid:
            raise ValueError(f"{cls.code} has no INVALID example: nothing proves it")
        bounds = [bound for bound in (cls.versions.since, cls.versions.until) if bound is not None]
        if bounds and len(cls.proven_on) < 2:
            raise ValueError(f"{cls.code} has a version bound and was proven on one version only")
        rules[cls.code] = cls()
    return rules


RULES = _register(_CLASSES)


def rule_for(name: str) -> Rule:
    """A rule by code or by name. Raises `KeyError` with the names there are."""
    for rule in RULES.values():
        if name.lower() in (rule.code.lower(), rule.name):
            return rule
    raise KeyError(f"no rule {name!r}; there are {', '.join(f'{r.code} ({r.name})' for r in RULES.values())}")


@lru_cache(maxsize=1)
def rules_by_operation() -> dict[type[Operation], tuple[Rule, ...]]:
    """Which rules want to see an operation of a type."""
    table: dict[type[Operation], list[Rule]] = {}
    for rule in RULES.values():
        for operation in rule.operations:
            table.setdefault(operation, []).append(rule)
    return {operation: tuple(rules) for operation, rules in table.items()}
