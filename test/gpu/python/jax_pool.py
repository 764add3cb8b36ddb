"""JAX's pool, which is a small part of the GPU, rejects an array for which the GPU has room."""
import os
import sys

os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.05"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

try:
    jnp.ones(8).sum().block_until_ready()
    assert jax.default_backend() == "gpu"
except Exception as e:
    print("JAX does not work here:", e, file=sys.stderr)
    sys.exit(77)
kept = [jnp.zeros((1 << 10, 1 << 16), dtype=jnp.float32) for _ in range(4)]
jax.block_until_ready(kept)
jnp.zeros((1 << 17, 1 << 16), dtype=jnp.float32).sum().block_until_ready()  # TRUE LINE
print("never")
