import torch


def gate(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.relu(self.first(x))
        print("mean", y.mean())
        y = gate(y)
        return y * self.calls
