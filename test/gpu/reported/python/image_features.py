"""The features of an image replace placeholders in a prompt, but there are more placeholders than features."""
import torch

hidden = torch.zeros(1, 2048, 1024, device="cuda")
placeholders = torch.zeros(1, 2048, 1, dtype=torch.bool, device="cuda")
placeholders[:, 100:676] = True
features = torch.ones(576, 1024, device="cuda")
hidden.masked_scatter_(placeholders, features)
placeholders[:, 100:1252] = True
hidden.masked_scatter_(placeholders, features)  # LAUNCH
torch.cuda.synchronize()
