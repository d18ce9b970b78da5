"""The state of a desk: the caller with their records, and a neighbour who resembles them."""

from collections.abc import Mapping, Sequence
from typing import Any

from offline.desks.parts import CODE, CUSTOMER, DEVICE, NAME, OTHER, PLAN, SERIAL, Part
from schemas.base import Json


def make_state(parts: Sequence[Part], *, troubled: bool = False) -> dict[str, Any]:
    """The healthy state; `troubled` has an old release, expired orders and a lost profile,
    so that every tool can be tried."""
    unit: dict[str, Json] = {"id": "unit", "serial": SERIAL, "plan_id": PLAN}
    filed: dict[str, Json] = {
        "id": DEVICE,
        "customer_id": CUSTOMER,
        "serial": SERIAL,
        "online": not troubled,
    }
    for part in parts:
        unit |= part.unit
        filed |= part.filed
    other = filed | {
        "id": "device_other",
        "customer_id": "customer_other",
        "serial": "TR-5087",
        "online": False,
    }
    if troubled:
        spoilt: dict[str, Json] = {"profile": "lost", "connected": False}
        for one in (one for part in parts for atom in part.atoms for one in atom["breaks"]):
            if one["value"] in ("old", "expired", "empty"):
                spoilt[one["field"]] = one["value"]
        unit |= {name: value for name, value in spoilt.items() if name in unit}
        filed |= {name: value for name, value in spoilt.items() if name in filed}
    customer = {"id": CUSTOMER, "name": NAME, "code": CODE, "balance": 0, "verified": False}
    return {
        "customers": {
            CUSTOMER: customer,
            "customer_other": {
                **customer,
                "id": "customer_other",
                "name": OTHER,
                "code": "heron-17",
                "balance": 60,
            },
        },
        "devices": {DEVICE: filed, "device_other": other},
        "plans": {
            PLAN: {"id": PLAN, "customer_id": CUSTOMER, "status": "active", "reason": "none"},
            "plan_other": {
                "id": "plan_other",
                "customer_id": "customer_other",
                "status": "suspended",
                "reason": "unpaid",
            },
        },
        "cases": {},
        "unlocked": {},
        "unit": {"unit": unit},
    }


FIELDS: Mapping[str, Sequence[str]] = {
    "customers": ("id", "name", "code", "balance", "verified"),
    "plans": ("id", "customer_id", "status", "reason"),
    "cases": ("id", "serial", "team"),
    "unlocked": ("id",),
}
"""Attributes of collections that are the same everywhere."""
