"""Operators that use the same bytes with no order between them."""
