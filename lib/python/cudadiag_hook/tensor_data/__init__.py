"""Tensors: their bytes, their elements, and what operators expect of them."""
