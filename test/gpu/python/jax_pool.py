"""JAX's pool, which is a small part of the GPU, rejects an array for which the GPU has room."""
import os

os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.05"
from jax_on_gpu import jax, jnp  # noqa: E402

kept = [jnp.zeros((1 << 10, 1 << 16), dtype=jnp.float32) for _ in range(4)]
jax.block_until_ready(kept)
jnp.zeros((1 << 17, 1 << 16), dtype=jnp.float32).sum().block_until_ready()  # TRUE LINE
print("never")
