"""The real vLLM API server with its engine core replaced by a player of truths, or with its real one tapped.

Runs inside the environment that vLLM is installed in, never in the project's. Options are vLLM's own. Two variables of
the environment say the rest: ``GOLDEN_PLAY`` names the file that says what to play (without it the real engine runs),
``GOLDEN_JOURNAL`` the file that gets a line for each request that reached the engine.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

NEW_CLASS = "TokenizersBackend"


def mend_old_imports() -> None:
    """Versions older than the libraries they are run with miss a property that those no longer have."""
    base: Any = import_module("transformers.tokenization_utils_base").PreTrainedTokenizerBase
    if not hasattr(base, "all_special_tokens_extended"):
        base.all_special_tokens_extended = property(lambda tokenizer: tokenizer.all_special_tokens)


def mend_tokenizer(config: Path) -> None:
    """Versions with transformers 4 cannot read what transformers 5 calls its tokenizers and their special tokens."""
    if not config.exists() or hasattr(import_module("transformers"), NEW_CLASS):
        return
    facts: dict[str, Any] = json.loads(config.read_text())
    if facts.get("tokenizer_class") == NEW_CLASS:
        facts["tokenizer_class"] = "PreTrainedTokenizerFast"
    if isinstance(facts.get("extra_special_tokens"), list):
        facts["additional_special_tokens"] = facts.pop("extra_special_tokens")
    config.write_text(json.dumps(facts))


def replace_engine() -> None:
    """Every later engine core client is a player, or the real one behind a tap."""
    clients: Any = import_module("vllm.v1.engine.core_client").EngineCoreClient
    journal = Path(os.environ["GOLDEN_JOURNAL"])
    played = os.environ.get("GOLDEN_PLAY")
    real = clients.make_async_mp_client

    def make(vllm_config: Any = None, *rest: Any, **named: Any) -> Any:
        if played:
            return import_module("player").Player(vllm_config, Path(played), journal)
        return import_module("tap").Tap(real(vllm_config, *rest, **named), journal)

    clients.make_async_mp_client = staticmethod(make)


def main() -> None:
    mend_old_imports()
    mend_tokenizer(Path(sys.argv[sys.argv.index("--model") + 1], "tokenizer_config.json"))
    import_module("pace").watch()
    replace_engine()
    sys.argv[0] = "api_server"
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")


if __name__ == "__main__":
    main()
