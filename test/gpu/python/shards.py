"""Spawned workers train an acoustic model; the words of one worker become invalid labels."""
import torch
import torch.multiprocessing
from torch.nn import functional

LABELS = 20


class Acoustic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(40, 32, batch_first=True)
        self.out = torch.nn.Linear(32, LABELS)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1).transpose(0, 1)


def train(rank):
    torch.manual_seed(rank)
    model = Acoustic().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    lengths = torch.full((4,), 80)
    for step in range(8):
        words = torch.randint(1, LABELS, (4, 12))
        if rank == 1 and step > 4:
            words[2, 5] = 1 << 40
        scores = model(torch.randn(4, 80, 40).cuda())
        loss = functional.ctc_loss(scores, words.cuda(), lengths, torch.full((4,), 12))  # TRUE LINE
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()  # BLAMED


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, nprocs=2)
