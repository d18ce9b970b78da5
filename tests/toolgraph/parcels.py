"""A place that packs orders into parcels: the tools that the examples of prompts speak of."""

from typing import Any

from envmill.kinds import KINDS
from envmill.sandbox import Program

SOURCE = '''
"""Orders of customers, packed into parcels."""

from typing import Any

from envmill.runtime import Rejection, new_id


class Parcels:
    def __init__(self, state: dict[str, Any]) -> None:
        self.customers, self.orders, self.parcels = state["customers"], state["orders"], state["parcels"]

    def find_customers(self, query: str) -> list[dict[str, Any]]:
        """Customers by a part of the name.

        Args:
            query: Part of the name.
        """
        return [dict(row) for row in self.customers.values() if query in row["name"]]

    def list_orders(self, customer_id: str) -> list[dict[str, Any]]:
        """Orders of a customer.

        Args:
            customer_id: The customer.
        """
        return [dict(row) for row in self.orders.values() if row["customer_id"] == customer_id]

    def create_parcel(self, customer_id: str, service: str) -> dict[str, Any]:
        """An empty parcel for a customer.

        Args:
            customer_id: The customer.
            service: How it is sent.
        """
        parcel = {"id": new_id("par"), "customer_id": customer_id, "service": service}
        self.parcels[parcel["id"]] = parcel
        return dict(parcel)

    def fill_parcel(self, parcel_id: str, order_ids: list[str]) -> dict[str, Any]:
        """Put orders into a parcel.

        Args:
            parcel_id: The parcel.
            order_ids: The orders.
        """
        if parcel_id not in self.parcels:
            raise Rejection("unknown_parcel", "There is no such parcel.")
        for order_id in order_ids:
            self.orders[order_id]["parcel_id"] = parcel_id
        return dict(self.parcels[parcel_id])

    def pack_orders(self, order_ids: list[str], service: str) -> list[dict[str, Any]]:
        """Pack orders together.

        Args:
            order_ids: The orders.
            service: How they are sent.
        """
        for order_id in order_ids:
            if self.orders[order_id]["packed"]:
                raise Rejection("packed", "An order is packed already.")
            self.orders[order_id].update(packed=True, service=service)
        return [dict(self.orders[order_id]) for order_id in order_ids]

    def note_lines(self, lines: list[dict[str, Any]]) -> int:
        """Write notes to orders.

        Args:
            lines: Order and note of each.
        """
        for line in lines:
            self.orders[line["order_id"]]["note"] = line["note"]
        return len(lines)

    def close_order(self, order_id: str) -> dict[str, Any]:
        """Close one order.

        Args:
            order_id: The order.
        """
        self.orders[order_id]["closed"] = True
        return dict(self.orders[order_id])
'''
EFFECTS: Any = {
    "find_customers": "query",
    "list_orders": "query",
    "create_parcel": "change",
    "fill_parcel": "change",
}
EFFECTS |= {"pack_orders": "change", "note_lines": "change", "close_order": "change"}
PROGRAM = Program(
    {"program.py": SOURCE},
    "program:Parcels",
    KINDS["stateful"].derive_tools(SOURCE, "Parcels", EFFECTS),
)
CUSTOMER, OTHER = "cus_3f9c1a2b", "cus_0d44e1f7"


def make_order(id: str, customer: str, number: int) -> dict[str, Any]:
    return {
        "id": id, "customer_id": customer, "number": number, "packed": False, "service": "", "note": "", "closed": False, "parcel_id": "",
    }  # fmt: skip


STATE: dict[str, Any] = {
    "customers": {
        CUSTOMER: {"id": CUSTOMER, "name": "Ada Okafor"},
        OTHER: {"id": OTHER, "name": "Ben Okafor"},
    },
    "orders": {
        "ord_77aa01c2": make_order("ord_77aa01c2", CUSTOMER, 11),
        "ord_0b12e9d4": make_order("ord_0b12e9d4", CUSTOMER, 12),
        "ord_51c0ffee": make_order("ord_51c0ffee", OTHER, 13),
    },
    "parcels": {},
}
