"""How a client says who it is."""

from __future__ import annotations

import re

HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
"""What the HTTP library can send in a header."""

JSON_WEB_TOKEN = re.compile(r"eyJ[\w-]*\.[\w-]+\.[\w-]+", re.ASCII)


def credential(key: str | None, token: str | None) -> dict[str, str]:
    """The header of a bearer token, or of a key; a key that looks like a token is one. Blanks at its ends are left out.

    Raises ``ValueError`` for one that no header can hold: the HTTP library would show it in its error.
    """
    key, token = key and key.strip(), token and token.strip()
    for name, secret in (("key", key), ("token", token)):
        if secret is not None and not HEADER_VALUE.fullmatch(secret):
            raise ValueError(f"the {name} has a character that it can't have, such as the end of a line")
    if token is None and key is not None and JSON_WEB_TOKEN.fullmatch(key):
        token = key
    if token is not None:
        return {"authorization": f"Bearer {token}"}
    return {} if key is None else {"x-api-key": key}


def shown_address(address: str) -> str:
    """An address as it may be shown: without a user and a password, which may be a key."""
    return re.sub(r"//[^/?#]*@", "//", address, count=1)
