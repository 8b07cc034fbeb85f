"""Scenario files and what is made of them: load, match, compose.

    scenario = load_file("hello.yaml")               # strict; ScenarioError with file, line and field
    script = Script(scenario)                        # the run state: what was played, what is left over
    matched = script.match(ask)                      # NoReply when nothing fits
    generations = compose(matched, ask, tokenizer)   # the truth, one Generation per prompt

Modules are imported directly (``scenario.load``, ``scenario.match`` ...): pydantic and PyYAML are only loaded by those
that read files.
"""
