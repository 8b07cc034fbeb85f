"""The parts of a message's content, as vLLM's own custom message checks them (SDK 3.57 and vLLM's additions).

Only messages with a role of their own are checked that far; the SDK's messages keep their parts unseen. From 0.12 one
of the shapes requires nothing, so every object passes; what is neither object nor text is reported once a shape.
"""

from __future__ import annotations

from functools import cache

from ..options import V12, V24, V32
from .containers import Union
from .kinds import Kind
from .parts import TEXT
from .records import Version
from .sdk_shapes import shapes

_SDK = """
ChatCompletionContentPartTextParam text:s type:=text
ChatCompletionContentPartImageParam image_url:dict type:=image_url
ChatCompletionContentPartInputAudioParam input_audio:dict type:=input_audio
File file:dict type:=file
ChatCompletionContentPartAudioParam audio_url:dict type:=audio_url
ChatCompletionContentPartVideoParam video_url:dict type:=video_url
ChatCompletionContentPartRefusalParam refusal:s type:=refusal
"""
_OLD = """
CustomChatCompletionContentPILImageParam image_pil:any
CustomChatCompletionContentSimpleImageParam image_url:s
ChatCompletionContentPartImageEmbedsParam image_embeds:any type:=image_embeds
CustomChatCompletionContentSimpleAudioParam audio_url:s
CustomChatCompletionContentSimpleVideoParam video_url:s
"""
_IMAGES = """
CustomChatCompletionContentPILImageParam image_pil-:any
CustomChatCompletionContentSimpleImageParam image_url-:s?
ChatCompletionContentPartImageEmbedsParam image_embeds-:any type:=image_embeds
ChatCompletionContentPartAudioEmbedsParam audio_embeds-:any type:=audio_embeds
"""
_VIDEO_EMBEDS = "ChatCompletionContentPartVideoEmbedsParam video_embeds-:any type:=video_embeds"
_PROMPT_EMBEDS = "ChatCompletionContentPartPromptEmbedsParam data:s type:=prompt_embeds"
_SIMPLE = """
CustomChatCompletionContentSimpleAudioParam audio_url-:s?
CustomChatCompletionContentSimpleVideoParam video_url-:s?
"""
_REFERENCE = "CustomChatCompletionContentToolReferenceParam name-:s type-:=tool_reference"
_THINKING = "CustomThinkCompletionContentParam thinking:s closed-:b type:=thinking"


@cache
def content_part(version: Version) -> Kind:
    """One part of a custom message's content."""
    if version < V12:
        rows = [_SDK, _OLD]
    else:
        rows = [_SDK, _IMAGES]
        rows += [_VIDEO_EMBEDS] if version >= V32 else []
        rows += [_PROMPT_EMBEDS] if version >= V24 else []
        rows += [_SIMPLE]
        rows += [_REFERENCE] if version >= V24 else []
    members = tuple(member for row in rows for member in shapes(row, "dictionary"))
    return Union((*members, TEXT, *shapes(_THINKING, "dictionary")))
