"""Operators on the same bytes in no order."""
