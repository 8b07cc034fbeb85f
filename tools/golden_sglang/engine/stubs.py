"""Modules of graphics cards, media and model files that SGLang imports at its start and never uses here.

Whatever is asked of such a module is a class that can be made and called; nothing it does matters, because no model
runs. Knows no request.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from importlib import import_module
from typing import Any

NAMES = frozenset(
    "torchvision torchaudio torchcodec torchao sgl_kernel flashinfer deep_gemm torch_memory_saver tvm_ffi cutlass cuda "
    "flash_attn sgl_deep_ep deep_ep kernels tilelang timm decord decord2 av modelscope datasets blobfile nvshmem quack "
    "humming flash_mla sgl_flash_mla cuda_bindings flash_attn_4 sgl_fa4 pynvml tml_renderers deepseek_recipe cubinpy "
    "outlines mistral_common".split()
)
"""Top-level packages that need a graphics card, or are heavy and unused."""

LOOKED_FOR = ("torchvision", "torchaudio", "av", "decord", "kernels", "timm", "mistral_common")
"""What transformers looks for when it is imported: it must not find the stubs."""


class _Kind(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


class _Anything:
    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, member: str) -> Any:
        return _thing(member)


def _thing(name: str) -> Any:
    if name.endswith(("Error", "Exception")):  # something catches it
        return type(name, (Exception,), {})
    return _Kind(name, (_Anything,), {})


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return "99.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if fullname.partition(".")[0] in NAMES:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        return


def install() -> None:
    """From now on those modules can be imported; transformers has looked around before."""
    found: Any = import_module("transformers.utils.import_utils")
    for name in LOOKED_FOR:
        look = getattr(found, f"is_{name}_available", None)
        if look is not None:
            look()
    for name in ("AutoProcessor", "AutoTokenizer", "AutoConfig"):
        getattr(import_module("transformers"), name)
    sys.meta_path.append(_Finder())
    _register_twice()


def _register_twice() -> None:
    """Model types that a newer transformers has too may be registered again."""
    configuration: Any = import_module("transformers.models.auto.configuration_auto")
    factory: Any = import_module("transformers.models.auto.auto_factory")
    for owner, name in ((configuration, "_LazyConfigMapping"), (factory, "_LazyAutoMapping")):
        mapping: Any = getattr(owner, name, None)
        if mapping is None:
            continue
        register = mapping.register

        def again(self: Any, key: Any, value: Any, exist_ok: bool = False, _register: Any = register) -> Any:
            return _register(self, key, value, exist_ok=True)

        mapping.register = again
