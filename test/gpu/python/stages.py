"""A model in two stages, one GPU each: the first stage chooses a row that the second one's table does not have. With
"replicas", the model runs on both GPUs under DataParallel, and half of the batch is bad."""
import sys

import torch

ROWS = 100


class Router(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.score = torch.nn.Linear(16, ROWS + 1)

    def forward(self, x):
        return self.score(x).argmax(-1)


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(ROWS, 32)

    def forward(self, choice):
        return self.table(choice)  # TRUE LINE


def staged():
    router, experts = Router().to("cuda:0"), Experts().to("cuda:1")
    with torch.no_grad():
        router.score.bias[ROWS] = 1e4
    for step in range(4):
        choice = router(torch.randn(64, 16, device="cuda:0")) if step == 3 else torch.zeros(64, dtype=torch.long)
        mixed = experts(choice.to("cuda:1", non_blocking=True)).mean(0)
    return mixed.to("cuda:0").sum().item()  # BLAMED


def replicated():
    model = torch.nn.DataParallel(Experts().cuda())
    choice = torch.arange(128, device="cuda") % ROWS
    model(choice)
    choice[100] = ROWS
    return model(choice).sum().item()  # BLAMED


if __name__ == "__main__":
    if torch.cuda.device_count() < 2:
        sys.exit(77)
    print({"staged": staged, "replicas": replicated}[sys.argv[1]]())
