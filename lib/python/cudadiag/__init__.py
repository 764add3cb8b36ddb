"""cudadiag finds the source line of a CUDA failure. The tool itself is the command `cudadiag`.

This package contains the Python parts: `pytest --cudadiag`, and `%load_ext cudadiag` for notebooks.
"""


def load_ipython_extension(shell):
    from . import notebook

    notebook.load(shell)
