"""Recording: a proxy in front of a real server writes down every exchange, with the truth that its answer shows.

``proxy`` passes bytes on and knows nothing of tokens; ``taken`` holds one exchange; ``truth`` reads it as the reference
reader does; ``line`` and ``file`` write it so that nothing is lost when the process is killed; ``pack`` makes a golden
folder and a scenario of what was written. Only ``proxy``, ``upstream`` and ``file`` touch the world.
"""
