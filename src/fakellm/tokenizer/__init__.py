"""Text to token ids and back.

``load(name_or_path)`` finds the built-in byte-level BPE, a tiktoken encoding that is present locally, a ``.tiktoken``
file, or a Hugging Face folder (extra ``hf``). Nothing here ever touches a network, and the libraries behind it are
imported when a tokenizer is loaded, not before.
"""

from .load import load
from .protocol import Tokenizer

__all__ = ["Tokenizer", "load"]
