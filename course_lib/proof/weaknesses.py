"""The promises that a policy is known to break, for which tools and why. All others it keeps, for all tools.

So "nothing done twice unless the model is told that the state is unknown" holds for no-ledger,
record-first, lesson-6, intent, key and verify.
"""
from ..scenarios.support_desk import SUPPORT_DESK, tools

_NATURES = tools("")
EVERY = set(SUPPORT_DESK)
CHANGING = {name for name in EVERY if not _NATURES[name].read_only}
HIGH_IMPACT = {name for name in EVERY if _NATURES[name].high_impact}

BREAKS = {
    "no-checkpoint": {
        "unfinished": (EVERY, "no run, finished or not, is ever on disk"),
        "restless": (EVERY, "so going on from the end means doing it all over"),
        "forgotten": (EVERY, "no conversation is on disk that could know of anything"),
        "twice": (CHANGING, "who starts over does again what was done"),
        "other-ending": (CHANGING, "and the world shows, or the journal, how often"),
    },
    "only-b": {
        "twice": (CHANGING, "the call is not on disk, so the model asks for it again, under an id that no ledger knows"),
        "other-ending": (CHANGING, "as above"),
    },
    "blind": {
        "twice": (CHANGING, "what is pending runs, done or not"),
        "other-ending": (CHANGING, "as above"),
        "unapproved": (HIGH_IMPACT, "and nobody is asked before it runs again, or for the first time"),
        "unrecorded": (EVERY, "it keeps no ledger"),
    },
    "no-ledger": {
        "unrecorded": (EVERY, "it keeps no ledger"),
    },
    "record-first": {
        "invented": (EVERY, "the entry says done before it is, so a resume reports what never happened"),
        "forgotten": (EVERY, "and of what did happen nobody has the result"),
        "other-ending": (EVERY, "so it ends otherwise, and no error says so"),
        "unrecorded": (EVERY, "the entry was made before there was a result to put into it"),
    },
    "lesson-4": {
        "twice": (CHANGING, "a miss runs, and between effect and record a miss is no proof"),
        "other-ending": (CHANGING, "as above"),
    },
    "lesson-6": {}, "intent": {}, "key": {}, "verify": {}, "history": {}, "turns": {},
}


def known(case):
    """``{rule: because}`` of the promises that a case is known to break."""
    return {rule: because for rule, (names, because) in BREAKS[case.policy.name].items() if case.scenario.effect in names}
