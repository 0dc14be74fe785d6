import torch
from gpt import GPT, GPTConfig


def build():
    cfg = GPTConfig(n_embd=64)
    return GPT(cfg)


def inputs():
    return [(torch.randn(2, 4, 64),), (torch.randn(2, 4, 64),)]


def main():
    model = build()
    model = torch.compile(model)
    for (x,) in inputs():
        model(x)


if __name__ == "__main__":
    main()
