HEADS = {}


def register(name):
    def add(cls):
        HEADS[name] = cls
        return cls

    return add
