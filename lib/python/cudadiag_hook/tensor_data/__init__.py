"""Tensors: their bytes, their elements, and what operators require of them."""
