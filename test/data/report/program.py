def launch(x):
    # the neighbour before
    scale(x)


def read(x):
    return x.item()
