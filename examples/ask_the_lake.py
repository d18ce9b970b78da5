"""Print yield and pass rates of every run in the lake.

    python examples/ask_the_lake.py

docs/tables.md describes all tables and views.
"""

import envmill

YIELD = """select run, lap, count(*) filter (where outcome = 'kept') as kept, count(*) as items from exits
           where stage = 'filter' group by all order by run, lap"""
RATES = """select run, policy, count(*) as attempts, avg((outcome = 'pass')::int) as passed from rollouts
           where outcome <> 'error' group by all order by run, policy"""


def main() -> None:
    for row in envmill.query(YIELD):
        print(
            f"{row['run']}: {row['kept']} of {row['items']} {row['lap']} that reached the filter "
            "were kept"
        )
    for row in envmill.query(RATES):
        print(
            f"{row['run']}: {row['policy']} passed {row['passed']:.0%} of {row['attempts']} "
            "attempts"
        )


if __name__ == "__main__":
    main()
