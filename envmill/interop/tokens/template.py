"""A chat template: Jinja in a sandbox, with the filters, functions and the `generation` block that
published templates expect.

messages, tools ──render──► text, and the spans inside `{% generation %}` blocks
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (extensions of Jinja are not typed)

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from envmill.base.errors import SettingsError
from envmill.interop.tokens.refusal import TokenRefusal
from schemas.base import Json

_MARKS = re.compile(r"\{%-?\s*generation\s*-?%\}")


@dataclass(frozen=True)
class RenderedChat:
    """A conversation as text."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """Start and end of each `generation` block."""


@dataclass(frozen=True)
class ChatTemplate:
    """One template, and the variables that it gets besides the messages."""

    source: str
    tokens: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Special tokens by name, such as `bos_token`."""
    given: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further variables, such as `enable_thinking`."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()

    @cached_property
    def marked(self) -> bool:
        """Whether the template itself marks what a model generates."""
        return bool(_MARKS.search(self.source))

    def render(
        self, messages: Sequence[Json], tools: Sequence[Json], *, prompt: bool
    ) -> RenderedChat:
        """The text; with `prompt`, up to the point where the policy's turn begins. Raises
        `TokenRefusal` if the template refuses the conversation."""
        blocks: list[str] = []
        spans: list[tuple[int, int]] = []
        compiled = self._compiled

        def note(said: str) -> str:
            start = sum(map(len, blocks))
            spans.append((start, start + len(said)))
            return said

        compiled.environment.globals["note_generation"] = note
        variables = {**self.tokens, **self.given}
        # A template is a foreign program: any exception that it raises refuses only this row.
        try:
            for block in compiled.generate(
                messages=list(messages),
                tools=list(tools) or None,
                documents=None,
                add_generation_prompt=prompt,
                **variables,
            ):
                blocks.append(block)
        except Exception as error:
            raise TokenRefusal(
                "template_refuses", f"{type(error).__name__}: {error}"[:300]
            ) from error
        return RenderedChat("".join(blocks), tuple(spans))

    @cached_property
    def literals(self) -> str:
        """Text that the template can write itself, its pieces separated by NUL."""
        from jinja2 import nodes

        tree = self._compiled.environment.parse(self.source)
        written = [one.data for one in tree.find_all(nodes.TemplateData)]
        written += [one.value for one in tree.find_all(nodes.Const) if isinstance(one.value, str)]
        return "\0".join(written)

    @cached_property
    def _compiled(self) -> Any:
        try:
            return _make_environment().from_string(self.source)
        except Exception as error:
            raise SettingsError(f"The chat template is not valid Jinja: {error}.") from error


def _make_environment() -> Any:
    """The environment that published templates expect: the same trimming, filters and functions as
    in transformers."""
    try:
        from jinja2 import nodes
        from jinja2.ext import Extension, loopcontrols
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError as error:
        raise SettingsError(
            f"Chat templates need Jinja ({error}). Install EnvMill with its extra: pip install "
            "'envmill[tokens]'."
        ) from error

    class Generation(Extension):
        """`{% generation %} … {% endgeneration %}`: text that a model generates."""

        tags = {"generation"}  # noqa: RUF012  the form that Jinja documents

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.CallBlock(
                self.call_method("_track", [nodes.Name("note_generation", "load")]), [], [], body
            ).set_lineno(line)

        def _track(self, note: Any, caller: Any) -> str:
            return note(caller())

    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    made.filters["tojson"] = _render_json
    made.globals |= {"raise_exception": _refuse, "strftime_now": _refuse_date}
    return made


def _render_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: Any = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    """Render JSON without HTML escapes, which Jinja's own filter adds."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _refuse_date(_: str) -> NoReturn:
    """Refuse today's date: the same rows must give the same bytes on every day."""
    raise ValueError(
        "the template asks for today's date: name one with --template-args, for example "
        '\'{"date_string": "26 Jul 2024"}\''
    )
