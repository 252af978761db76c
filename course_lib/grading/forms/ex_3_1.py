"""Exercise 3.1: six scenes as a resume finds them; what to do with each, and why. (lesson 3)"""
from ...checkpoint import is_finished
from ...scenarios import forecast
from .drill import seen
from .form import Field, Row, column, form, judged

DO = Field("do", "What does the resume do?", {
    "delete": "take the assistant turn with the open call out of `messages`, then ask the model",
    "ask": "ask the model, with `messages` as they are",
    "rerun": "run the tool again, answer the call with its result, then ask the model",
    "pretend": "answer the call as done, then ask the model",
    "is-error": "answer the call with an error that says \"state unknown\", then ask the model",
    "stop": "ask nobody, and give the final answer once more"})
WHY = Field("why", "Because …", {
    "all-answered": "every call has its result, and the model has yet to go on from there",
    "tidy": "an open call makes the conversation invalid, so it has to go",
    "only-reads": "a second run changes nothing, and the model needs what it reads",
    "likely": "the tool had been started, so most likely it has run",
    "cannot-tell": "the file can't say whether it has run, and a second run could do it twice",
    "small": "a second run is no great harm",
    "finished": "the model has said its last word, and there is nothing left to do"})
SCENES = {  # what is there, and the kill that leaves it
    "closed": ("`pendingToolUse` is `null`; the last message holds the result of a `read_file`", "support-desk/send_email/no-ledger/after-save-b:1"),
    "read": ("`read_file` is pending; the last message is the turn that asks for it", "support-desk/read_file/no-ledger/after-save-a:2"),
    "email": ("`send_email` is pending; the last message is the turn that asks for it", "support-desk/send_email/no-ledger/after-tool:2"),
    "log": ("`append_log` is pending; the last message is the turn that asks for it", "support-desk/append_log/no-ledger/after-save-a:2"),
    "failed": ("`pendingToolUse` is `null`; the last message says that `create_ticket` failed (`is_error`)", None),
    "finished": ("`pendingToolUse` is `null`; the last message is an answer of the model that names no tool", "support-desk/send_email/no-ledger/after-final-save:1")}
ROWS = [Row(name, says, (DO, WHY)) for name, (says, _) in SCENES.items()]
MOVES = {forecast.NOTHING: "ask", forecast.READ_ONLY: "rerun", forecast.UNKNOWN: "is-error"}


def observed(name):
    """The way that a resume really goes from a scene, by running it."""
    code = SCENES[name][1]
    if code is None:
        return "ask"  # a tool that failed has been answered: its turn is as closed as any
    found = seen(code)
    return "stop" if is_finished(found.scene) else MOVES[found.branch]


KEY = {name: observed(name) for name in SCENES}
REASONS = {"ask": "all-answered", "rerun": "only-reads", "is-error": "cannot-tell", "stop": "finished"}
EXPECTED = {"do": "a conversation that the API accepts, and no effect made twice or hidden", "why": "what the file says, and what it can't say"}
SLIPS = {
    ("do", "delete"): ("delete", "Suppose the tool has run. Where, after this, does anybody find out that it was ever asked for?"),
    ("do", "pretend"): ("pretend", "Suppose the process died before the tool began. What does the model believe from now on?"),
    ("closed", "stop"): ("null", "A tool has just answered. Has the model said what it makes of that?"),
    ("failed", "rerun"): ("failed", "Is there a call without an answer? And who has been told of the failure?"),
    ("failed", "is-error"): ("failed", "Is there a call without an answer? And who has been told of the failure?"),
    ("failed", "stop"): ("failed", "Who should decide what to do about the failure?"),
    ("finished", "ask"): ("finished", "What can the model say to a conversation that ends with its own last word?"),
    ("do", "ask"): ("pairing", "The last message names a call, and nothing follows it. What does the API say to that?"),
    ("do", "rerun"): ("twice", "Suppose it has run already, just before the process died. What does the world look like after this?"),
    ("do", "is-error"): ("null", "Is there a call that this could be the answer to? And if there is, what harm would it do to run it?"),
    ("do", "stop"): ("null", "Is there something that has been asked for and not been answered?"),
    ("why", "tidy"): ("delete", "The API wants an answer to each call. Is throwing the question away an answer?"),
    ("why", "likely"): ("pretend", "Most likely is not certainly. What happens in the cases in which it is not so?"),
    ("why", "small"): ("twice", "This time it may be small. What in the file tells the resume how small it is?"),
    "why": ("reason", "Does this reason speak of the very scene that it stands beside?")}


def scene(code, says, name):
    return judged(code, says, ROWS, {(name, "do"): {KEY[name]}, (name, "why"): {REASONS[KEY[name]]}}, SLIPS, EXPECTED, scenario=lambda row: SCENES[row][1])


EXERCISE = form(
    "3.1", "Six scenes to resume from", rows=ROWS,
    task="A harness saves at Point A and Point B and keeps no ledger. Each of these is what a resume finds in `checkpoint.json`. "
         "Say what it does, and why. (The first three are the lesson's, the others go a little further.)",
    criteria=(
        scene("closed", "Nothing is pending: it simply goes on.", "closed"),
        scene("read", "A tool that only reads is pending: it runs again.", "read"),
        scene("email", "An e-mail is pending: the model is told that nobody knows.", "email"),
        scene("log", "A line for a log is pending: the same rule holds for small effects.", "log"),
        scene("failed", "A tool that failed is no dangling call.", "failed"),
        scene("finished", "A finished run is not asked again.", "finished")),
    hints={
        "null": ["Look at pendingToolUse first. Null means that the last turn is closed.",
                 "Closed, and the last word is not the model's: then it is the model's turn."],
        "delete": ["It makes the file look well, and it loses the only trace of the call.",
                   "Keep the turn and answer the call; the rest depends on what the tool does."],
        "pretend": ["Nothing in the file says that it has run. Nothing says that it has not.",
                    "What nobody knows must not be told to the model as a fact, in neither direction."],
        "pairing": ["Each tool_use needs its tool_result in the very next message.",
                    "So a pending call is answered first, in one way or the other. Then the model is asked."],
        "twice": ["The process may have died right before the tool or right after it. Try both in your head.",
                  "Only a tool that changes nothing may run in both cases."],
        "failed": ["A tool that failed has come back: with an error, but it has. The call has its answer.",
                   "The model has not seen that answer yet. Show it, and let it decide."],
        "finished": ["A conversation that ends with the model's own words asks it for nothing.",
                     "The answer is in the file. It only has to be shown again."],
        "reason": ["For each thing to do there is one reason that carries it. The others are excuses.",
                   "Ask what the file says, what the tool does to the world, and whose turn it is."]},
    solution={name: {"do": KEY[name], "why": REASONS[KEY[name]]} for name in SCENES},
    notes={"Why is an honest error better for the model than a guess, even if the guess is right nine times in ten?":
           "With an error the model can look whether the mail is in the outbox, or ask somebody. With a guess it has no reason to look, "
           "so the one wrong case in ten goes on unnoticed, and everything that follows is built on it."})
