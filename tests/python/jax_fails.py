import os

os.environ["CC"] = "nothing-of-that-name"

import jax
import jaxlib
import models.jax
import models.xla

jax.config.update("jax_enable_x64", True)
arguments = [0] * 2, [0] * 4, [0] * 4
text = "the compiler that CC names was not found: nothing-of-that-name; the module xla has the same functions for JAX, without C"
fails(ImportError, text, lambda: models.jax.loss(*arguments))
fails(NotImplementedError, f"loss: jaxlib {jaxlib.__version__} can't read its StableHLO", lambda: models.xla.loss(*arguments))
