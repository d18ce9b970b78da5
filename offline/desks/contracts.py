"""The part of every place that is paid for: a contract that is suspended, and the service that follows it."""

from offline.desks.parts import (
    CUSTOMER,
    PLAN,
    VERIFY,
    DeskMethod,
    Part,
    accept,
    at_unit,
    do,
    refuse,
    verify_first,
)


def make_contract() -> Part:
    """A contract that is suspended where a bill is open, and the thing's service that
    follows it."""
    owed = {"customer_id": CUSTOMER}
    return Part(
        goal="it has service again",
        methods=[
            DeskMethod(
                "show_account",
                "query",
                "Show the account of a customer: balance in euros, whether the caller was "
                "verified. Takes the customer. Returns the record without the code.",
                'row = self._find("customers", customer_id)\nreturn {key: row[key] for key '
                'in ("id", "name", "balance", "verified")}',
                side="agent",
                takes={"customer_id": "text"},
                reads=("customers",),
            ),
            DeskMethod(
                "show_plan",
                "query",
                "Show a contract by its number. Takes the contract. Returns the record.",
                'return dict(self._find("plans", plan_id))',
                side="agent",
                takes={"plan_id": "text"},
                reads=("plans",),
            ),
            DeskMethod(
                "take_payment",
                "change",
                "Collect the open balance from the customer's bank account. Takes the "
                "customer. Returns customer and balance.",
                'row = self._find("customers", customer_id)\nif not row["balance"]:\n    '
                'raise Rejection("nothing_due", "No balance is open.")\n'
                'row["balance"] = 0\nreturn {"id": customer_id, "balance": 0}',
                side="agent",
                takes={"customer_id": "text"},
                reads=("customers",),
                writes=("customers",),
            ),
            DeskMethod(
                "resume_plan",
                "change",
                "Resume a suspended contract of a customer. Takes customer and contract. "
                "Returns the contract.",
                'row = self._find("plans", plan_id)\nif row["customer_id"] != customer_id:\n'
                '    raise Rejection("another", "This contract belongs to another customer.")\n'
                'if row["status"] != "suspended":\n    raise Rejection("not_suspended", '
                '"This contract is not suspended.")\n'
                'row["status"] = "active"\nreturn dict(row)',
                side="agent",
                takes={"customer_id": "text", "plan_id": "text"},
                reads=("plans", "customers"),
                writes=("plans",),
            ),
            DeskMethod(
                "restart_radio",
                "change",
                "Restart the radio, so that it looks for service again. Returns whether it "
                "is connected.",
                'row = self.unit["unit"]\nrow["connected"] = row["served"]\nreturn '
                '{"connected": row["connected"]}',
                writes=("unit",),
            ),
        ],
        unit={"served": True, "connected": True},
        couplings=[
            (
                {
                    "name": "service_follows_plan",
                    "reads": ["plans"],
                    "writes": ["unit"],
                    "says": "The thing is served while its contract is active; without "
                    "service it is not connected.",
                },
                'row = self.unit["unit"]\nplan = self.plans.get(row["plan_id"])\n'
                'row["served"] = bool(plan and plan["status"] == "active")\n'
                'if not row["served"]:\n    row["connected"] = False',
            )
        ],
        bad='not row["connected"]',
        pages={
            "service": "A contract with an open balance is suspended. Take the payment, "
            "then resume the contract. The customer restarts the radio."
        },
        rules=[
            "Only a suspended contract is resumed, and only for the customer to whom it belongs.",
            "A payment is taken only where a balance is open.",
        ],
        clauses=[
            verify_first("take_payment"),
            verify_first("resume_plan"),
            {"id": "ask_payment", "effect": "confirm", "call": {"name": "take_payment"}},
            {
                "id": "ask_resume",
                "effect": "confirm",
                "call": {"name": "resume_plan"},
                "names": ["plan_id"],
            },
            {
                "id": "pay_first",
                "effect": "first",
                "call": {"name": "resume_plan", "arguments": {"customer_id": "$customer"}},
                "rows": {"$customer": "customers"},
                "when": [
                    {
                        "on": "state",
                        "row": "$customer",
                        "field": "balance",
                        "op": "at_least",
                        "value": 1,
                    }
                ],
                "first": {"name": "take_payment", "arguments": {"customer_id": "$customer"}},
            },
            {
                "id": "say_balance",
                "effect": "say",
                "call": {"name": "take_payment", "arguments": {"customer_id": "$customer"}},
                "rows": {"$customer": "customers"},
                "when": [
                    {
                        "on": "state",
                        "row": "$customer",
                        "field": "balance",
                        "op": "at_least",
                        "value": 1,
                    }
                ],
                "told": {"row": "$customer", "field": "balance"},
            },
        ],
        atoms=[
            {
                "id": "unpaid",
                "symptom": "It has no connection at all.",
                "breaks": [
                    {"row": f"plans/{PLAN}", "field": "status", "value": "suspended"},
                    {"row": f"plans/{PLAN}", "field": "reason", "value": "unpaid"},
                    {"row": f"customers/{CUSTOMER}", "field": "balance", "value": 42},
                ],
                "fix": [
                    do("show_account", **owed),
                    do("see_label"),
                    do("show_plan", plan_id=PLAN),
                    VERIFY,
                    do(
                        "take_payment",
                        "A balance of 42 euros is open. Shall I collect it from your bank account?",
                        **owed,
                    ),
                    do(
                        "resume_plan",
                        f"It is paid. Shall I resume the contract {PLAN} now?",
                        plan_id=PLAN,
                        **owed,
                    ),
                    do("restart_radio"),
                ],
                "mended": [at_unit("connected", True)],
            }
        ],
        tests={
            "show_account": [
                accept(**owed, reply={"balance": 0}),
                accept(customer_id="customer_other", reply={"balance": 60}),
                refuse(customer_id="customer_0"),
            ],
            "show_plan": [
                accept(plan_id=PLAN, reply={"status": "active"}),
                accept(plan_id="plan_other", reply={"status": "suspended"}),
                refuse(plan_id="plan_0"),
            ],
            "take_payment": [
                accept(
                    customer_id="customer_other",
                    after={"customers": {"customer_other": {"balance": 0}}},
                ),
                refuse(**owed),
                refuse(customer_id="customer_0"),
            ],
            "resume_plan": [
                accept(
                    customer_id="customer_other",
                    plan_id="plan_other",
                    after={"plans": {"plan_other": {"status": "active"}}},
                ),
                refuse(plan_id=PLAN, **owed),
                refuse(customer_id=CUSTOMER, plan_id="plan_other"),
            ],
            "restart_radio": [
                accept(reply={"connected": True}),
                accept(["plug_cable"]),
                accept(["pull_cable"], after={"unit": {"unit": {"connected": True}}}),
            ],
        },
        values={"served": "true or false", "connected": "true or false"},
    )
