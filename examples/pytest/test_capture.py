"""Does my client capture the tokens that the server sampled, each with its own score?"""

import openai


def capture(base_url: str) -> dict[str, list]:
    """The client under test: ids and scores of a streamed answer."""
    client = openai.OpenAI(base_url=base_url, api_key="none")
    stream = client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "Say hello."}],
        stream=True,
        logprobs=True,
        extra_body={"return_token_ids": True},
    )
    ids, scores = [], []
    for chunk in stream:
        for choice in chunk.choices:
            ids += (choice.model_extra or {}).get("token_ids") or []
            if choice.logprobs is not None:
                scores += [entry.logprob for entry in choice.logprobs.content]
    return {"completion_token_ids": ids, "logprobs": scores}


def test_every_token_keeps_its_score(fakellm):
    fakellm.say("Hello, world!").fault("late-eos-score")

    captured = capture(fakellm.base_url)

    fakellm.assert_captured(captured)
