"""A small Dynamo: an abstract interpreter over libcst trees.

It walks the functions that Dynamo would trace, with *abstract values* in place of data, and announces every
*operation on a value* (a branch, a call, an attribute read, ...) to whoever listens. It knows no rule.
"""
