"""Operators that use the same bytes, without an order between them."""
