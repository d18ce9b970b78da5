"""Interfaces of services that stand beside other environments: `python -m offline.siblings` renews
`data/seeds/siblings.json`."""

import json

from envmill.kinds.stateful import derive_tools
from envmill.toolgraph.siblings import PATH
from offline.compose import compose_domain
from offline.program import name_class, write_program
from schemas.base import Json
from schemas.environment import Effect, Tool
from schemas.seed import Brief

SERVICES = (
    *(
        "bakery_production",
        "bike_sharing",
        "call_centre_tickets",
        "car_park_permits",
        "charity_grants",
        "conference_programme",
    ),
    *(
        "elevator_inspections",
        "event_ticketing",
        "freight_forwarding",
        "insurance_claims",
        "kindergarten_groups",
        "laboratory_samples",
    ),
    *(
        "music_lessons",
        "parcel_lockers",
        "payroll",
        "ship_berths",
        "theatre_casting",
        "translation_orders",
        "wine_cellar",
    ),
)
"""Fields of work far enough apart that one person may have to do with several of them."""


def describe_services() -> dict[str, Json]:
    """Service → its tools as they are shown."""
    return {
        theme: [tool.model_dump(mode="json") for tool in _list_tools(theme)] for theme in SERVICES
    }


def _list_tools(theme: str) -> list[Tool]:
    domain = compose_domain(Brief(theme=theme, text=theme, number=0), 0)
    effects: dict[str, Effect] = {
        operation.name: operation.effect for operation in domain.operations.values()
    }
    return derive_tools(write_program(domain), name_class(domain), effects)


def render_services() -> str:
    """One tool on a line."""
    parts = [
        f" {json.dumps(name)}: [\n" + ",\n".join(f"  {json.dumps(tool)}" for tool in tools) + "\n ]"
        for name, tools in describe_services().items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(render_services(), encoding="utf-8")
