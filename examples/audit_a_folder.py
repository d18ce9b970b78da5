"""Ask every gate about a bundle folder that anyone wrote, and print what the gates object to.

    python examples/audit_a_folder.py FOLDER

Ends with 1 if a gate drops something, so that it can guard a folder in CI.
"""

import sys

import envmill


def main() -> int:
    with envmill.open_environment(sys.argv[1]) as environment:
        entries = environment.audit()
    objections = [
        entry for entry in entries if entry.finding.outcome in ("dropped", "suspected", "error")
    ]
    print(f"{len(entries)} answers of gates, {len(objections)} objections")
    for entry in objections:
        print(
            f"{entry.finding.gate} {entry.name}: {entry.finding.outcome} {entry.finding.reason}: "
            f"{entry.finding.detail}"
        )
    return int(any(entry.finding.outcome == "dropped" for entry in objections))


if __name__ == "__main__":
    sys.exit(main())
