"""τ²-bench's domain `airline`: flights, users and their reservations, on the agent's side alone."""

from typing import Any

from envmill.runtime import Rejection

SIDES = {"flights": "agent", "users": "agent", "reservations": "agent"}
HIDDEN: dict[str, list[str]] = {"assistant": [], "user": []}
NOW = "2024-05-15T15:00:00"
NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = (3221322, 3221323, 3221324)
AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}
CHARACTERS = frozenset("0123456789+-*/(). ")
PASSENGER = ("first_name", "last_name", "dob")


class World:
    """State: flights with what is known of each day, users with their means of payment, reservations."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.flights = state["flights"]
        self.users = state["users"]
        self.reservations = state["reservations"]

    def _fill(self) -> None:
        """Fields that the data leave out."""
        for reservation in self.reservations.values():
            reservation.setdefault("status", None)
        for user in self.users.values():
            user.get("address", {}).setdefault("address2", None)

    def book_reservation(
        self,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: str,
        cabin: str,
        flights: list[dict[str, Any]],
        passengers: list[dict[str, Any]],
        payment_methods: list[dict[str, Any]],
        total_baggages: int,
        nonfree_baggages: int,
        insurance: str,
    ) -> Any:
        """Book a reservation.

        Args:
            user_id: The ID of the user to book the reservation such as 'sara_doe_496'.
            origin: The IATA code for the origin city such as 'SFO'.
            destination: The IATA code for the destination city such as 'JFK'.
            flight_type: The type of flight such as 'one_way' or 'round_trip'.
            cabin: The cabin class such as 'basic_economy', 'economy', or 'business'.
            flights: Each piece of flight with its flight_number and date.
            passengers: Each passenger with first_name, last_name and dob.
            payment_methods: Each means of payment with its payment_id and amount.
            total_baggages: The total number of baggage items to book the reservation.
            nonfree_baggages: The number of non-free baggage items to book the reservation.
            insurance: Whether the reservation has insurance, 'yes' or 'no'.
        """
        user = self._user(user_id)
        self._check_words(flight_type, cabin, insurance)
        people = [_pick(one, PASSENGER) for one in passengers]
        paid = [_pick(one, ("payment_id", "amount")) for one in payment_methods]
        key = next((one for one in NEW_RESERVATIONS if one not in self.reservations), None)
        if key is None:
            raise Rejection("too_many", "Too many reservations")
        pieces, days = list[dict[str, Any]](), list[dict[str, Any]]()
        for flight in flights:
            piece, day = self._take_seats(_pick(flight, ("flight_number", "date")), cabin, people)
            pieces.append(piece)
            days.append(day)
        total = sum(piece["price"] for piece in pieces) * len(people)
        total += (30 * len(people) if insurance == "yes" else 0) + 50 * nonfree_baggages
        self._check_payments(user, paid, total)
        for payment in paid:
            method = user["payment_methods"][payment["payment_id"]]
            if method["source"] == "gift_card":
                method["amount"] -= payment["amount"]
            elif method["source"] == "certificate":
                del user["payment_methods"][payment["payment_id"]]
        for day in days:
            day["available_seats"][cabin] -= len(people)
        self.reservations[key] = {
            "reservation_id": key,
            "user_id": user_id,
            "origin": origin,
            "destination": destination,
            "flight_type": flight_type,
            "cabin": cabin,
            "flights": pieces,
            "passengers": people,
            "payment_history": paid,
            "created_at": NOW,
            "total_baggages": total_baggages,
            "nonfree_baggages": nonfree_baggages,
            "insurance": insurance,
            "status": None,
        }
        user["reservations"].append(key)
        return self.reservations[key]

    def calculate(self, expression: str) -> str:
        """Calculate the result of a mathematical expression.

        Args:
            expression: The mathematical expression to calculate, such as '2 + 2'.
        """
        return str(round(float(_Sum(expression).value()), 2))

    def cancel_reservation(self, reservation_id: str) -> Any:
        """Cancel the whole reservation.

        Args:
            reservation_id: The reservation ID, such as 'ZFA04Y'.
        """
        reservation = self._reservation(reservation_id)
        reservation["payment_history"] += [
            {"payment_id": one["payment_id"], "amount": -one["amount"]}
            for one in reservation["payment_history"]
        ]
        reservation["status"] = "cancelled"
        return reservation

    def get_reservation_details(self, reservation_id: str) -> Any:
        """Get the details of a reservation.

        Args:
            reservation_id: The reservation ID, such as '8JX2WO'.
        """
        return self._reservation(reservation_id)

    def get_user_details(self, user_id: str) -> Any:
        """Get the details of a user, including their reservations.

        Args:
            user_id: The user ID, such as 'sara_doe_496'.
        """
        return self._user(user_id)

    def list_all_airports(self) -> Any:
        """Returns a list of all available airports."""
        return [{"iata": code, "city": city} for code, city in AIRPORTS.items()]

    def search_direct_flight(self, origin: str, destination: str, date: str) -> Any:
        """Search for direct flights between two cities on a specific date.

        Args:
            origin: The origin city airport in three letters, such as 'JFK'.
            destination: The destination city airport in three letters, such as 'LAX'.
            date: The date of the flight in the format 'YYYY-MM-DD', such as '2024-01-01'.
        """
        return self._search(date, origin, destination)

    def search_onestop_flight(self, origin: str, destination: str, date: str) -> Any:
        """Search for one-stop flights between two cities on a specific date.

        Args:
            origin: The origin city airport in three letters, such as 'JFK'.
            destination: The destination city airport in three letters, such as 'LAX'.
            date: The date of the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.
        """
        found = list[Any]()
        for first in self._search(date, origin):
            arrival, day = first["scheduled_arrival_time_est"], date
            if "+1" in arrival:
                # As the original counts days: always within May 2024.
                day = f"2024-05-{int(date[-2:]) + 1}"
            for second in self._search(day, first["destination"], destination, arrival):
                found.append([first | {"date": date}, second | {"date": day}])
        return found

    def send_certificate(self, user_id: str, amount: int) -> str:
        """Send a certificate to a user. Be careful!

        Args:
            user_id: The ID of the user, such as 'sara_doe_496'.
            amount: The amount of the certificate to send.
        """
        methods = self._user(user_id)["payment_methods"]
        for number in NEW_CERTIFICATES:
            key = f"certificate_{number}"
            if key not in methods:
                methods[key] = {"source": "certificate", "id": key, "amount": amount}
                return f"Certificate {key} added to user {user_id} with amount {amount}."
        raise Rejection("too_many", "Too many certificates")

    def transfer_to_human_agents(self, summary: str) -> str:  # noqa: ARG002
        """Transfer the user to a human agent, with a summary of the user's issue.

        Args:
            summary: A summary of the user's issue.
        """
        return "Transfer successful"

    def update_reservation_baggages(
        self, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
    ) -> Any:
        """Update the baggage information of a reservation.

        Args:
            reservation_id: The reservation ID, such as 'ZFA04Y'.
            total_baggages: The updated total number of baggage items.
            nonfree_baggages: The updated number of non-free baggage items.
            payment_id: The payment id stored in the user profile.
        """
        reservation = self._reservation(reservation_id)
        more = max(0, nonfree_baggages - reservation["nonfree_baggages"])
        self._pay(reservation, payment_id, 50 * more)
        reservation["total_baggages"] = total_baggages
        reservation["nonfree_baggages"] = nonfree_baggages
        return reservation

    def update_reservation_flights(
        self, reservation_id: str, cabin: str, flights: list[dict[str, Any]], payment_id: str
    ) -> Any:
        """Update the flight information of a reservation. Unchanged flights are named as well.

        Args:
            reservation_id: The reservation ID, such as 'ZFA04Y'.
            cabin: The cabin class of the reservation.
            flights: Each piece of flight of the ENTIRE new reservation with its flight_number and date.
            payment_id: The payment id stored in the user profile.
        """
        reservation = self._reservation(reservation_id)
        self._check_words("one_way", cabin, "no")
        people, pieces = reservation["passengers"], list[dict[str, Any]]()
        for one in flights:
            flight = _pick(one, ("flight_number", "date"))
            kept = [
                piece
                for piece in reservation["flights"]
                if all(piece[name] == value for name, value in flight.items())
                and cabin == reservation["cabin"]
            ]
            pieces.append(kept[0] if kept else self._take_seats(flight, cabin, people)[0])
        before, after = (
            sum(piece["price"] for piece in held) * len(people)
            for held in (reservation["flights"], pieces)
        )
        self._pay(reservation, payment_id, after - before)
        reservation["flights"] = pieces
        reservation["cabin"] = cabin
        return reservation

    def update_reservation_passengers(
        self, reservation_id: str, passengers: list[dict[str, Any]]
    ) -> Any:
        """Update the passenger information of a reservation.

        Args:
            reservation_id: The reservation ID, such as 'ZFA04Y'.
            passengers: Each passenger with first_name, last_name and dob.
        """
        reservation = self._reservation(reservation_id)
        people = [_pick(one, PASSENGER) for one in passengers]
        if len(people) != len(reservation["passengers"]):
            raise Rejection("bad_number", "Number of passengers does not match")
        reservation["passengers"] = people
        return reservation

    def get_flight_status(self, flight_number: str, date: str) -> str:
        """Get the status of a flight.

        Args:
            flight_number: The flight number.
            date: The date of the flight.
        """
        return self._day(flight_number, date)["status"]

    def _user(self, key: str) -> dict[str, Any]:
        if key not in self.users:
            raise Rejection("unknown", f"User {key} not found")
        return self.users[key]

    def _reservation(self, key: str) -> dict[str, Any]:
        if key not in self.reservations:
            raise Rejection("unknown", f"Reservation {key} not found")
        return self.reservations[key]

    def _flight(self, number: str) -> dict[str, Any]:
        if number not in self.flights:
            raise Rejection("unknown", f"Flight {number} not found")
        return self.flights[number]

    def _day(self, number: str, date: str) -> dict[str, Any]:
        days = self._flight(number)["dates"]
        if date not in days:
            raise Rejection("unknown", f"Flight {number} not found on date {date}")
        return days[date]

    def _check_words(self, flight_type: str, cabin: str, insurance: str) -> None:
        if flight_type not in ("one_way", "round_trip") or insurance not in ("yes", "no"):
            raise Rejection("bad_word", f"{flight_type} and {insurance} are not both known")
        if cabin not in ("basic_economy", "economy", "business"):
            raise Rejection("bad_word", f"Cabin class {cabin} is not known")

    def _take_seats(
        self, wanted: dict[str, Any], cabin: str, people: list[Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The piece of a reservation on this flight, and the flight's day; no seat is taken yet."""
        number, date = wanted["flight_number"], wanted["date"]
        flight, day = self._flight(number), self._day(number, date)
        if day["status"] != "available":
            raise Rejection("not_available", f"Flight {number} not available on date {date}")
        if day["available_seats"][cabin] < len(people):
            raise Rejection("no_seats", f"Not enough seats on flight {number}")
        piece = {
            "flight_number": number,
            "origin": flight["origin"],
            "destination": flight["destination"],
            "date": date,
            "price": day["prices"][cabin],
        }
        return piece, day

    def _check_payments(
        self, user: dict[str, Any], paid: list[dict[str, Any]], total: float
    ) -> None:
        for payment in paid:
            key = payment["payment_id"]
            if key not in user["payment_methods"]:
                raise Rejection("unknown", f"Payment method {key} not found")
            method = user["payment_methods"][key]
            holds = method["source"] in ("gift_card", "certificate")
            if holds and method["amount"] < payment["amount"]:
                raise Rejection("balance", f"Not enough balance in payment method {key}")
        given = sum(payment["amount"] for payment in paid)
        if given != total:
            text = f"Payment amount does not add up, total price is {total}, but paid {given}"
            raise Rejection("bad_sum", text)

    def _pay(self, reservation: dict[str, Any], key: str, price: float) -> None:
        methods = self._user(reservation["user_id"])["payment_methods"]
        if key not in methods:
            raise Rejection("unknown", "Payment method not found")
        method = methods[key]
        if method["source"] == "certificate":
            raise Rejection("certificate", "Certificate cannot be used to update reservation")
        if method["source"] == "gift_card":
            if method["amount"] < price:
                raise Rejection("balance", "Gift card balance is not enough")
            method["amount"] -= price
        if price != 0:
            reservation["payment_history"].append({"payment_id": key, "amount": price})

    def _search(
        self, date: str, origin: str, destination: str = "", after: str = ""
    ) -> list[dict[str, Any]]:
        found = list[dict[str, Any]]()
        for flight in self.flights.values():
            day = flight["dates"].get(date)
            if day is None or day["status"] != "available" or flight["origin"] != origin:
                continue
            if destination and flight["destination"] != destination:
                continue
            if after and flight["scheduled_departure_time_est"] < after:
                continue
            kept = (
                "flight_number",
                "origin",
                "destination",
                "scheduled_departure_time_est",
                "scheduled_arrival_time_est",
            )
            told = {name: flight[name] for name in kept} | {"status": "available", "date": None}
            seats = {name: day[name] for name in ("available_seats", "prices")}
            found.append(told | seats)
        return found


