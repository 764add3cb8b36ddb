"""JAX without its own pool: an array too large for any GPU."""
import os

os.environ["XLA_PYTHON_CLIENT_ALLOCATOR"] = "platform"
from jax_on_gpu import jnp  # noqa: E402


def tables(rows):
    return jnp.zeros((rows, 1 << 16), dtype=jnp.float32)  # TRUE LINE


print(tables(1 << 24).sum())
