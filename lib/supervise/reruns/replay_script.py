#!/usr/bin/env python3
"""Repeats the failing call with its original arguments, from call.json and inputs.safetensors in the same folder.

Exit status: 0 if the call works, 10 if it fails on the GPU, 2 if it cannot be repeated."""
import sys

# All other files in the script's folder are data, so no module may be imported from there.
if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):  # 3.11
    del sys.path[0]

import json
import os
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


def stop(status, text):
    print(text, flush=True)
    os._exit(status)  # after a GPU failure, nothing can be cleaned up


try:
    import torch
except ImportError as error:
    stop(2, f"PyTorch is needed: {error}")

call = json.loads((FOLDER / "call.json").read_text())
for text in call["missing"]:
    print("not saved exactly:", text)
raw = bytearray((FOLDER / "inputs.safetensors").read_bytes())
start = 8 + int.from_bytes(raw[:8], "little")
header = json.loads(raw[8:start])


def tensor(number):
    about, saved = call["tensors"][number], header.get(f"t{number}")
    if saved is None:
        stop(2, f"tensor {number} was not saved: {about['dtype']} {about['shape']}")
    dtype, count, offset = constant(about["dtype"]), about["elements"], about["offset"]
    memory = torch.empty(offset + count, dtype=dtype, device=about["device"])
    if count:
        memory[offset:].copy_(torch.frombuffer(raw, dtype=dtype, count=count, offset=start + saved["data_offsets"][0]))
    return torch.as_strided(memory, about["shape"], about["strides"], offset)


def constant(name):
    value = getattr(torch, name)
    if not isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        raise TypeError(f"torch.{name} is not a constant")
    return value


def decoded(value):
    (kind, content), = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "list":
        return [decoded(each) for each in content]
    return {"float": float, "device": torch.device, "torch": constant,
            "value": lambda plain: plain}[kind](content)


namespace, _, name = call["operator"].partition("::")
try:
    # The names come from call.json, which may be forged, so only PyTorch operators may be called.
    packet = getattr(getattr(torch.ops, namespace), name)
    operator = getattr(packet, call["overload"] or "default")
    if not isinstance(operator, torch._ops.OpOverload):
        raise TypeError(f"{call['operator']} is not an operator")
    tensors = [tensor(number) for number in range(len(call["tensors"]))]
    args = [decoded(value) for value in call["args"]]
    kwargs = {name: decoded(value) for name, value in call["kwargs"]}
    if torch.cuda.is_available():
        torch.cuda.synchronize()
except Exception as error:
    stop(2, f"the call cannot be repeated: {type(error).__name__}: {error}")
try:
    operator(*args, **kwargs)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
except Exception as error:
    text = str(error).partition("\n")[0]
    stop(10 if "CUDA" in text else 2, f"{call['operator']} failed: {type(error).__name__}: {text}")
stop(0, f"{call['operator']} worked: the failure needs more than this call")