def _pick(given: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that a record has; others are not looked at, and none may be missing."""
    if missing := [name for name in names if name not in given]:
        raise Rejection("missing", f"{missing[0]} is missing")
    return {name: given[name] for name in names}


class _Sum:
    """A calculator of + - * / and brackets, so that nothing is evaluated."""

    def __init__(self, text: str) -> None:
        if not set(text) <= CHARACTERS:
            raise Rejection("bad_expression", "Invalid characters in expression")
        self._text = text.replace(" ", "")
        self._at = 0

    def value(self) -> float:
        found = self._sum()
        if self._at < len(self._text) or not self._text:
            raise Rejection("bad_expression", "Invalid expression")
        return found

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _sum(self) -> float:
        found = self._product()
        while self._next() in ("+", "-") and self._next():
            sign = self._next()
            self._at += 1
            found = found + self._product() if sign == "+" else found - self._product()
        return found

    def _product(self) -> float:
        found = self._atom()
        while self._next() in ("*", "/") and self._next():
            sign = self._next()
            self._at += 1
            other = self._atom()
            if sign == "/" and not other:
                raise Rejection("bad_expression", "division by zero")
            found = found * other if sign == "*" else found / other
        return found

    def _atom(self) -> float:
        if self._next() in ("+", "-") and self._next():
            sign = self._next()
            self._at += 1
            return self._atom() if sign == "+" else -self._atom()
        if self._next() == "(":
            self._at += 1
            found = self._sum()
            if self._next() != ")":
                raise Rejection("bad_expression", "Invalid expression")
            self._at += 1
            return found
        start = self._at
        while self._next() and self._next() in "0123456789.":
            self._at += 1
        try:
            return float(self._text[start : self._at])
        except ValueError:
            raise Rejection("bad_expression", "Invalid expression") from None
