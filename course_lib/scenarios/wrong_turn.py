"""The task of lesson 5: a customer's letter, misread in turn 4, with everything that follows from that.

Ada wants her money back and no new lamp. The agent pays (turn 3), then promises a new lamp (4),
sends it (5) and reports (6). Nothing crashes, so nothing but going back can help. A model that
has been taken back, or that runs in a fork, reads the letter rightly; but it pays again if its
conversation has no payment, in other words and under a new id, whatever a note has told it.

The world lies in one folder with the branches' folders in it: there are several timelines of
the agent's mind, and one world.
"""
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

from .. import log
from ..agent import run_agent
from ..checkpoint import lineage_of
from ..errors import CourseError
from ..model import OfflineClient
from ..moments import ALERT, Run, SimulatedCrash, as_text, crash_point, current
from ..scenes import load_latest
from ..standing import NOTE
from ..tools import Tool
from . import world
from .runner import Outcome
from .scenario import Scenario, turn

TASK = "Read letter.txt, do what the customer asks for, and write report.txt."
FIRST = "checkpoints"  # the folder of the first branch; a fork's is called checkpoints-NAME
FILES = {
    "letter.txt": "Order R7: the lamp came broken, and I have found another one since.\n"
                  "So no new lamp, please. Just my 40 euro back. Ada (ada@example.org)\n",
    "orders.json": '{"R7": {"item": "lamp", "paid": 40}}\n',
    "payments.txt": "",
    "outbox.txt": "",
    "parcels.txt": "",
}
READ = turn("First the letter.", "toolu_01", "read_letter", {})
LOOK_UP = turn("Now the order.", "toolu_02", "find_order", {"order": "R7"})
PAY = turn("She has paid 40, so 40 go back.", "toolu_03", "pay_back", {"order": "R7", "amount": 40})
PROMISE = turn("I tell her about the new lamp.", "toolu_04", "send_email", {"to": "ada@example.org", "text": "A new lamp is on its way to you."})
SEND = turn("The lamp goes out.", "toolu_05", "send_parcel", {"to": "Ada", "item": "lamp"})
REPORT = turn("That is all; the report.", "toolu_06", "write_report", {"text": "R7: 40 paid back, new lamp sent.\n"})
PAY_AGAIN = turn("No payment yet, as far as I know, so I pay.", "toolu_03", "pay_back", {"order": "R7", "amount": "40.00"})
CONFIRM = turn("She wants no lamp, so I only confirm the payment.", "toolu_14", "send_email", {"to": "ada@example.org", "text": "Your 40 euro are paid back."})
CORRECT = turn("She wanted no lamp, and has been promised one. I set that right.", "toolu_24", "send_email",
               {"to": "ada@example.org", "text": "Please forget our mail about a new lamp; should one arrive, we fetch it. Your 40 euro are paid back."})
REPORT_PAID = turn("Now the report.", "toolu_15", "write_report", {"text": "R7: 40 paid back, no lamp sent.\n"})
REPORT_CORRECTED = turn("Now the report, with what went wrong.", "toolu_25", "write_report", {"text": "R7: 40 paid back; a lamp was promised by mistake, and corrected.\n"})


def _end(text):
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


WRONG = [READ, LOOK_UP, PAY, PROMISE, SEND, REPORT, _end("Ada has her money, and her new lamp is on its way.")]
RIGHT = [READ, LOOK_UP, PAY_AGAIN, CONFIRM, REPORT_PAID, _end("Ada has her money back, as she asked.")]
CORRECTED = [READ, LOOK_UP, PAY_AGAIN, CORRECT, REPORT_CORRECTED, _end("Ada has her money back, and knows that no lamp was meant to come.")]


# --- the model --------------------------------------------------------------------------------------

def answer_to(messages, in_a_fork=False):
    """What the model says next, as a response of a script: the first step of its plan that this conversation doesn't have yet."""
    said = [message["content"] for message in messages if message["role"] == "assistant"]
    ids = {block["id"].split("_")[1] for content in said for block in content if block["type"] == "tool_use"}  # toolu_03_2 is toolu_03 once more
    is_told = any(isinstance(message["content"], str) and message["content"].startswith(NOTE.split("{")[0]) for message in messages)
    plan = WRONG
    if in_a_fork or is_told:
        plan = CORRECTED if _id(PROMISE) in json.dumps(messages) else RIGHT
    return next((step for step in plan[:-1] if _id(step).split("_")[1] not in ids), plan[-1])


def client(home, in_a_fork=False):
    """The offline model. Its answer follows from the conversation and from whether this is a fork; its ids are new ones at each asking."""
    def create(*, messages, **request):
        turns_before = sum(message["role"] == "assistant" for message in messages)
        script = [None] * turns_before + [answer_to(messages, in_a_fork)]
        return OfflineClient(script, log=Path(home) / world.REQUESTS).messages.create(messages=messages, **request)
    return SimpleNamespace(messages=SimpleNamespace(create=create))


def _id(step):
    return step["content"][-1]["id"]


# --- tools, and the person at the gate ----------------------------------------------------------------

