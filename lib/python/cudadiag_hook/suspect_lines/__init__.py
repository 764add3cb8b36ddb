"""Lines that a rerun watches: what their operators are given, and what goes with it."""
