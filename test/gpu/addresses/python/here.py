"""Ends a program with 77 ("did not run") if the machine lacks something."""
import ctypes
import sys

CANNOT_RUN_HERE = 77
PAGEABLE_MEMORY_ACCESS = 88  # CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS


def or_skip(warm_up):
    try:
        return warm_up()
    except Exception as e:
        print("does not work here:", e, file=sys.stderr)
        sys.exit(CANNOT_RUN_HERE)


def needs_no_pageable_access():
    """A GPU that reads pageable host memory does not fail on a host pointer."""
    driver, reads = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    driver.cuInit(0)
    driver.cuDeviceGetAttribute(ctypes.byref(reads), PAGEABLE_MEMORY_ACCESS, 0)
    if reads.value:
        print("this GPU reads pageable host memory", file=sys.stderr)
        sys.exit(CANNOT_RUN_HERE)


def needs_same_address(freed, following):
    if freed != following:
        print("the allocator returned a different address this time", file=sys.stderr)
        sys.exit(CANNOT_RUN_HERE)
