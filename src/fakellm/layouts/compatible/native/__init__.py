"""Native APIs of OpenAI-like vendors: a small module each, with its routes (``NATIVES``) and places (``ACCESSORS``)."""
