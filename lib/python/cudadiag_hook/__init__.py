"""Python code of ours inside the target. The recorder runs it from memory by ../load.py, in passes that ask for it.

Nothing of it prints, and nothing reaches the target but what `lines`, `nodes`, `starts`, `memory` and `stream` set up.
"""
