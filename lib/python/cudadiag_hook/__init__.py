"""cudadiag's Python code inside the target. The recorder runs it from memory with ../load.py, in passes that need it.

The package never prints. All its changes to the target are made by `lines`, `nodes`, `starts`, `memory` and `stream`,
or with `replace` of `whole_program`.
"""
