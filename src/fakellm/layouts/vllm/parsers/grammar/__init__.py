"""vLLM's newer parsers, which describe a model's format as a grammar: marks, states, and what each change means.

``scan`` finds marks by their ids, ``lex`` by their text, ``machine`` turns both into events, ``calls`` turns events
into deltas. ``qwen3`` is the one grammar that fakellm knows; it serves the qwen3 reasoning parser and the qwen3_coder
tool parser from 0.24 on. Source: vllm/parser/engine and vllm/parser/qwen3.py.
"""
