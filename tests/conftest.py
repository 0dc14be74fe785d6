"""What tests make stays out of the user's own state folder."""

from __future__ import annotations

import os
import tempfile

os.environ["COMPILE_LENS_STATE"] = tempfile.mkdtemp(prefix="compile-lens-tests-")
