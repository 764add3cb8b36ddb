"""JAX on a GPU; ends the program with status 77 if it does not work. Set JAX's variables before the import."""
import sys

import jax
import jax.numpy as jnp

try:
    jnp.ones(8).sum().block_until_ready()
    assert jax.default_backend() == "gpu"
except Exception as e:
    print("JAX does not work here:", e, file=sys.stderr)
    sys.exit(77)
