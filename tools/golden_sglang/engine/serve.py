"""The real SGLang HTTP server with its scheduler replaced by a player of truths.

Runs inside the environment that SGLang is installed in, never in the project's; options are SGLang's own. The
environment says the rest: ``GOLDEN_PLAY`` names the file that says what to play, ``GOLDEN_JOURNAL`` the file that gets
a line for each request that reached the engine, ``GOLDEN_PACE`` the file in which server and player keep step.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
stubs: Any = import_module("stubs")
stubs.install()  # in the child processes too: they import this module again


def main() -> None:
    server: Any = import_module("sglang.srt.entrypoints.http_server")
    arguments: Any = import_module("sglang.srt.server_args")
    import_module("pace").watch()
    play: Any = import_module("player").run
    chosen = arguments.prepare_server_args(sys.argv[1:])
    if "run_scheduler_process_func" in server.launch_server.__code__.co_varnames:
        server.launch_server(chosen, run_scheduler_process_func=play)
        return
    engine: Any = import_module("sglang.srt.entrypoints.engine")
    engine.run_scheduler_process = play
    server.launch_server(chosen)


if __name__ == "__main__":
    main()
