"""The built-in tokenizer: 4,096 ids, byte-level BPE with ChatML specials, shipped in the package.

Ids 0 to 255 are the bytes, then come the joined pieces in rank order, then the markers. ``tools/train_tokenizer.py``
made the ranks from texts of our own. ``<|endoftext|>``, ``<|im_start|>`` and ``<|im_end|>`` are special; ``<think>``,
``</think>``, ``<tool_call>`` and ``</tool_call>`` have ids of their own and stay visible, as in the models whose
conventions these are.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import TokenizerError
from .builtin_chat import plain
from .table import TableTokenizer, Templates
from .tiktoken_files import from_ranks, read_ranks

NAME = "builtin"
VOCABULARY = 4096
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
EOS = ("<|im_end|>", "<|endoftext|>")
MARKERS = (*SPECIALS, "<think>", "</think>", "<tool_call>", "</tool_call>")
DATA = Path(__file__).parent / "data"
RANKS = DATA / "builtin.tiktoken"
TEMPLATE = DATA / "builtin_chat_template.jinja"
WORDS = (
    r" ?[\p{L}\p{M}]{1,40}(?:'[\p{L}\p{M}]{1,40})?|\p{N}{1,3}| ?[^\s\p{L}\p{M}\p{N}]{1,40}|[\r\n]{1,40}|[^\S\r\n]{1,40}"
)
"""What BPE never joins across: words with a blank before and a clitic behind, up to three digits, signs, line ends,
blanks. Bounded and without look-around, so that no text takes more than linear time."""


def load_builtin() -> TableTokenizer:
    """Our own tokenizer with its chat template."""
    ranks = read_ranks(RANKS)
    first = VOCABULARY - len(MARKERS)
    if len(ranks) != first:
        raise TokenizerError(f"holds {len(ranks)} ranks instead of {first}", where=str(RANKS), hint="reinstall fakellm")
    template = TEMPLATE.read_text("utf-8")
    variables = {"eos_token": EOS[0], "pad_token": EOS[1]}
    return from_ranks(
        NAME,
        ranks,
        words=WORDS,
        specials={marker: first + index for index, marker in enumerate(MARKERS)},
        hidden=SPECIALS,
        eos=EOS,
        config={"chat_template": template, **variables},
        templates=Templates({"default": template}, variables, plain),
    )
