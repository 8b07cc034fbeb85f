"""A real Chromium, driven by its own debugging protocol: open a page, press keys, ask what is on it."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0")


class Browser:
    """``async with Browser(chromium, folder) as page``: one page. ``errors``: exceptions and console errors on it."""

    def __init__(
        self, program: str, profile: Path, *, width: int = 1200, height: int = 1000, dark: bool = False
    ) -> None:
        self._command = [program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},1000"]
        self._dark = dark
        self._number = 0
        self.errors: list[str] = []

    async def __aenter__(self) -> Browser:
        self._process = await asyncio.create_subprocess_exec(
            *self._command, "about:blank", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(30):
            url = await self._debugger()
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"{url}/json") as answer:
            pages: list[dict[str, Any]] = await answer.json(content_type=None)
        page = next(one for one in pages if one["type"] == "page")
        self._socket = await self._session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)
        await self.call("Runtime.enable")
        await self.call("Page.enable")
        if self._dark:
            features = [{"name": "prefers-color-scheme", "value": "dark"}]
            await self.call("Emulation.setEmulatedMedia", features=features)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._socket.close()
        await self._session.close()
        self._process.terminate()
        await self._process.wait()

    async def _debugger(self) -> str:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            text = line.decode(errors="replace")
            if "DevTools listening on ws://" in text:
                return "http://" + text.partition("ws://")[2].partition("/")[0]
        raise RuntimeError("the browser ended before it listened")

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its result."""
        self._number += 1
        number = self._number
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message: dict[str, Any] = await self._socket.receive_json()
            self._note(message)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def _note(self, message: dict[str, Any]) -> None:
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]["exceptionDetails"])[:500])
        if message.get("method") == "Runtime.consoleAPICalled" and message["params"]["type"] == "error":
            self.errors.append(json.dumps(message["params"]["args"])[:500])

    async def open(self, page: Path | str) -> None:
        """Load a file or an address and wait until it is drawn."""
        await self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        await self.until("document.readyState === 'complete'")

    async def until(self, condition: str) -> None:
        """Wait for a JavaScript condition to hold on the page."""
        try:
            async with asyncio.timeout(30):
                while not await self.ask(condition):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            shown = await self.ask("document.body.innerText")
            raise AssertionError(f"{condition} never held; the page shows:\n{shown}") from None

    async def picture(self, path: Path) -> None:
        """What the page looks like, as PNG: for whoever works on a page."""
        shot = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    async def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    async def press(self, key: str) -> None:
        """One key, down and up."""
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        codes = {"Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
        code = codes.get(key, ord(key[0]))
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)
