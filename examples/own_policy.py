"""Roll out a policy of your own, and compare it with a scripted one.

    python examples/own_policy.py FOLDER [MODEL]

The policy is a function of messages and tools in OpenAI's form. With MODEL, OPENAI_BASE_URL and
OPENAI_API_KEY set, it asks that server. Without a model it looks around once and gives up, so it
should earn nothing.
"""

import sys
from typing import Any

import envmill


def give_up(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any] | str:
    """Call the first tool without arguments, then stop."""
    if messages[-1]["role"] == "user":
        return {"tool_calls": [{"name": tools[0]["function"]["name"], "arguments": {}}]}
    return "I could not do it."


def ask_model(model: str) -> Any:
    """A policy that asks a server that speaks OpenAI's chat completions."""
    from openai import OpenAI

    client = OpenAI()

    def respond(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
        return (
            client.chat.completions.create(model=model, messages=messages, tools=tools)
            .choices[0]
            .message.model_dump()
        )

    return respond


def main() -> None:
    policy = ask_model(sys.argv[2]) if len(sys.argv) > 2 else give_up
    with envmill.open_environment(sys.argv[1]) as environment:
        for scenario in environment.scenarios:
            own, script = (
                environment.play(scenario, policy),
                environment.play(scenario, "reference"),
            )
            print(
                f"{scenario.number:03d} own policy {own.outcome} after {own.steps} calls; "
                f"reference {script.outcome}"
            )


if __name__ == "__main__":
    main()
