"""The running example of lesson 1: ten shops, four calls for each, so forty turns.

For each shop the agent reads its numbers, writes a report (output), mails it (an effect that
nobody can take back) and adds a line to NOTES.md (memory). The model's provider keeps a bill,
as it does in real life: whatever becomes of the process, what was asked for has been paid.
"""
import json
from pathlib import Path
from types import SimpleNamespace

from ..agent import run_agent
from ..moments import crash_point
from ..tools import Tool
from . import world
from .policies import keep_no_record, save_nothing
from .runner import start, start_in_child
from .scenario import Scenario, turn

TASK = "Report on the returns of each shop in sales.json, mail the shop its report, and keep NOTES.md up to date."
SHOPS = {  # sold, returned, and what the model makes of it
    "Aveiro": (120, 2, "nothing unusual"),
    "Braga": (95, 0, "the best of all"),
    "Coimbra": (143, 5, "mostly the wrong size"),
    "Evora": (88, 1, "nothing unusual"),
    "Faro": (156, 9, "a faulty batch in May"),
    "Guarda": (101, 12, "all since the new courier began"),
    "Lagos": (77, 3, "mostly the wrong size"),
    "Leiria": (134, 4, "nothing unusual"),
    "Porto": (210, 6, "low for its size"),
    "Viseu": (64, 2, "nothing unusual"),
}
TURNS = 4 * len(SHOPS)
SALES, OUTBOX, NOTES, BILL = "sales.json", "outbox.txt", "NOTES.md", "bill.jsonl"


class _LongTask(Scenario):
    def client(self, folder):
        """The offline model, with a provider who puts every answer on the bill."""
        inner = super().client(folder)

        def create(**request):
            reply = inner.messages.create(**request)
            with open(Path(folder) / BILL, "a", encoding="utf-8") as bill:
                bill.write(json.dumps(reply.to_dict()["usage"]) + "\n")
            return reply
        return SimpleNamespace(messages=SimpleNamespace(create=create))


def begin(folder, *, checkpoints, killed_in=None):
    """Start the task in a process of its own. Gives an Outcome.

    checkpoints: whether the harness saves anything. killed_in: the turn in which a SIGKILL hits, between the tool's run and its record.
    """
    return start_in_child(LONG_TASK, folder, policy=_functions(checkpoints), crash_after=killed_in and ("after-tool", killed_in))


def go_on(folder, *, checkpoints):
    """After the kill: resume where there are checkpoints, else start over. Gives an Outcome."""
    return start(LONG_TASK, folder, resume=checkpoints, functions=_functions(checkpoints))


def tokens_paid(folder):
    """What the provider's bill says, request by request."""
    lines = (Path(folder) / BILL).read_text(encoding="utf-8").splitlines()
    return [sum(json.loads(line).values()) for line in lines]


def holding(folder, words):
    """The names of the files that hold these words, sorted; the books of the provider and of the world's journal are out of an agent's reach."""
    return sorted(path.name for path in Path(folder).iterdir()
                  if path.name not in (BILL, world.REQUESTS, world.JOURNAL) and words.encode() in path.read_bytes())


def mailed(folder):
    """The shops that got a mail, in order; a shop that got two stands there twice."""
    return [line.split(":")[0] for line in (Path(folder) / OUTBOX).read_text(encoding="utf-8").splitlines()]


def run_agent_with_room(client, task, tools, **options):
    """In place of run_agent: the same loop, with a cap on its turns that this task stays under."""
    return run_agent(client, task, tools, **{**options, "max_turns": TURNS + 1})


def _functions(checkpoints):
    nothing = {} if checkpoints else {"save_checkpoint": save_nothing, "save_effect": keep_no_record}
    return {**nothing, "run_agent": run_agent_with_room}


def tools(folder):
    """read_sales only looks, write_report overwrites; send_report and add_note append, so a second run shows."""
    home = Path(folder)

    def read_sales(input):
        sold, returned = json.loads((home / SALES).read_text(encoding="utf-8"))[input["shop"]]
        return f"{sold} sold, {returned} returned"

    def write_report(input):
        name = f"report-{input['shop'].lower()}.md"
        (home / name).write_text(input["text"], encoding="utf-8", newline="\n")
        return f"wrote {name}"

    def send_report(input):
        _append(home / OUTBOX, f"{input['shop']}: your returns this year\n")
        return f"sent to {input['shop']}"

    def add_note(input):
        _append(home / NOTES, f"- {input['text']}\n")
        return "noted"

    def was_sent(input, key):
        # The outbox can be asked, as a shop gets only one mail; what the tool returned then is known, too.
        return input["shop"] in mailed(home) and {"result": f"sent to {input['shop']}"}

    def tool(function, description, *words, **nature):
        def act(input):
            crash_point("mid-tool", name=function.__name__)
            value = function(input)
            world.note(home, function.__name__, input)
            return value
        schema = {"type": "object", "required": list(words), "properties": {word: {"type": "string"} for word in words}}
        return Tool(act, description, schema, **nature)

    return {
        "read_sales": tool(read_sales, "Give a shop's numbers.", "shop", read_only=True, idempotent=True, destructive=False),
        "write_report": tool(write_report, "Write a shop's report, replacing what is there.", "shop", "text", idempotent=True),
        "send_report": tool(send_report, "Mail a shop its report.", "shop", destructive=False, verify=was_sent),
        "add_note": tool(add_note, "Add a line to NOTES.md.", "text", destructive=False),
    }


def _append(path, text):
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _script():
    turns = []

    def call(words, name, **input):
        turns.append(turn(words, f"toolu_{len(turns) + 1:02}", name, input))

    for shop, (sold, returned, cause) in SHOPS.items():
        call(f"Next is {shop}.", "read_sales", shop=shop)
        call("I write its report.", "write_report", shop=shop, text=f"# {shop}\n{sold} sold, {returned} returned ({returned / sold:.0%}).\n")
        call(f"The returns of {shop}: {cause}. I mail it, then I note that.", "send_report", shop=shop)
        call("Now the note.", "add_note", text=f"{shop}: mailed; {returned} of {sold}, {cause}")
    return [*turns, {"content": [{"type": "text", "text": "All ten shops have their reports."}], "stop_reason": "end_turn"}]


LONG_TASK = _LongTask(
    name="long-task", task=TASK, tools=tools, effect="send_report", script=_script(),
    files={SALES: json.dumps({shop: [sold, returned] for shop, (sold, returned, _) in SHOPS.items()}, indent=1) + "\n",
           OUTBOX: "", NOTES: "# Notes\n"})
