"""All operators of a program, and where in it each one is called."""
