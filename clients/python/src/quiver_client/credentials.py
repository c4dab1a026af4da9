"""How a client says who it is."""

from __future__ import annotations

import re

JSON_WEB_TOKEN = re.compile(r"eyJ[\w-]*\.[\w-]+\.[\w-]+", re.ASCII)


def credential(key: str | None, token: str | None) -> dict[str, str]:
    """The header of a bearer token, or of a key; a key that looks like a token is one."""
    if token is None and key is not None and JSON_WEB_TOKEN.fullmatch(key):
        token = key
    if token is not None:
        return {"authorization": f"Bearer {token}"}
    return {} if key is None else {"x-api-key": key}
