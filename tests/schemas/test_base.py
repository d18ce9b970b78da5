"""Ids: the same everywhere, for identity only, and checked when read back."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from schemas.base import canonical_json
from schemas.seed import Brief, Seed
from schemas.tables import TABLES

_SEED = Seed(
    recipe="envscaler",
    brief=Brief(theme="clinic", text="A clinic. Ümlaut.", number=1),
    licence="CC0-1.0",
)


def test_id_is_stable_across_processes_and_hash_seeds() -> None:
    code = (
        "from schemas.seed import Brief, Seed;"
        "print(Seed(recipe='envscaler', brief=Brief(theme='clinic', text='A clinic. Ümlaut.', "
        "number=1), licence='CC0-1.0').id)"
    )
    ids = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert ids == {_SEED.id}


def test_id_ignores_provenance_and_follows_identity() -> None:
    assert _SEED.model_copy(update={"licence": "MIT", "id": ""}).make_id() == _SEED.id
    assert (
        Seed(
            recipe="envscaler",
            brief=_SEED.brief.model_copy(update={"number": 2}),
            licence="CC0-1.0",
        ).id
        != _SEED.id
    )


def test_a_record_whose_id_does_not_fit_its_content_is_refused() -> None:
    forged = _SEED.model_dump() | {"recipe": "other"}
    with pytest.raises(ValidationError, match="does not match its content"):
        Seed.model_validate(forged)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        Seed.model_validate(_SEED.model_dump() | {"surprise": 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_canonical_json_has_no_text_for_what_json_lacks(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"x": value})


@pytest.mark.parametrize("record", TABLES.values(), ids=TABLES)
def test_every_field_of_every_table_is_described(record: type) -> None:
    lacking = [name for name, info in record.model_fields.items() if not info.description]  # type: ignore[attr-defined]
    assert lacking == []
