"""cudadiag's Python code inside the target. The recorder runs it from memory with ../load.py, in passes that need it.

It never prints. It changes nothing in the target except what `lines`, `nodes`, `starts`, `memory` and `stream` install.
"""
