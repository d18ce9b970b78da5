"""Open an environment, call one of its tools, and let the verifier judge an attempt that does
nothing else.

    python examples/play_by_hand.py FOLDER

FOLDER is a bundle folder, as `examples/run_a_recipe.py` or `envmill export --exporter bundle`
writes it, or an id of the lake.
"""

import json
import sys

import envmill


def main() -> None:
    with envmill.open_environment(sys.argv[1]) as environment:
        scenario = environment.scenarios[0]
        print(f"{environment.record.name}: {environment.record.summary}")
        with environment.start(scenario) as session:
            for message in session.messages:
                print(f"{message['role']}: {message['content']}")
            tool = next(
                tool
                for tool in session.tools
                if tool.effect == "query" and not tool.parameters.get("required")
            )
            seen = session.call(tool.name)
            print(f"{tool.name}: {seen.outcome}, {json.dumps(seen.parts)[:200]}")
            session.say("I looked around and changed nothing.")
            verdict = session.judge()
        print(f"verdict: {verdict.outcome}, reward {verdict.reward}: {verdict.reason}")


if __name__ == "__main__":
    main()
