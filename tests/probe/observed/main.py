import argparse
import os

import torch
import torch.distributed as dist
from parts import Net


def run(steps=3):
    torch.manual_seed(0)
    net = torch.compile(Net(), backend="eager")
    for step in range(steps):
        net(torch.ones(4 + step, 8))


def spawned(index, steps):
    run(steps)


def middle(index, steps):
    torch.multiprocessing.spawn(spawned, (steps,), nprocs=1, daemon=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--spawn", action="store_true")
    parser.add_argument("--fork", action="store_true")
    options = parser.parse_args()
    if options.spawn:
        torch.multiprocessing.spawn(middle, (options.steps,), nprocs=1, daemon=False)
    elif options.fork:
        run(options.steps)
        if os.fork() == 0:
            torch._dynamo.reset()
            run(options.steps)
            os._exit(0)
        os.wait()
    elif "RANK" in os.environ:
        dist.init_process_group("gloo")
        run(options.steps)
        dist.barrier()
        dist.destroy_process_group()
    else:
        run(options.steps)


if __name__ == "__main__":
    main()
