"""The functions of this package on arrays of JAX, on the processor: under `jit`, `vmap`, and derivatives that were exported."""

from .foreign import operations as _operations

_all = _operations()
globals().update(_all)
__all__ = list(_all)
