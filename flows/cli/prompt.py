"""`prompt`: what models are asked, as a file and exactly as it is sent."""

from typing import TYPE_CHECKING, Annotated

import typer

from envmill.base.errors import SettingsError
from flows.cli.printing import print_text

if TYPE_CHECKING:
    from envmill.models.prompt import Prompt

Wire = Annotated[
    str,
    typer.Option(
        help="With --example: the request body in a vendor's form: openai, responses or anthropic."
    ),
]


def prompt(
    context: typer.Context,  # noqa: ARG001  every command has it
    name: Annotated[
        str | None,
        typer.Argument(help="One of them, as `recipe/name`, `all/name` or by its name alone."),
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Filled in with its example: exactly what is sent.")
    ] = False,
    wire: Wire = "",
) -> None:
    """List the prompts with their steps and hashes; with NAME, print its text with open or filled slots."""
    from flows.cli.table import show

    prompts = collect_prompts()
    if name is None:
        rows = [
            (key, step, one.hash, one.takes.__name__ if one.takes else "")
            for key, (step, one) in prompts.items()
        ]
        return show(["prompt", "step", "hash", "filled by"], rows)
    found = _pick(prompts, name)
    if wire and not example:
        raise SettingsError("--wire shows the body of an example: add --example.")
    return print_text(_fill(found, wire) if example else found.text, nl=False)


def collect_prompts() -> "dict[str, tuple[str, Prompt]]":
    """`recipe/name`, or `all/name` where every recipe asks it → the first step that asks it, and
    the prompt."""
    from envmill.pipeline.line import STEPS
    from envmill.recipes import RECIPES
    from envmill.recipes.drafting.themes import read_themes

    recipes = {name: make(read_themes()) for name, make in RECIPES.items()}
    own = {
        f"{recipe}/{one.name}": (step, one)
        for recipe, made in recipes.items()
        for step, asked in made.prompts.items()
        for one in asked
    }  # fmt: skip
    # What a policy is given is its environment's policy document and has no reply of its own.
    shared = [
        (f"all/{one.name}", (step.name, one)) for step in STEPS for one in step.prompts if one.gives
    ]
    return own | dict(reversed(shared))


def _pick(prompts: "dict[str, tuple[str, Prompt]]", name: str) -> "Prompt":
    # A recipe may ask what another one asks: the same text under two names is one prompt.
    found = {one.hash: one for key, (_, one) in prompts.items() if name in (key, one.name)}
    if len(found) != 1:
        raise SettingsError(
            f"There {'are several prompts' if found else 'is no prompt'} {name}. Known: "
            f"{', '.join(prompts)}."
        )
    return next(iter(found.values()))


def _fill(prompt: "Prompt", wire: str) -> str:
    """The text is what an account asks with; a vendor's body holds nothing else but the model's
    name, shown as `MODEL`."""
    import json

    from envmill.models.anthropic import Messages
    from envmill.models.dialect import Dialect, ModelTerms
    from envmill.models.openai import Chat
    from envmill.models.responses import Responses
    from envmill.models.showing import show_request

    request = show_request(prompt)
    if not wire:
        return "".join(message.text for message in request.messages)
    dialects: dict[str, Dialect] = {
        "openai": Chat(),
        "responses": Responses(),
        "anthropic": Messages(),
    }
    if wire not in dialects:
        raise SettingsError(f"There is no wire format {wire!r}. Known: {', '.join(dialects)}.")
    return (
        json.dumps(
            dialects[wire].write(request, "MODEL", ModelTerms()).body, indent=2, ensure_ascii=False
        )
        + "\n"
    )
