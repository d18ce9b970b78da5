"""A list that a document's tool takes survives: in the outline, for the author of the program, and
in the chains that are offered."""

from typing import Any

import pytest

from envmill.interop.importers.tools import read_sources
from envmill.kinds import KINDS
from envmill.recipes.tables import describe_typed
from envmill.sandbox import Sandbox
from envmill.toolgraph.linking import list_link_kinds
from envmill.toolgraph.offers import find_offers
from envmill.toolgraph.outlining import is_plain, outline_proposal
from envmill.toolgraph.overlap import list_flows
from envmill.toolgraph.proposing import propose_domains
from schemas.environment import Blueprint, Call, Test, ToolPlan, Touch
from schemas.proposal import Outline
from schemas.seed import Brief
from tests.specimens import ORIGIN, make_environment

SOURCE = '''
"""Tickets of customers, and agents."""

from typing import Any

from envmill.runtime import Rejection, new_id


class Desk:
    def __init__(self, state: dict[str, Any]) -> None:
        self.customers, self.agents, self.tickets = state["customers"], state["agents"], state["tickets"]

    def list_customers(self) -> list[dict[str, Any]]:
        """List customers."""
        return [dict(row) for row in self.customers.values()]

    def list_agents(self) -> list[dict[str, Any]]:
        """List agents."""
        return [dict(row) for row in self.agents.values()]

    def create_agent(self, name: str) -> dict[str, Any]:
        """Add an agent.

        Args:
            name: Name.
        """
        agent = {"agent_id": new_id("age"), "name": name}
        self.agents[agent["agent_id"]] = agent
        return dict(agent)

    def list_tickets(self, customer_id: str) -> list[dict[str, Any]]:
        """List tickets of a customer.

        Args:
            customer_id: The customer.
        """
        return [dict(row) for row in self.tickets.values() if row["customer_id"] == customer_id]

    def create_ticket(self, customer_id: str, subject: str) -> dict[str, Any]:
        """Open a ticket for a customer.

        Args:
            customer_id: The customer.
            subject: Subject.
        """
        ticket = {"ticket_id": new_id("tic"), "customer_id": customer_id, "subject": subject, "agent_id": "", "status": "open"}
        self.tickets[ticket["ticket_id"]] = ticket
        return dict(ticket)

    def close_ticket(self, ticket_id: str) -> dict[str, Any]:
        """Close a ticket.

        Args:
            ticket_id: The ticket.
        """
        self.tickets[ticket_id]["status"] = "closed"
        return dict(self.tickets[ticket_id])

    def assign_tickets(self, ticket_ids: list[str], agent_id: str) -> list[dict[str, Any]]:
        """Give several tickets to one agent at once.

        Args:
            ticket_ids: Ids of the tickets.
            agent_id: The agent.
        """
        if agent_id not in self.agents:
            raise Rejection("unknown_agent", "There is no such agent.")
        for ticket_id in ticket_ids:
            self.tickets[ticket_id]["agent_id"] = agent_id
        return [dict(self.tickets[ticket_id]) for ticket_id in ticket_ids]
'''
EFFECTS: Any = dict.fromkeys(("list_customers", "list_agents", "list_tickets"), "query")
EFFECTS |= dict.fromkeys(
    ("create_agent", "create_ticket", "close_ticket", "assign_tickets"), "change"
)
DESK = make_environment(
    SOURCE,
    entry="program:Desk",
    tools=KINDS["stateful"].derive_tools(SOURCE, "Desk", EFFECTS),
    tables=[],
)
STATE: dict[str, Any] = {
    "customers": {
        f"cus_{n}": {"customer_id": f"cus_{n}", "name": name}
        for n, name in enumerate(("Ada Okafor", "Ben Roth"))
    },
    "agents": {
        f"age_{n}": {"agent_id": f"age_{n}", "name": name}
        for n, name in enumerate(("Mia Lind", "Tom Berg"))
    },
    "tickets": {
        f"tic_{n}": {
            "ticket_id": f"tic_{n}",
            "customer_id": f"cus_{n % 2}",
            "subject": f"Case {n}",
            "agent_id": "",
            "status": "open",
        }
        for n in range(4)
    },
}


def make_test(tool: str, **said: Any) -> Test:
    call = Call(name=tool, arguments=said)
    return Test(
        environment=DESK.id,
        name=tool,
        initial_state=STATE,
        setup=[],
        call=call,
        expect="success",
        origin=ORIGIN,
    )


TESTS = [
    make_test("list_customers"),
    make_test("list_agents"),
    make_test("create_agent", name="Eva Holt"),
    make_test("list_tickets", customer_id="cus_0"),
    make_test("create_ticket", customer_id="cus_0", subject="Lamp"),
    make_test("close_ticket", ticket_id="tic_0"),
    make_test("assign_tickets", ticket_ids=["tic_0", "tic_2"], agent_id="age_0"),
]


async def outline_documents() -> list[Outline]:
    sketches = [sketch for harvest in read_sources("").values() for sketch in harvest.sketches]
    return [
        part.outline
        for proposal in await propose_domains(sketches)
        for part in outline_proposal(proposal)
    ]


@pytest.mark.parametrize(
    ("tool", "path"), [("assign_tickets", "ticket_ids"), ("move_vehicles", "vehicle_ids")]
)
async def test_a_list_of_a_document_is_in_the_outline_and_told_to_the_programmer(
    tool: str, path: str
) -> None:
    outline = next(
        one for one in await outline_documents() if tool in {sketch.name for sketch in one.tools}
    )
    sketch = next(one for one in outline.tools if one.name == tool)
    assert is_plain(sketch)
    assert sketch.inputs["properties"][path]["items"] == {"type": "string"}
    plans = [
        ToolPlan(name=one.name, description=one.description, effect="change")
        for one in outline.tools
    ]
    plan = Blueprint.model_construct(
        brief=Brief.model_construct(outline=outline),
        tools=plans,
        touches={one.name: Touch() for one in plans},
        signatures={},
    )
    told = {one.name: one.inputs for one in describe_typed(plan)}
    assert told.pop(tool)["properties"][path]["type"] == "array"
    assert not [name for name, inputs in told.items() if inputs and name != "upload_attachments"], (
        "other programs choose their parameters"
    )


async def test_linked_offers_a_chain_with_a_list_a_pick_and_a_result(sandbox: Sandbox) -> None:
    offers = await find_offers(DESK, TESTS, {}, ("weighted", "linked"), sandbox, results=True)
    effects = {tool.name: tool.effect for tool in DESK.tools}
    full = [
        one
        for one in offers.chains
        if list_link_kinds(one.chain, effects) == ["list", "pick", "result"] and one.new
    ]
    assert [
        one for one in full if any(flow.argument == "ticket_ids" for flow in list_flows(one.chain))
    ]
