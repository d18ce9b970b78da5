"""Domain knowledge as data: reads `data/seeds/domains/*.toml`, one file per theme."""

import keyword
import tomllib
from dataclasses import replace
from functools import cache

from pydantic import TypeAdapter, ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.recipes.drafting.themes import read_themes
from offline.article import name_one
from offline.domain import Collection, Domain, Operation, OperationParameter

FOLDER = ROOT / "data/seeds/domains"


@cache
def load_domain(theme: str) -> Domain:
    """One theme's domain in full, every feature included."""
    known = dict(read_themes())
    if theme not in known:
        raise SettingsError(
            f"The offline author knows no theme {theme!r}: use one of {', '.join(known)}.",
            theme=theme,
        )
    path = FOLDER / f"{theme}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return _add_lookups(
            TypeAdapter(Domain).validate_python({"theme": theme, "text": known[theme], **raw})
        )
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise SettingsError(
            f"{path} is no domain: {error}. Mend that file.", theme=theme
        ) from error


def _add_lookups(domain: Domain) -> Domain:
    """Operations that lookups call and the file does not write out: find by a text, list by what a
    row belongs to, or list all."""
    _refuse_keywords(domain)
    calls = {
        each.lookup.call: write_lookup(name, each, domain)
        for name, each in domain.collections.items()
    }
    return replace(
        domain,
        operations={name: each for name, each in calls.items() if name not in domain.operations}
        | domain.operations,
    )


def write_lookup(name: str, collection: Collection, domain: Domain) -> Operation:
    """The query through which rows of a collection are looked up."""
    plural = name.replace("_", " ")
    if not collection.lookup.using:
        return Operation(
            does=f"List all {plural}.", gives=f"rows({name})", feature=collection.feature
        )
    ((argument, attribute),) = collection.lookup.using.items()
    owner = collection.attributes[attribute].ref
    if owner:
        noun = domain.collections[owner].noun
        takes = OperationParameter(name=argument, row=owner, about=f"Id of the {noun}.")
        gives = f"rows({name}, row.{attribute} == {takes.local}.id)"
        return Operation(
            does=f"List the {plural} of {name_one(noun)}.",
            gives=gives,
            takes=(takes,),
            feature=collection.feature,
        )
    said = attribute.replace("_", " ")
    takes = OperationParameter(
        name=argument,
        find=f"{name}.{attribute}",
        about=f"What the {said} of the {collection.noun} contains.",
    )
    gives = f"rows({name}, matches(row.{attribute}, {argument}))"
    return Operation(
        does=f"Find {plural} whose {said} contains a text.",
        gives=gives,
        takes=(takes,),
        feature=collection.feature,
    )


def _refuse_keywords(domain: Domain) -> None:
    """A formula reads attributes as `row.name`, which Python does not parse when the name is a word
    of its own."""
    bad = [
        f"{name}.{each}"
        for name, collection in domain.collections.items()
        for each in collection.attributes
        if keyword.iskeyword(each)
    ]
    if bad:
        raise SettingsError(
            f"Domain {domain.theme}: {', '.join(bad)} is a word of Python. Choose other names.",
            theme=domain.theme,
        )
