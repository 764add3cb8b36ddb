"""Checks whether this process has lost a CUDA context. Never loads the driver itself."""

import ctypes
import os
import pathlib

NOT_INITIALIZED = 3
DEINITIALIZED = 4
UNRECORDED = ("CUDA was initialised without cudadiag's recorder, so a lost context will have no source line: the variable "
              "CUDA_INJECTION64_PATH was changed, or the driver did not load the recorder; to check it: cudadiag doctor")
# Errors after which the context is lost, as in lib/wire/cuda_codes.def.
STICKY = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911}


def _loaded_driver():
    try:
        return ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def is_initialized():
    driver = _loaded_driver()
    count = ctypes.c_int()
    return driver is not None and driver.cuDeviceGetCount(ctypes.byref(count)) not in (NOT_INITIALIZED, DEINITIALIZED)


def is_unrecorded(session):
    """Returns whether this process has initialised CUDA without being recorded to the session."""
    # The folder has the first name until the session is read.
    folders = [pathlib.Path(f"{session}{end}", "record") for end in (".incomplete", "")]
    return is_initialized() and not any(any(folder.glob(f"{os.getpid()}[.-]*")) for folder in folders)


def lost_with():
    """Waits for the work in all contexts in use. Returns the sticky error of the first lost context, or 0."""
    driver = _loaded_driver()
    count = ctypes.c_int()
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) in (NOT_INITIALIZED, DEINITIALIZED):
        return 0
    code = _wait_in_current(driver)
    for device in range(count.value):
        if code in STICKY:
            return code
        code = _wait_in_primary(driver, device)
    return code if code in STICKY else 0


def _wait_in_current(driver):
    current = ctypes.c_void_p()
    code = driver.cuCtxGetCurrent(ctypes.byref(current))
    if code or not current.value:
        return code
    return driver.cuCtxSynchronize()


def _wait_in_primary(driver, device):
    state = getattr(driver, "cuDevicePrimaryCtxGetState", None)
    flags, active, context, ours = ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    # Retaining an inactive primary context creates it.
    if state is None or state(device, ctypes.byref(flags), ctypes.byref(active)) or not active.value:
        return 0
    code = driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    if code:
        return code
    driver.cuCtxPushCurrent_v2(context)
    code = driver.cuCtxSynchronize()
    driver.cuCtxPopCurrent_v2(ctypes.byref(ours))
    driver.cuDevicePrimaryCtxRelease_v2(device)
    return code
