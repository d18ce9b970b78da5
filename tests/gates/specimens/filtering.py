"""What the filter's gates must drop, and for which reason, and the near misses they must keep.

Attempts for F1, F2 and F5, texts for F3, scenarios for F4.
"""

from typing import Any

from schemas.environment import Call
from schemas.rollout import Rollout
from schemas.scenario import Scenario, UserContract
from tests.specimens import LEND, make_environment, make_scenario

Outcomes = str
"""One letter an attempt: p passed, f failed, e ended in error, u in a fault of the simulated
user."""

_OUTCOMES = {"p": "pass", "f": "fail", "e": "error", "u": "error"}


def make_probes(
    outcomes: Outcomes, checkpoint: str = "openai:small", **changes: Any
) -> list[Rollout]:
    """Attempts of a model; of a script with an empty checkpoint."""
    return [
        Rollout.model_validate(
            {
                "scenario": "scn_x", "environment": "env_x", "policy": "model", "rollout_group": "probe", "attempt": number, "seed": 1,
                "outcome": _OUTCOMES[letter], "reward": None if letter in "eu" else float(letter == "p"), "components": {}, "reason": "",
                "steps": 1, "termination": {"u": "user_fault", "e": "environment_error"}.get(letter, "done"), "final_state_hash": "",
                "transcript": [], "checkpoint": checkpoint,
            }
            | changes
        )
        for number, letter in enumerate(outcomes)
    ]  # fmt: skip


SOLVED: dict[str, tuple[Outcomes, str]] = {
    "never": ("ffff", "unsolved"),
    "never where it was judged": ("feee", "unsolved"),
    "nobody could": ("eeee", "environment_fails"),
    "the user breaks its contract every time": ("uuuu", "user_fails"),
    "once": ("fffp", ""),
    "once, beside errors": ("eeep", ""),
    "always": ("pppp", ""),
}
"""F1: name → attempts and the reason they are dropped for, empty where they are kept."""

TRIVIAL: dict[str, tuple[Outcomes, float, str]] = {
    "always": ("pppp", 1.0, "trivial"),
    "always where it was judged": ("ppppee", 1.0, "trivial"),
    "nearly always, and that is too often": ("pppppppf", 0.8, "trivial"),
    "not always": ("pppppppf", 1.0, ""),
    "every other time": ("pfpf", 0.8, ""),
    "never": ("ffff", 1.0, ""),
    "just below the share": ("ppppppff", 0.8, ""),
}
"""F2: name → attempts, the share from which it is too easy, and the reason."""

UNTRAINABLE: dict[str, tuple[Outcomes, list[Outcomes], str]] = {
    "never, and nothing else is known": ("ffffffff", [], "no_variance"),
    "always": ("pppppppp", [], "no_variance"),
    "never, as its siblings": ("ffff", ["ffff"] * 4, "no_variance"),
    "always, as its siblings": ("pppp", ["pppp"] * 4, "no_variance"),
    "never, where siblings are one or the other": (
        "ffffffff",
        ["pppppppp", "ffffffff"] * 3,
        "no_variance",
    ),
    "once in eight": ("fffffffp", [], ""),
    "mixed": ("pfpf", ["ffff"] * 4, ""),
    "never so far, where siblings come and go alike": (
        "ffff",
        ["pffp", "fpfp", "ppff", "fpff"] * 2,
        "",
    ),
    "all but one": ("pppppppf", ["pppppppp"] * 3, ""),
}
"""F5: name → attempts, those of its siblings, and the reason."""

SHED = make_environment()
BARN = make_environment(name="Barn", rules=["Another rule."])
LONG = (
    "Good morning, Ada has come by for the drill we promised her last week, so please lend it to "
    "her, and have a look whether "
    "she still has anything else of ours before you do."
)


def ask(
    request: str = "Please lend the drill to Ada.", home: Any = SHED, **changes: Any
) -> Scenario:
    return make_scenario(home, request=request, user=UserContract(opening=request), **changes)


REPEATS: dict[str, tuple[Scenario, Scenario, str]] = {
    "the same words": (ask(), ask(seed=8), "repeat"),
    "in capitals and other signs": (ask(), ask("please LEND the drill, to Ada!"), "repeat"),
    "one word of many is another": (ask(LONG), ask(LONG.replace("drill", "saw")), "near_repeat"),
    "a sentence more": (ask(LONG), ask(LONG + " Thank you."), "near_repeat"),
    "the same in another environment": (
        ask(LONG),
        ask(LONG.replace("last week", "on Monday"), BARN),
        "near_repeat",
    ),
    "a short request about another tool": (ask(), ask("Please lend the saw to Ada."), ""),
    "the same short words elsewhere": (ask(), ask(home=BARN, oracle=[LEND]), ""),
    "the same words, and it must be refused": (ask(), ask(polarity="refuse"), ""),
    "nearly the same words, and another way": (
        ask(LONG),
        ask(LONG.replace("drill", "saw"), oracle=[Call(name="list_tools")]),
        "",
    ),
    "the same wish in words of its own": (
        ask(LONG),
        ask("Ada waits for the drill. Lend it, once you know that she owes us nothing else."),
        "",
    ),
}
"""F4: name → two scenarios, and the reason that one of them is dropped for."""

PROTECTED = [
    "I am Raj Sankar and I would like to return the water bottle from order 4417; please refund "
    "it to the card I paid with, and tell me "
    "how many days that usually takes.",
    "Move every file older than thirty days from the reports folder into the archive, compress "
    "the archive, and then write a short "
    "message to Lena that says how much space was won.",
    "My flight to Oslo on 12 May was cancelled. Find me the next one that still has two seats "
    "together by the window, and charge the "
    "difference to my travel certificate.",
    "You must obtain explicit confirmation from the customer before any action that changes the "
    "booking database, and you may make "
    "only one tool call at a time.",
    "Please move the 9 boxes for Anna from room 14 to the big store behind the north gate and "
    "then tell Bob about it before you leave.",
]
"""Texts as benchmarks have them, written for these tests."""

CONTAMINATED: dict[str, tuple[str, str]] = {
    "as it stands": (PROTECTED[0], "same_text"),
    "among other words": (f"Hello there, one thing. {PROTECTED[1]} Thanks a lot for doing it today.", "quotation"),
    "other names and numbers": (
        "Please move the 7 boxes for Mia from room 3 to the big store behind the north gate and "
"then tell Raj about it before you leave.",
        "quotation",
    ),
    "pieces of it": (
        "Move every file older than thirty days from the reports. Write a short message "
"to Lena that says how much space.", "copy"
    ),
    "words left out here and there": (
        "Please obtain explicit confirmation from the customer before an action that changes the "
"booking database and you may make "
        "only a single tool call at a time.",
        "reworded",
    ),
    "the same genre": (
        "I am calling about the lamp from my last order: the shade is broken. Can you send me "
"another one and tell me when it comes?", ""
    ),
    "a common turn of speech": ("Please tell me how many days that usually takes.", ""),
    "the same thing in words of its own": (
        "Whatever in reports is more than a month old belongs in the archive. Zip it; Lena "
"wants to know the gain.", ""
    ),
    "too short to be anybody's": ("Please refund it.", ""),
}  # fmt: skip
"""F3: name → text, and the reason."""
