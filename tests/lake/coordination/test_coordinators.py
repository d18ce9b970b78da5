"""What every coordinator promises, wherever its documents lie."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from envmill.base.errors import LeaseLost
from envmill.lake.coordination import Coordinator, Document, RemoteCoordinator, hold
from tests.lake.coordination.conftest import Open, StandingClock, silence, space_looks


def count_up(document: Document) -> int:
    document["count"] = document.get("count", 0) + 1
    return document["count"]


@pytest.mark.long
def test_changes_of_two_processes_and_many_threads_are_all_made(open_one: Open) -> None:
    processes = [open_one("one"), open_one("two")]
    with ThreadPoolExecutor(4) as pool:
        numbers = list(
            pool.map(lambda number: processes[number % 2].change("a/b", count_up), range(24))
        )
    assert sorted(numbers) == list(range(1, 25))


def test_an_edit_that_raises_changes_nothing_and_an_emptied_document_is_empty(
    open_one: Open,
) -> None:
    first, second = open_one("one"), open_one("two")

    def fail(document: Document) -> None:
        document["count"] = 7
        raise KeyError("no")

    first.change("a", count_up)
    with pytest.raises(KeyError):
        first.change("a", fail)
    assert second.change("a", count_up) == 2
    first.change("a", lambda document: document.clear())
    assert second.change("a", count_up) == 1


def test_a_process_is_alive_until_it_closes(open_one: Open) -> None:
    first, second = open_one("one", StandingClock()), open_one("two")
    assert first.own != second.own
    assert not first.is_dead(second.own)
    assert first.is_assured()
    second.close()
    assert first.is_dead(second.own)


def test_a_silent_process_of_another_machine_is_dead_after_a_while(open_one: Open) -> None:
    clock = StandingClock()
    first, second = open_one("one", clock), open_one("two", clock)
    space_looks(first, clock)
    assert not first.is_dead(second.own)
    silence(second)
    looks = [first.is_dead(second.own) for _ in range(8)]
    assert first.local or not any(looks[:4])
    assert all(looks[5:])  # a last sign may have come after the first look
    assert first.local or not second.is_assured()


async def test_two_holders_take_turns_and_the_later_has_the_larger_token(open_one: Open) -> None:
    processes, tokens = [open_one("one"), open_one("two")], list[int]()
    inside = most = 0

    async def enter(coordinator: Coordinator) -> None:
        nonlocal inside, most
        async with hold(coordinator, "r1/step-00") as lease:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.02)
            await lease.confirm()
            tokens.append(lease.token)
            inside -= 1

    await asyncio.gather(*(enter(processes[number % 2]) for number in range(4)))
    assert (most, tokens) == (1, [1, 2, 3, 4])


async def test_who_was_cut_off_finds_that_its_lease_is_anothers(open_one: Open) -> None:
    first, second = open_one("one"), open_one("two")
    space_looks(second, StandingClock())
    async with hold(first, "r1/step-00") as old:
        await old.confirm()
        silence(first)
        async with asyncio.timeout(300), hold(second, "r1/step-00") as new:
            assert (old.token, new.token, new.inherited) == (1, 2, True)
            with pytest.raises(LeaseLost, match="went to another process"):
                await old.confirm()
            await new.confirm()
    async with hold(second, "r1/step-00") as third:  # the end of the first's block left it alone
        assert third.token == 3


async def test_a_silence_that_ends_in_time_costs_nothing(open_one: Open) -> None:
    first, second = open_one("one"), open_one("two")
    if not isinstance(first, RemoteCoordinator):
        pytest.skip("a process of this machine is alive or dead")
    space_looks(second, StandingClock())
    silence(first)
    async with hold(first, "r1/step-00") as lease:
        for _ in range(3):
            assert not any(second.is_dead(first.own) for _ in range(4))
            first._beat()
        await lease.confirm()


def test_names_of_runs_and_steps_do_not_meet(open_one: Open) -> None:
    one = open_one()
    assert [
        one.change(name, count_up)
        for name in ("leases/r1/a-00", "leases/r1/a-01", "leases/r2/a-00", "budgets/r1")
    ] == [1] * 4
