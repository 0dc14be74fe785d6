"""Starts the server from the bundle beside this file.

The bundle's folders are put on this process's path only: the environment of the interpreter, and of the probes that
the server starts, stays as the user made it. Written for any Python, so that an old one gets a sentence and no traceback.
"""

import os
import sys

#: Exit code that tells the extension that another try with this Python cannot help.
UNUSABLE_PYTHON = 78


def refuse(reason):
    version = "%d.%d" % sys.version_info[:2]
    sys.stderr.write("Python %s (%s) cannot run Compile Lens: %s\n" % (version, sys.executable, reason))
    sys.exit(UNUSABLE_PYTHON)


def main():
    if sys.version_info < (3, 9):
        refuse('it is older than 3.9. Choose another with "Compile Lens: Select Interpreter".')
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [here, os.path.join(here, "libs")]
    try:
        import libcst.native  # noqa: F401
    except ImportError:
        refuse(
            "this package of the extension has no libcst for it. "
            'Choose Python 3.9 to 3.14 for this platform with "Compile Lens: Select Interpreter".'
        )
    from compile_lens.cli import main as run

    sys.exit(run(["server"]))


if __name__ == "__main__":
    main()
