"""Compile Lens: where ``torch.compile`` will break, recompile or skip the code on the screen.

Never imports torch and never runs user code; the measuring half is the package ``compile_probe``.
"""

__version__ = "0.1.0"
