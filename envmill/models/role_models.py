"""Who plays whom in a run: the model of each role, opened once."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

from envmill.base.errors import SettingsError
from envmill.base.settings import Endpoint, Settings
from envmill.models.anthropic import Messages
from envmill.models.base import Provider, Role
from envmill.models.connection import Connections
from envmill.models.connection import Vendor as Sdk
from envmill.models.dialect import Dialect
from envmill.models.families import are_related, family
from envmill.models.openai import Chat
from envmill.models.responses import Responses
from envmill.models.spec import BATCH, Spec
from envmill.models.vendor import Vendor
from schemas.run import ProviderName, RunConfig

Opener = Callable[[Spec], Provider]
"""Opens the model a spec means."""

VENDORS: dict[str, tuple[Sdk, type[Dialect]]] = {
    "openai": ("openai", Chat),
    "responses": ("openai", Responses),
    "anthropic": ("anthropic", Messages),
}
"""Provider → whose SDK carries it, and the format it speaks."""

CONVERSING: tuple[Role, ...] = ("policy", "user")
"""Roles that take turns, so that no batch can play them."""
_JUDGES: tuple[Role, ...] = ("critic", "judge")


@dataclass(frozen=True)
class RoleModels:
    """The models of a run."""

    author: Provider
    others: Mapping[Role, Provider]
    """Roles with a model of their own."""

    async def close(self) -> None:
        """Each once, whatever roles it plays."""
        for provider in {id(one): one for one in (self.author, *self.others.values())}.values():
            await provider.close()


def read_specs(config: RunConfig) -> dict[Role, Spec]:
    """The author's model, and that of each role that has its own."""
    specs: dict[Role, Spec] = {
        "author": Spec.parse(
            f"{config.provider}:{config.model}" if config.model else config.provider
        )
    }
    for role in get_args(Role):
        if role != "author" and (text := getattr(config, role)):
            specs[role] = Spec.parse(text)
    author = specs["author"]
    if author.provider.startswith(BATCH) and author.direct.provider in VENDORS:
        # No batch takes turns: the author's own model is asked for them directly. Gate S17 asks the
        # user whatever the form.
        turning: set[Role] = {
            *_list_turning(config),
            *(("user",) if config.person == "model" else ()),
        }
        specs |= {
            role: author.direct for role in CONVERSING if role in turning and role not in specs
        }
    return specs


def check_specs(config: RunConfig) -> None:
    """Whether every role has a model, as far as a config tells."""
    specs = read_specs(config)
    for role, spec in specs.items():
        _check_spec(role, spec)
    for role in _list_turning(config):
        _check_turning(role, specs.get(role, specs["author"]))


def check_cast(config: RunConfig, settings: Settings) -> None:
    """Everything that can be known to be wrong before anyone is asked."""
    check_specs(config)
    for spec in read_specs(config).values():
        if (direct := spec.direct).provider in VENDORS:
            find_endpoint(direct, settings)


def _check_spec(role: Role, spec: Spec) -> None:
    if spec.provider not in get_args(ProviderName):
        raise SettingsError(
            f"The {role}'s model is {str(spec)!r}: its provider must be one of "
            f"{', '.join(get_args(ProviderName))}."
        )
    if spec.provider not in ("offline", "replay") and not spec.model:
        mend = (
            "set `model` beside `provider`"
            if role == "author"
            else f"write {spec.provider}:my-model"
        )
        raise SettingsError(
            f"The {role} is asked through {spec.provider}, and no model is named: {mend}; "
            "`envmill models` lists some."
        )
    if spec.provider in ("offline", "replay") and spec.model:
        raise SettingsError(
            f"The {role}'s model is {str(spec)!r}: {spec.provider} has no model to choose, leave "
            "it out."
        )
    if spec.provider.startswith(BATCH) and role in CONVERSING:
        raise SettingsError(
            f"The {role}'s model is {str(spec)!r}, and each turn of a conversation would wait for "
            f"a batch: ask it as {spec.direct}."
            if spec.direct.provider in VENDORS
            else f"The {role}'s model is {str(spec)!r}, and each turn of a conversation would "
            "wait for a batch: give it a direct provider."
        )
    if spec.provider == "replay" and role != "author":
        raise SettingsError(
            f"The {role} cannot be replayed alone: with `replay` as the provider every role is."
        )


