"""The service that the client's own tests use."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))

from quiver_service import server

__all__ = ["server"]
