from torch import nn


class Recorded(nn.Module):
    last = None

    def record(self, value):
        self.last = float(value.detach().mean())  # breaks