def _list_turning(config: RunConfig) -> Iterator[Role]:
    """Roles that a model plays in this run's rollouts."""
    if "model" in (config.probe, config.teacher):
        yield "policy"
    if config.person == "model" and config.form != "single":
        yield "user"


def _check_turning(role: Role, spec: Spec) -> None:
    """The author's model stands in for a role without one of its own, where it can take turns at
    all."""
    if spec.provider == "offline" or spec.provider.startswith(BATCH):
        raise SettingsError(
            f"A model is to play the {role}, and {spec} cannot take turns in a conversation: set "
            f"`{role}` to one that can, "
            "like openai:my-model, or let a script do it (probe and teacher `skilled@0.7`, "
            "person `scripted`)."
        )


def find_endpoint(spec: Spec, settings: Settings) -> Endpoint:
    """Where a spec is asked; refused when the place or its key is not set."""
    name = spec.endpoint or VENDORS[spec.provider][0]
    endpoint = settings.endpoints.get(name)
    if endpoint is None or (spec.endpoint and not endpoint.url):
        known = (
            ", ".join(sorted(name for name, one in settings.endpoints.items() if one.url)) or "none"
        )
        raise SettingsError(
            f"{spec} names the server {name!r}, which is not set. Set "
            f"ENVMILL_ENDPOINT_{name.upper()}=URL; known: {known}."
        )
    if not endpoint.url and not endpoint.key:
        raise SettingsError(
            f"{spec} needs a key, and {endpoint.key_name} is not set. Set it, or ask a server of "
            f"your own: {spec}@my_server."
        )
    return endpoint


def open_vendor(spec: Spec, settings: Settings, connections: Connections) -> Provider:
    """A model behind a vendor's wire format."""
    sdk, dialect = VENDORS[spec.provider]
    connection = connections.of(sdk, find_endpoint(spec, settings))
    return Vendor(spec.provider, spec.model, dialect(), connection, spec.endpoint)


def open_cast(config: RunConfig, settings: Settings, house: Mapping[str, Opener]) -> RoleModels:
    """Every role's model; roles with the same model share it. `house` opens the providers that are
    no vendor's."""
    check_cast(config, settings)
    connections, opened = Connections(), dict[Spec, Provider]()
    for spec in read_specs(config).values():
        if spec not in opened:
            opened[spec] = (
                house[spec.provider](spec)
                if spec.provider in house
                else open_vendor(spec, settings, connections)
            )
    cast: dict[Role, Provider] = {role: opened[spec] for role, spec in read_specs(config).items()}
    return RoleModels(cast.pop("author"), cast)


def find_warnings(config: RunConfig) -> Iterator[str]:
    """What a run may do and its numbers suffer from."""
    yield from find_kin(config)
    yield from find_scripts(config)


def find_scripts(config: RunConfig) -> Iterator[str]:
    """A warning for each script that acts in environments that a model writes."""
    author = read_specs(config)["author"]
    for role in ("probe", "teacher") if author.provider not in ("offline", "replay") else ():
        if (script := getattr(config, role)) != "model":
            yield (
                f"The {role} policy is the script {script!r}, and {author} writes the "
                "environments: what a script passes says nothing of "
                f"difficulty. Set `{role}` to model, and `policy` to one that can take turns."
            )


def find_kin(config: RunConfig) -> Iterator[str]:
    """A warning for each role that is to judge the author's work and is of its family."""
    specs = read_specs(config)
    author = specs["author"].model
    for role in _JUDGES:
        if role in specs and author and are_related(author, specs[role].model):
            shared = family(author) or "unknown"
            yield (
                f"The {role} ({specs[role]}) is of the author's family ({shared}), and models "
                "judge their own kind too well. "
                f"Choose another family for the {role}; its calls are marked `kin` in model_calls."
            )
