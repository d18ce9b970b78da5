"""A freight forwarder's desk: consignments in parcels, routes in legs, customs papers, capacity, dangerous goods."""

import hashlib
from dataclasses import dataclass
from typing import Any, Literal

from envmill.runtime import Blob, Rejection, new_id, now

FREE_KG = 0.001
"""Weights are kilograms with three decimals; sums are compared with this tolerance."""


@dataclass(frozen=True)
class Quote:
    """What a route costs."""

    route: str
    price: float
    days: int


class Freight:
    """Consignments of customers over routes of carriers."""

    def __init__(self, state: dict):
        self.customers = state["customers"]
        self.carriers = state["carriers"]
        self.legs = state["legs"]
        self.consignments = state["consignments"]
        self.parcels = state["parcels"]
        self.documents = state["documents"]
        self.ledger = state["ledger"]

    def list_customers(self, country: str | None = None) -> list:
        """List customers by name.

        Args:
            country: Only those of this country, as a two-letter code.
        """
        rows = [dict(row, id=key) for key, row in self.customers.items() if country in (None, row["country"])]
        return sorted(rows, key=lambda row: (row["name"], row["id"]))

    def get_consignment(self, consignment_id: str) -> dict:
        """Look up a consignment with its parcels and papers.

        Args:
            consignment_id: Its number.
        """
        row = self._get("consignments", consignment_id)
        parcels = {key: parcel for key, parcel in self.parcels.items() if parcel["consignment"] == consignment_id}
        papers = {key: paper["kind"] for key, paper in self.documents.items() if paper["consignment"] == consignment_id}
        return dict(row, id=consignment_id, parcels=parcels, documents=papers, kilograms=self._weight(consignment_id))

    def search_consignments(
        self, customer_id: str | None = None, status: Literal["draft", "booked", "departed", "arrived", "cancelled"] | None = None
    ) -> list:
        """Search consignments.

        Args:
            customer_id: Only this customer's.
            status: Only those in this status.
        """
        return [
            {"id": key, "customer": row["customer"], "status": row["status"], "to": row["to"]}
            for key, row in sorted(self.consignments.items())
            if customer_id in (None, row["customer"]) and status in (None, row["status"])
        ]

    def find_routes(self, origin: str, destination: str, at_most_legs: int = 3) -> list:
        """Find routes between two places, cheapest per kilogram first.

        Args:
            origin: Place of departure.
            destination: Place of arrival.
            at_most_legs: Longest route, 1 to 4 legs.
        """
        if not 1 <= at_most_legs <= 4:
            raise Rejection("bad_length", "A route has 1 to 4 legs.")
        found = [route for route in self._walk(origin, destination, at_most_legs, [])]
        return sorted(({"legs": route, "price_per_kg": self._rate(route), "days": self._days(route)} for route in found), key=_by_price)

    def open_consignment(self, customer_id: str, origin: str, destination: str) -> dict:
        """Open a draft consignment.

        Args:
            customer_id: Who sends.
            origin: Place of departure.
            destination: Place of arrival.
        """
        customer = self._get("customers", customer_id)
        if customer["on_hold"]:
            raise Rejection("on_hold", "This customer's account is on hold: settle the balance first.")
        places = {place for leg in self.legs.values() for place in (leg["from"], leg["to"])}
        if origin not in places or destination not in places or origin == destination:
            raise Rejection("unknown_place", "Both places must lie on a leg, and differ.")
        key = new_id("con")
        self.consignments[key] = {
            "customer": customer_id,
            "from": origin,
            "to": destination,
            "status": "draft",
            "route": [],
            "opened": now().isoformat(),
        }
        return {"id": key}

    def add_parcel(
        self, consignment_id: str, kilograms: float, contents: str, dangerous: bool = False, size: dict[str, int] | None = None
    ) -> dict:
        """Add a parcel to a draft consignment.

        Args:
            consignment_id: The consignment.
            kilograms: Weight, above 0 and up to 1000.
            contents: What is inside.
            dangerous: Whether it is dangerous goods.
            size: Centimetres by side: length, width, height.
        """
        self._draft(consignment_id)
        if not 0 < kilograms <= 1000:
            raise Rejection("bad_weight", "A parcel weighs more than 0 and at most 1000 kg.")
        if size is not None and set(size) != {"length", "width", "height"}:
            raise Rejection("bad_size", "Give length, width and height.")
        key = new_id("pcl")
        self.parcels[key] = {
            "consignment": consignment_id,
            "kilograms": round(kilograms, 3),
            "contents": contents,
            "dangerous": dangerous,
            "size": size,
        }
        return {"id": key, "total": self._weight(consignment_id)}

    def remove_parcel(self, parcel_id: str) -> dict:
        """Take a parcel out of a draft consignment.

        Args:
            parcel_id: The parcel.
        """
        parcel = self._get("parcels", parcel_id)
        self._draft(parcel["consignment"])
        del self.parcels[parcel_id]
        return {"consignment": parcel["consignment"], "total": self._weight(parcel["consignment"])}

    def attach_document(self, consignment_id: str, kind: Literal["invoice", "customs", "safety"], text: str) -> dict:
        """Attach a paper. A newer one of the same kind replaces the older.

        Args:
            consignment_id: The consignment.
            kind: Kind of paper.
            text: What it says.
        """
        row = self._get("consignments", consignment_id)
        if row["status"] not in ("draft", "booked"):
            raise Rejection("too_late", f"The consignment has {row['status']}.")
        for key in [key for key, paper in self.documents.items() if paper["consignment"] == consignment_id and paper["kind"] == kind]:
            del self.documents[key]
        key = new_id("doc")
        self.documents[key] = {
            "consignment": consignment_id,
            "kind": kind,
            "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
            "text": text,
        }
        return {"id": key}

    def print_label(self, parcel_id: str) -> Any:
        """Print the label of a parcel: a picture, and a line of text.

        Args:
            parcel_id: The parcel.
        """
        parcel = self._get("parcels", parcel_id)
        row = self.consignments[parcel["consignment"]]
        picture = bytes(hashlib.sha256(f"{parcel_id}{row['to']}".encode()).digest()) * 8
        return [f"{parcel_id} to {row['to']}, {parcel['kilograms']:.3f} kg", Blob(b"P5 16 16 255\n" + picture, "image/x-portable-graymap")]

    def quote(self, consignment_id: str, legs: list[str]) -> dict:
        """Quote a price for a route.

        Args:
            consignment_id: The consignment.
            legs: Its legs, in order.
        """
        offer = self._quote(self._get("consignments", consignment_id), consignment_id, legs)
        return {"route": offer.route, "price": offer.price, "days": offer.days}

    def book_route(self, consignment_id: str, legs: list[str]) -> dict:
        """Book a draft consignment on a route and charge its customer.

        Args:
            consignment_id: The consignment.
            legs: Legs, in order.
        """
        row = self._draft(consignment_id)
        offer = self._quote(row, consignment_id, legs)
        self._check_goods(consignment_id, legs)
        customer = self.customers[row["customer"]]
        if customer["balance"] + customer["credit"] < offer.price:
            raise Rejection("no_credit", f"The price is {offer.price}; balance and credit do not cover it.")
        weight = self._weight(consignment_id)
        for leg in legs:
            self.legs[leg]["used_kg"] = round(self.legs[leg]["used_kg"] + weight, 3)
        row["status"], row["route"] = "booked", list(legs)
        self._enter(row["customer"], -offer.price, f"freight {consignment_id}")
        return {"id": consignment_id, "price": offer.price, "days": offer.days}

    def cancel_consignment(self, consignment_id: str) -> dict:
        """Cancel a consignment that has not departed; a booked one is refunded but for a tenth.

        Args:
            consignment_id: The consignment.
        """
        row = self._get("consignments", consignment_id)
        if row["status"] not in ("draft", "booked"):
            raise Rejection("too_late", f"The consignment has {row['status']}.")
        refund = 0.0
        if row["status"] == "booked":
            self._release(consignment_id, row)
            refund = round(0.9 * self._price(consignment_id, row["route"]), 2)
            self._enter(row["customer"], refund, f"refund {consignment_id}")
        row["status"], row["route"] = "cancelled", []
        return {"id": consignment_id, "refund": refund}

    def depart(self, consignment_id: str) -> dict:
        """Let a booked consignment depart. All papers must be there.

        Args:
            consignment_id: The consignment.
        """
        row = self._get("consignments", consignment_id)
        if row["status"] != "booked":
            raise Rejection("not_booked", "Only a booked consignment departs.")
        lacking = self._lacking(consignment_id, row)
        if lacking:
            raise Rejection("papers_missing", f"Attach first: {', '.join(lacking)}.")
        row["status"], row["departed"] = "departed", now().isoformat()
        return {"id": consignment_id, "status": "departed"}

    def arrive(self, consignment_id: str) -> dict:
        """Record the arrival of a consignment and free its capacity.

        Args:
            consignment_id: The consignment.
        """
        row = self._get("consignments", consignment_id)
        if row["status"] != "departed":
            raise Rejection("not_departed", "Only what has departed arrives.")
        self._release(consignment_id, row)
        row["status"] = "arrived"
        return {"id": consignment_id, "status": "arrived"}

    def list_legs(self, carrier_id: str | None = None) -> list:
        """List legs with the capacity that is left.

        Args:
            carrier_id: Only this carrier's.
        """
        rows = [(key, row) for key, row in sorted(self.legs.items()) if carrier_id in (None, row["carrier"])]
        return [dict(row, id=key, free_kg=round(row["capacity_kg"] - row["used_kg"], 3)) for key, row in rows]

    def take_payment(self, customer_id: str, amount: float) -> dict:
        """Take a payment of a customer; a balance that is not negative lifts the hold.

        Args:
            customer_id: Who pays.
            amount: How much, above 0.
        """
        customer = self._get("customers", customer_id)
        if amount <= 0:
            raise Rejection("bad_amount", "A payment is above 0.")
        self._enter(customer_id, round(amount, 2), "payment")
        customer["on_hold"] = customer["balance"] < 0
        return {"id": customer_id, "balance": customer["balance"], "on_hold": customer["on_hold"]}

    def show_ledger(self, customer_id: str) -> list:
        """Show the entries of a customer's account, oldest first.

        Args:
            customer_id: Whose account.
        """
        self._get("customers", customer_id)
        return [entry for entry in self.ledger if entry["customer"] == customer_id]

    def _get(self, collection: str, key: str) -> dict:
        rows = getattr(self, collection)
        if key not in rows:
            raise Rejection("unknown", f"{collection} has no {key!r}; look the number up first.")
        return rows[key]

    def _draft(self, consignment_id: str) -> dict:
        row = self._get("consignments", consignment_id)
        if row["status"] != "draft":
            raise Rejection("not_draft", f"The consignment is {row['status']}.")
        return row

    def _weight(self, consignment_id: str) -> float:
        return round(sum(row["kilograms"] for row in self.parcels.values() if row["consignment"] == consignment_id), 3)

    def _walk(self, here: str, there: str, left: int, taken: list) -> list:
        if here == there and taken:
            return [taken]
        if not left:
            return []
        visited = {self.legs[leg]["from"] for leg in taken}
        onward = [key for key, leg in sorted(self.legs.items()) if leg["from"] == here and leg["to"] not in visited]
        return [route for key in onward for route in self._walk(self.legs[key]["to"], there, left - 1, [*taken, key])]

    def _rate(self, route: list) -> float:
        return round(sum(self.legs[leg]["price_per_kg"] for leg in route), 4)

    def _days(self, route: list) -> int:
        return sum(self.legs[leg]["days"] for leg in route)

    def _price(self, consignment_id: str, route: list) -> float:
        surcharge = 1.5 if self._is_dangerous(consignment_id) else 1.0
        return round(max(25.0, self._rate(route) * self._weight(consignment_id) * surcharge), 2)

    def _quote(self, row: dict, consignment_id: str, legs: list) -> Quote:
        if not legs or len(set(legs)) < len(legs):
            raise Rejection("bad_route", "A route has at least one leg, and none twice.")
        stops = [self._get("legs", leg) for leg in legs]
        ends = [row["from"], *(leg["to"] for leg in stops)]
        if any(leg["from"] != end for leg, end in zip(stops, ends, strict=False)) or ends[-1] != row["to"]:
            raise Rejection("bad_route", "The legs do not lead from the origin to the destination.")
        weight = self._weight(consignment_id)
        if weight < FREE_KG:
            raise Rejection("empty", "Add a parcel first.")
        for key, leg in zip(legs, stops, strict=True):
            if leg["used_kg"] + weight > leg["capacity_kg"] + FREE_KG:
                raise Rejection("no_capacity", f"Leg {key} has {leg['capacity_kg'] - leg['used_kg']:.3f} kg left.")
        return Quote("-".join(ends), self._price(consignment_id, legs), self._days(legs))

    def _is_dangerous(self, consignment_id: str) -> bool:
        return any(row["dangerous"] for row in self.parcels.values() if row["consignment"] == consignment_id)

    def _check_goods(self, consignment_id: str, legs: list) -> None:
        banned = [leg for leg in legs if not self.carriers[self.legs[leg]["carrier"]]["dangerous_goods"]]
        if banned and self._is_dangerous(consignment_id):
            raise Rejection("dangerous", f"The carrier of {banned[0]} takes no dangerous goods.")

    def _lacking(self, consignment_id: str, row: dict) -> list:
        needed = ["invoice"]
        countries = {self.legs[leg]["country"] for leg in row["route"]}
        if len(countries | {self.customers[row["customer"]]["country"]}) > 1:
            needed.append("customs")
        if self._is_dangerous(consignment_id):
            needed.append("safety")
        kinds = {paper["kind"] for paper in self.documents.values() if paper["consignment"] == consignment_id}
        return [kind for kind in needed if kind not in kinds]

    def _release(self, consignment_id: str, row: dict) -> None:
        weight = self._weight(consignment_id)
        for leg in row["route"]:
            self.legs[leg]["used_kg"] = round(self.legs[leg]["used_kg"] - weight, 3)

    def _enter(self, customer_id: str, amount: float, what: str) -> None:
        customer = self.customers[customer_id]
        customer["balance"] = round(customer["balance"] + amount, 2)
        self.ledger.append({"customer": customer_id, "amount": amount, "what": what, "at": now().isoformat()})


def _by_price(route: dict) -> tuple:
    return route["price_per_kg"], route["days"], route["legs"]
