"""JAX without its own pool: an array too large for any GPU."""
import os
import sys

os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "platform"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

try:
    jnp.ones(8).sum().block_until_ready()
    assert jax.default_backend() == "gpu"
except Exception as e:
    print("JAX does not work here:", e, file=sys.stderr)
    sys.exit(77)


def tables(rows):
    return jnp.zeros((rows, 1 << 16), dtype=jnp.float32)  # TRUE LINE


print(tables(1 << 24).sum())
