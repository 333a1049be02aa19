"""The functions of the module `jax` as StableHLO on all devices, the processor too: no C compiler is needed."""

from .foreign import operations as _operations

_all = _operations(compiled=False)
globals().update(_all)
__all__ = list(_all)
