"""A limit on what one request may send to a page, whatever its fields."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]


class LimitedBody:
    """ASGI middleware: a longer body is answered with 413 before it is read.

    Args:
        app: the application.
        most_bytes: of a request's body.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], most_bytes: int) -> None:
        self.app, self.most_bytes = app, most_bytes

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.most_bytes:
            await send({"type": "http.response.start", "status": 413, "headers": []})
            await send({"type": "http.response.body", "body": b"too much text for the page"})
            return
        read = 0

        async def limited() -> _Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            return {"type": "http.disconnect"} if read > self.most_bytes else message

        await self.app(scope, limited, send)
