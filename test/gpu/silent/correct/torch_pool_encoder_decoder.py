"""An encoder and a decoder share a pool; the encoder's output is copied to a static tensor before the decoder runs.

Pattern: https://github.com/pytorch/pytorch/pull/166975
"""
import torch

tokens = torch.zeros(256, 512, device="cuda")
memory = torch.zeros(256, 512, device="cuda")
state = torch.zeros(256, 512, device="cuda")
torch.cuda.synchronize()
encoder, decoder = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(encoder):
    encoded = (tokens * 2 + 1).relu()
    memory.copy_(encoded)
del encoded
with torch.cuda.graph(decoder, pool=encoder.pool()):
    attended = memory * 0.5
    mixed = attended + state
    del attended
    state.copy_(mixed)
del mixed
for request in range(5):
    tokens.fill_(request)
    state.zero_()
    encoder.replay()
    for _ in range(8):
        decoder.replay()
        noise = torch.randn(256, 512, device="cuda")
    assert state[7, 7].item() == 4 * (2 * request + 1)
print(noise.shape)