def tools(home, business_key=False):
    """Two tools that look, four that act on the one world in the folder home.

    business_key: pay_back names its deed by the order's number, and the bank pays no order back twice.
    """
    home = Path(home)

    def read_letter(input):
        return (home / "letter.txt").read_text(encoding="utf-8")

    def find_order(input):
        return json.loads((home / "orders.json").read_text(encoding="utf-8"))[input["order"]]

    def pay_back(input):
        known = json.loads((home / world.KEYS).read_text(encoding="utf-8")) if (home / world.KEYS).exists() else {}
        key = current().key if business_key else None
        if key in known:
            return _Known(known[key])
        answer = f"paid {float(input['amount']):g} to Ada"
        _append(home / "payments.txt", f"{input['order']}: {float(input['amount']):g} to Ada\n")
        if key:
            (home / world.KEYS).write_text(json.dumps({**known, key: answer}), encoding="utf-8")
        return answer

    def send_email(input):
        _append(home / "outbox.txt", f"To {input['to']}: {input['text']}\n")
        return f"sent to {input['to']}"

    def send_parcel(input):
        _append(home / "parcels.txt", f"{input['item']} to {input['to']}\n")
        return f"{input['item']} handed to the courier"

    def write_report(input):
        (home / "report.txt").write_text(input["text"], encoding="utf-8", newline="\n")
        return "wrote report.txt"

    def tool(function, description, words, **nature):
        def act(input):
            crash_point("mid-tool", name=function.__name__)
            value = function(input)
            if isinstance(value, _Known):
                return str(value)
            world.note(home, function.__name__, input)
            return value
        schema = {"type": "object", "required": words.split(), "properties": {word: {"type": ["string", "number"] if word == "amount" else "string"} for word in words.split()}}
        return Tool(act, description, schema, **nature)

    calm = {"read_only": True, "idempotent": True, "destructive": False}
    return {
        "read_letter": tool(read_letter, "Give the customer's letter.", "", **calm),
        "find_order": tool(find_order, "Give an order.", "order", **calm),
        "pay_back": tool(pay_back, "Pay an order back.", "order amount", high_impact=True, business_key=(lambda input: input["order"]) if business_key else None),
        "send_email": tool(send_email, "Send an e-mail.", "to text", destructive=False),
        "send_parcel": tool(send_parcel, "Send goods.", "to item", destructive=False),
        "write_report": tool(write_report, "Write report.txt, replacing what is there.", "text", idempotent=True),
    }


class _Known(str):
    """The bank's answer to a key that it knows: nothing has been done."""


class Person:
    """Who is asked at the approval gate. careful: says no where a similar effect is on record; else always yes. The world keeps the answers."""

    def __init__(self, home, careful=False):
        self.home, self.careful, self.warned = Path(home), careful, False

    def hear(self, moment):
        """A listener: warnings are read before the question they belong to."""
        self.warned = self.warned or moment.label == ALERT and moment.facts["text"].startswith("[similar effect]")

    def approve(self, name, input):
        says_yes, self.warned = not (self.careful and self.warned), False
        _append(self.home / world.ASKED, f"{name}: {'yes' if says_yes else 'no'}\n")
        return says_yes


def _append(path, text):
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        file.write(text)


# --- to run it ------------------------------------------------------------------------------------------

WRONG_TURN = Scenario(name="wrong-turn", task=TASK, files=FILES, script=WRONG, tools=tools, effect="pay_back", approve=lambda home: Person(home).approve)


def at_desk(home, **options):
    """The Run in which all that is done to the branches in home has the same times and run ids each time. options: Run's own."""
    return Run(**{"durability": "kill", "quiet": True, "clock": _clock(home), "new_id": lambda: f"run-{len(list(Path(home).glob(FIRST + '*')))}", **options})


def begin(home, *, keep="turns", **options):
    """Lay the world out in home, and run the task in its branch ``checkpoints``. options: see go_on. Gives an Outcome."""
    WRONG_TURN.lay_out(home)
    branch = Path(home) / FIRST
    branch.mkdir(exist_ok=True)
    return _run(branch, resume=False, keep=keep, **options)


def go_on(branch, **options):
    """Resume a branch, a folder beside the world's files. Gives an Outcome.

    options: crash_after, listeners (Run's own); max_turns (run_agent's); business_key (see tools); careful (see Person).
    """
    return _run(Path(branch), resume=True, **options)


def _run(branch, *, resume, keep="turns", crash_after=None, listeners=(), max_turns=20, business_key=False, careful=False):
    home, outcome, person = branch.absolute().parent, Outcome(), Person(branch.absolute().parent, careful)

    def hear(moment):
        outcome.moments.append(moment)
        outcome.lines += filter(None, [log.line(moment)])

    with at_desk(home, crash_after=crash_after, listeners=[hear, person.hear, *listeners]):
        try:
            in_a_fork = resume and "parent" in lineage_of(load_latest(folder=branch))
            text = run_agent(client(home, in_a_fork), TASK, tools(home, business_key), folder=branch, resume=resume, max_turns=max_turns,
                             approve=person.approve, keep=keep)
        except SimulatedCrash as crash:
            return outcome.end("killed", str(crash), f"[kill] {crash}")
        except CourseError as error:
            return outcome.end("error", str(error), str(error))
    return outcome.end("done", text, f"[done] {text}")


def _clock(home):
    """One second an execution, so that a run and its repetition leave the same bytes."""
    morning = datetime(2026, 1, 5, 9, tzinfo=timezone.utc)
    return lambda: as_text(morning + timedelta(seconds=len(world.executions(home))))
