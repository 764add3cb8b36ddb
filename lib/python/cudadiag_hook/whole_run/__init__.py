"""All operators of a program, and where each one is called."""
