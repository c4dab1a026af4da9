"""A language model that says what a test wants, by OpenAI's protocol."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_S = 60.0
"""For what a test holds back: far longer than it takes."""


@dataclass
class Script:
    """What it answers next, and from then on."""

    text: list[str] = field(default_factory=lambda: ["Nothing."])
    status: int = 200
    error: str = ""
    before: Callable[[int], None] = lambda part: None
    """Called before each part, by its number."""


class ScriptedLlm:
    """Listens on a port from ``start`` to ``close``."""

    def __init__(self, port: int) -> None:
        self.script = Script()
        self.prompts: list[str] = []
        self.abandoned = threading.Event()
        """Set when somebody broke off before the end."""
        llm = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                llm.answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        asked = json.loads(request.rfile.read(int(request.headers["content-length"])))
        self.prompts.append(asked["messages"][-1]["content"])
        script = self.script
        request.send_response(script.status)
        request.send_header("content-type", "text/event-stream" if script.status == 200 else "application/json")
        request.end_headers()
        if script.status != 200:
            request.wfile.write(json.dumps({"error": {"message": script.error}}).encode())
            return
        try:
            for part, text in enumerate(script.text):
                script.before(part)
                _say(request, {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
            _say(request, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            request.wfile.write(b"data: [DONE]\n\n")
        except OSError:
            self.abandoned.set()


def _say(request: BaseHTTPRequestHandler, event: dict[str, Any]) -> None:
    request.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
    request.wfile.flush()
