"""τ²-bench's domain `retail`: orders of a web shop, which the agent cancels, changes, exchanges and takes back."""

import json
from typing import Any

from envmill.runtime import Rejection

SIDES = {"products": "agent", "users": "agent", "orders": "agent"}
HIDDEN: dict[str, list[str]] = {"assistant": [], "user": []}
OPTIONAL = (
    "cancel_reason",
    "exchange_items",
    "exchange_new_items",
    "exchange_payment_method_id",
    "exchange_price_difference",
    "return_items",
    "return_payment_method_id",
)
CHARACTERS = frozenset("0123456789+-*/(). ")


class World:
    """State: products with their variants, users, orders."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.products = state["products"]
        self.users = state["users"]
        self.orders = state["orders"]

    def _fill(self) -> None:
        """Fields that the data leave out."""
        for order in self.orders.values():
            for name in OPTIONAL:
                order.setdefault(name, None)

    def calculate(self, expression: str) -> str:
        """Calculate the result of a mathematical expression.

        Args:
            expression: The mathematical expression to calculate, such as '2 + 2'.
        """
        return str(round(float(_Sum(expression).value()), 2))

    def cancel_pending_order(self, order_id: str, reason: str) -> Any:
        """Cancel a pending order and refund every payment. The agent explains it and asks for a yes first.

        Args:
            order_id: The order id, such as '#W0000000'.
            reason: Either 'no longer needed' or 'ordered by mistake'.
        """
        order = self._order(order_id)
        if order["status"] != "pending":
            raise Rejection("not_pending", "Non-pending order cannot be cancelled")
        if reason not in ("no longer needed", "ordered by mistake"):
            raise Rejection("bad_reason", "Invalid reason")
        refunds = list[Any]()
        for payment in order["payment_history"]:
            key = payment["payment_method_id"]
            refunds.append(
                {
                    "transaction_type": "refund",
                    "amount": payment["amount"],
                    "payment_method_id": key,
                }
            )
            method = self._method(order["user_id"], key)
            if method["source"] == "gift_card":
                method["balance"] = round(method["balance"] + payment["amount"], 2)
        order["status"] = "cancelled"
        order["cancel_reason"] = reason
        order["payment_history"].extend(refunds)
        return order

    def exchange_delivered_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Any:
        """Exchange items of a delivered order for other variants. The agent explains it and asks for a yes first.

        Args:
            order_id: The order id, such as '#W0000000'.
            item_ids: The item ids to be exchanged, each such as '1008292230'.
            new_item_ids: The new item ids, in the order of the old ones.
            payment_method_id: The payment method id for the price difference.
        """
        order = self._order(order_id)
        if order["status"] != "delivered":
            raise Rejection("not_delivered", "Non-delivered order cannot be exchanged")
        self._need_items(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Rejection("bad_items", "The number of items to be exchanged should match")
        difference = 0
        for old_id, new_id in zip(item_ids, new_item_ids, strict=True):
            old = self._item(order, old_id)
            new = self._variant(old["product_id"], new_id)
            difference += new["price"] - old["price"]
        difference = round(difference, 2)
        method = self._method(order["user_id"], payment_method_id)
        if method["source"] == "gift_card" and method["balance"] < difference:
            raise Rejection("balance", "Insufficient gift card balance to pay the difference")
        order["status"] = "exchange requested"
        order["exchange_items"] = sorted(item_ids)
        order["exchange_new_items"] = sorted(new_item_ids)
        order["exchange_payment_method_id"] = payment_method_id
        order["exchange_price_difference"] = difference
        return order

    def find_user_id_by_name_zip(self, first_name: str, last_name: str, zip: str) -> str:
        """Find user id by first name, last name, and zip code. Use it when the user is not found by email.

        Args:
            first_name: The first name of the customer, such as 'John'.
            last_name: The last name of the customer, such as 'Doe'.
            zip: The zip code of the customer, such as '12345'.
        """
        for key, user in self.users.items():
            name = user["name"]
            if (
                name["first_name"].lower() == first_name.lower()
                and name["last_name"].lower() == last_name.lower()
                and user["address"]["zip"] == zip
            ):
                return key
        raise Rejection("unknown", "User not found")

    def find_user_id_by_email(self, email: str) -> str:
        """Find user id by email.

        Args:
            email: The email of the user, such as 'something@example.com'.
        """
        for key, user in self.users.items():
            if user["email"].lower() == email.lower():
                return key
        raise Rejection("unknown", "User not found")

    def get_order_details(self, order_id: str) -> Any:
        """Get the status and details of an order.

        Args:
            order_id: The order id, such as '#W0000000'. Mind the '#' in front.
        """
        return self._order(order_id)

    def get_product_details(self, product_id: str) -> Any:
        """Get the inventory details of a product.

        Args:
            product_id: The product id, such as '6086499569'. It is not an item id.
        """
        if product_id not in self.products:
            raise Rejection("unknown", "Product not found")
        return self.products[product_id]

    def get_item_details(self, item_id: str) -> Any:
        """Get the inventory details of an item.

        Args:
            item_id: The item id, such as '6086499569'. It is not a product id.
        """
        for product in self.products.values():
            if item_id in product["variants"]:
                return product["variants"][item_id]
        raise Rejection("unknown", "Item not found")

    def get_user_details(self, user_id: str) -> Any:
        """Get the details of a user, including their orders.

        Args:
            user_id: The user id, such as 'sara_doe_496'.
        """
        return self._user(user_id)

    def list_all_product_types(self) -> str:
        """List the name and product id of all product types."""
        names = {product["name"]: product["product_id"] for product in self.products.values()}
        return json.dumps(names, sort_keys=True)

    def modify_pending_order_address(
        self,
        order_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,
    ) -> Any:
        """Modify the shipping address of a pending order. The agent explains it and asks for a yes first.

        Args:
            order_id: The order id, such as '#W0000000'.
            address1: The first line of the address, such as '123 Main St'.
            address2: The second line of the address, such as 'Apt 1' or ''.
            city: The city, such as 'San Francisco'.
            state: The state, such as 'CA'.
            country: The country, such as 'USA'.
            zip: The zip code, such as '12345'.
        """
        order = self._order(order_id)
        if "pending" not in order["status"]:
            raise Rejection("not_pending", "Non-pending order cannot be modified")
        order["address"] = _address(address1, address2, city, state, country, zip)
        return order

    def modify_pending_order_items(
        self, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Any:
        """Modify items of a pending order, once. The agent explains it and asks for a yes first.

        Args:
            order_id: The order id, such as '#W0000000'.
            item_ids: The item ids to be modified, each such as '1008292230'.
            new_item_ids: The new item ids, in the order of the old ones.
            payment_method_id: The payment method id for the price difference.
        """
        order = self._order(order_id)
        if order["status"] != "pending":
            raise Rejection("not_pending", "Non-pending order cannot be modified")
        self._need_items(order, item_ids)
        if len(item_ids) != len(new_item_ids):
            raise Rejection("bad_items", "The number of items to be exchanged should match")
        difference, variant = 0, dict[str, Any]()
        for old_id, new_id in zip(item_ids, new_item_ids, strict=True):
            if old_id == new_id:
                raise Rejection("bad_items", "The new item id should be different from the old")
            old = self._item(order, old_id)
            variant = self._variant(old["product_id"], new_id)
            difference += variant["price"] - old["price"]
        method = self._method(order["user_id"], payment_method_id)
        if method["source"] == "gift_card" and method["balance"] < difference:
            raise Rejection("balance", "Insufficient gift card balance to pay the new item")
        order["payment_history"].append(
            {
                "transaction_type": "payment" if difference > 0 else "refund",
                "amount": abs(difference),
                "payment_method_id": payment_method_id,
            }
        )
        if method["source"] == "gift_card":
            method["balance"] = round(method["balance"] - difference, 2)
        for old_id, new_id in zip(item_ids, new_item_ids, strict=True):
            item = self._item(order, old_id)
            item["item_id"] = new_id
            # As the original does: all changed items take price and options of the last new one.
            item["price"] = variant["price"]
            item["options"] = dict(variant["options"])
        order["status"] = "pending (item modified)"
        return order

    def modify_pending_order_payment(self, order_id: str, payment_method_id: str) -> Any:
        """Modify the payment method of a pending order. The agent explains it and asks for a yes first.

        Args:
            order_id: The order id, such as '#W0000000'.
            payment_method_id: The new payment method id.
        """
        order = self._order(order_id)
        if "pending" not in order["status"]:
            raise Rejection("not_pending", "Non-pending order cannot be modified")
        method = self._method(order["user_id"], payment_method_id)
        history = order["payment_history"]
        if len(history) != 1 or history[0]["transaction_type"] != "payment":
            raise Rejection(
                "bad_history", "There should be exactly one payment for a pending order"
            )
        paid = history[0]
        if paid["payment_method_id"] == payment_method_id:
            raise Rejection("same_method", "The new payment method should be another one")
        amount = paid["amount"]
        if method["source"] == "gift_card" and method["balance"] < amount:
            raise Rejection("balance", "Insufficient gift card balance to pay for the order")
        former = self._method(order["user_id"], paid["payment_method_id"])
        for kind, key in (("payment", payment_method_id), ("refund", paid["payment_method_id"])):
            history.append({"transaction_type": kind, "amount": amount, "payment_method_id": key})
        if method["source"] == "gift_card":
            method["balance"] = round(method["balance"] - amount, 2)
        if former["source"] == "gift_card":
            former["balance"] = round(former["balance"] + amount, 2)
        return order

    def modify_user_address(
        self,
        user_id: str,
        address1: str,
        address2: str,
        city: str,
        state: str,
        country: str,
        zip: str,
    ) -> Any:
        """Modify the default address of a user. The agent explains it and asks for a yes first.

        Args:
            user_id: The user id, such as 'sara_doe_496'.
            address1: The first line of the address, such as '123 Main St'.
            address2: The second line of the address, such as 'Apt 1' or ''.
            city: The city, such as 'San Francisco'.
            state: The state, such as 'CA'.
            country: The country, such as 'USA'.
            zip: The zip code, such as '12345'.
        """
        user = self._user(user_id)
        user["address"] = _address(address1, address2, city, state, country, zip)
        return user

    def return_delivered_order_items(
        self, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> Any:
        """Return some items of a delivered order. The agent explains it and asks for a yes first.

        Args:
            order_id: The order id, such as '#W0000000'.
            item_ids: The item ids to be returned, each such as '1008292230'.
            payment_method_id: The payment method id for the refund.
        """
        order = self._order(order_id)
        if order["status"] != "delivered":
            raise Rejection("not_delivered", "Non-delivered order cannot be returned")
        method = self._method(order["user_id"], payment_method_id)
        first = order["payment_history"][0]["payment_method_id"]
        if method["source"] != "gift_card" and payment_method_id != first:
            raise Rejection(
                "bad_method", "Payment method should be the original one or a gift card"
            )
        self._need_items(order, item_ids)
        order["status"] = "return requested"
        order["return_items"] = sorted(item_ids)
        order["return_payment_method_id"] = payment_method_id
        return order

    def transfer_to_human_agents(self, summary: str) -> str:  # noqa: ARG002
        """Transfer the user to a human agent, with a summary of the user's issue.

        Args:
            summary: A summary of the user's issue.
        """
        return "Transfer successful"

    def _order(self, key: str) -> dict[str, Any]:
        if key not in self.orders:
            raise Rejection("unknown", "Order not found")
        return self.orders[key]

    def _user(self, key: str) -> dict[str, Any]:
        if key not in self.users:
            raise Rejection("unknown", "User not found")
        return self.users[key]

    def _method(self, user: str, key: str) -> dict[str, Any]:
        methods = self._user(user)["payment_methods"]
        if key not in methods:
            raise Rejection("unknown", "Payment method not found")
        return methods[key]

    def _item(self, order: dict[str, Any], key: str) -> dict[str, Any]:
        for item in order["items"]:
            if item["item_id"] == key:
                return item
        raise Rejection("unknown", f"Item {key} not found")

    def _need_items(self, order: dict[str, Any], keys: list[str]) -> None:
        held = [item["item_id"] for item in order["items"]]
        for key in keys:
            if keys.count(key) > held.count(key):
                raise Rejection("unknown", f"Number of {key} not found")

    def _variant(self, product: str, key: str) -> dict[str, Any]:
        variants = self.products[product]["variants"]
        if key not in variants or not variants[key]["available"]:
            raise Rejection("not_available", f"New item {key} not found or available")
        return variants[key]


def _address(
    address1: str, address2: str, city: str, state: str, country: str, code: str
) -> dict[str, str]:
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "country": country,
        "state": state,
        "zip": code,
    }


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
