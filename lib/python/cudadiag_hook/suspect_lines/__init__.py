"""The lines that a rerun watches: the arguments of their operators, and related data."""
