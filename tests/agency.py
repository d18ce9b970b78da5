"""A letting agency whose records lead to each other: an offer is made, its lease signed, leases are
bound. Its paths need results."""

from typing import Any

from envmill.kinds import KINDS
from schemas.base import Json
from schemas.environment import Call, Environment
from tests.specimens import make_environment

PROGRAM = '''
from envmill.runtime import Rejection, new_id


class Agency:
    """Flats, offers, leases and binders."""

    def __init__(self, state: dict):
        self.flats = state["flats"]
        self.offers = state["offers"]
        self.leases = state["leases"]
        self.binders = state["binders"]

    def list_flats(self, street: str = "") -> list:
        """List flats, each with its id.

        Args:
            street: Only flats in this street.
        """
        return [dict(row, id=key) for key, row in self.flats.items() if street in ("", row["street"])]

    def make_offer(self, flat_id: str, tenant: str) -> dict:
        """Offer a flat to a tenant.

        Args:
            flat_id: Id of the flat.
            tenant: Name of the tenant.
        """
        if flat_id not in self.flats:
            raise Rejection("unknown_flat", f"There is no flat {flat_id}.")
        key = new_id("offer")
        self.offers[key] = {"flat_id": flat_id, "tenant": tenant, "status": "open"}
        return dict(self.offers[key], id=key)

    def sign_lease(self, offer_id: str, months: int, note: str = "") -> dict:
        """Sign the lease of an open offer.

        Args:
            offer_id: Id of the offer.
            months: Length of the lease.
            note: A remark.
        """
        if offer_id not in self.offers:
            raise Rejection("unknown_offer", f"There is no offer {offer_id}.")
        self.offers[offer_id]["status"] = "signed"
        key = new_id("lease")
        self.leases[key] = {"offer_id": offer_id, "months": months, "note": note}
        return {"lease": dict(self.leases[key], id=key)}

    def bind(self, lease_ids: list[str], label: dict) -> dict:
        """Bind leases in one binder.

        Args:
            lease_ids: Ids of the leases.
            label: What stands on its back.
        """
        if any(key not in self.leases for key in lease_ids):
            raise Rejection("unknown_lease", "One of the leases does not exist.")
        key = new_id("binder")
        self.binders[key] = {"lease_ids": lease_ids, "label": label}
        return {"id": key}
'''
EFFECTS: Any = {
    "list_flats": "query",
    "make_offer": "change",
    "sign_lease": "change",
    "bind": "change",
}
STATE: dict[str, Any] = {
    "flats": {
        "F1": {"street": "Elm Road"},
        "F2": {"street": "Elm Road"},
        "F3": {"street": "Oak Lane"},
    },
    "offers": {"O1": {"flat_id": "F3", "tenant": "Ada Moss", "status": "open"}},
    "leases": {},
    "binders": {},
}


def make_agency() -> Environment:
    return make_environment(
        PROGRAM,
        entry="program:Agency",
        tools=KINDS["stateful"].derive_tools(PROGRAM, "Agency", EFFECTS),
        name="Agency",
        rules=[],
    )


def refer(number: int, path: str) -> Json:
    return {"from": number, "path": path}


def call(tool: str, **arguments: Json) -> Call:
    return Call(name=tool, arguments=arguments)


LOOK = call("list_flats", street="Oak Lane")
OFFER = call("make_offer", flat_id="F3", tenant="Ben Hale")
SIGN = call("sign_lease", offer_id=refer(2, "/id"), months=12)
PATH = [LOOK, OFFER, SIGN]
"""The most natural errand: offer, then sign."""
LONG = [
    LOOK,
    call("make_offer", flat_id=refer(1, "/0/id"), tenant="Ben Hale"),
    call("make_offer", flat_id="F3", tenant="Cora Lind"),
    call("sign_lease", offer_id=refer(2, "/id"), months=12),
    call("sign_lease", offer_id=refer(3, "/id"), months=6),
    call(
        "bind",
        lease_ids=[refer(4, "/lease/id"), refer(5, "/lease/id")],
        label={"first": {"lease": refer(4, "/lease/id")}},
    ),
]
"""References to a look-up, in a list, and in a nested object."""
