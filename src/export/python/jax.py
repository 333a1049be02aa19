"""The functions of this package on arrays of JAX, under `jit`, `vmap`, and derivatives that were exported: on the processor they are
compiled C, and on other devices StableHLO."""

from .foreign import operations as _operations

_all = _operations(compiled=True)
globals().update(_all)
__all__ = list(_all)
