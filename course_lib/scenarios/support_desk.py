"""The task of lesson 4: a customer reports an outage, and the agent does one thing about it.

Ten tools, each with a scenario of its own, so that the same crash can be tried on tools
that read, overwrite, append, insert, or look before they act. The world is plain files.
"""
import json
from pathlib import Path

from ..moments import crash_point, current
from ..tools import Tool
from . import world
from .scenario import Scenario, turn

TASK = "Read outage.txt and do what has to be done about it."
FILES = {
    "outage.txt": "Ada (ada@example.org): checkout has been down since 08:40.\n",
    "runbook.txt": "Tell the customer, open a ticket, note it in the log.\n",
    "outbox.jsonl": "",
    "tickets.json": "[]",
    "log.txt": "08:00 shift begins\n",
    "config.json": '{"status_page": "green"}',
    "accounts.json": '{"shop": 500, "ada": 20}',
    "draft.txt": "Dear Ada, all is well.\n",
    "report.txt": "Outages this week:\n",
}
CALLS = {  # what the model asks for, tool by tool
    "read_file": {"path": "runbook.txt"},
    "send_email": {"to": "ada@example.org", "subject": "Outage", "body": "We are on it."},
    "create_ticket": {"title": "Checkout is down", "body": "Reported by Ada."},
    "ensure_ticket": {"title": "Checkout is down", "body": "Reported by Ada."},
    "append_log": {"line": "08:45 Ada reports: checkout is down"},
    "set_config": {"key": "status_page", "value": "red"},
    "delete_file": {"path": "draft.txt"},
    "write_file": {"path": "report.txt", "text": "Outages this week:\n1. checkout, since 08:40\n"},
    "append_file": {"path": "report.txt", "text": "1. checkout, since 08:40\n"},
    "transfer": {"sender": "shop", "receiver": "ada", "amount": 30},
}


class Desk:
    """The tools' functions, acting on the files of one folder. Each does its effect, then says so in the journal."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def read_file(self, path):
        return self._text(path)

    def send_email(self, to, subject, body):
        crash_point("mid-tool")
        self._append("outbox.jsonl", json.dumps({"to": to, "subject": subject, "body": body}) + "\n")
        return f"sent to {to}"

    def create_ticket(self, title, body):
        crash_point("mid-tool")
        tickets = self._load("tickets.json")
        ticket = {"id": f"T-{len(tickets) + 1}", "title": title, "body": body}
        self._save("tickets.json", [*tickets, ticket])
        return ticket

    def ensure_ticket(self, title, body):
        found = next((ticket for ticket in self._load("tickets.json") if ticket["title"] == title), None)
        return found or self.create_ticket(title, body)

    def append_log(self, line):
        crash_point("mid-tool")
        self._append("log.txt", line + "\n")
        return "noted"

    def set_config(self, key, value):
        crash_point("mid-tool")
        self._save("config.json", {**self._load("config.json"), key: value})
        return f"{key} is {value}"

    def delete_file(self, path):
        crash_point("mid-tool")
        self._file(path).unlink(missing_ok=True)  # idempotent because "not found" is no error here
        return f"{path} is gone"

    def write_file(self, path, text):
        with open(self._file(path), "w", encoding="utf-8", newline="\n") as file:
            file.write(text[:len(text) // 2])
            file.flush()
            crash_point("mid-tool")  # the one effect that can be left half done
            file.write(text[len(text) // 2:])
        return f"wrote {path}"

    def append_file(self, path, text):
        crash_point("mid-tool")
        self._append(path, text)
        return f"appended to {path}"

    def transfer(self, sender, receiver, amount):
        crash_point("mid-tool")
        accounts = self._load("accounts.json")
        accounts[sender] -= amount
        accounts[receiver] += amount
        self._save("accounts.json", accounts)
        return f"moved {amount} from {sender} to {receiver}"

    # --- asking whether it happened: what a tool's verify needs from outside ------------

    def was_done(self, name, input, key):
        """What the outside can say of a call: True, False, a dict with its result, or None for "can't tell".

        It goes by what was asked for, not by the key: none of these systems files our keys, so
        an equal effect from before passes for this one.
        """
        if name == "send_email":
            return input in map(json.loads, self._text("outbox.jsonl").splitlines())
        if name in ("create_ticket", "ensure_ticket"):
            wanted = {"title": input["title"]} if name == "ensure_ticket" else input
            found = [ticket for ticket in self._load("tickets.json") if wanted.items() <= ticket.items()]
            return {"result": found[-1]} if found else False
        if name == "append_log":
            return f"\n{input['line']}\n" in "\n" + self._text("log.txt")
        if name == "append_file":
            return self._text(input["path"]).endswith(input["text"])
        if name == "write_file":
            return input["text"] == self._text(input["path"])
        if name == "set_config":
            return self._load("config.json").get(input["key"]) == input["value"]
        if name == "delete_file":
            return not self._file(input["path"]).exists()
        return None  # a transfer: an equal one from before is just as likely, and each is meant

    # --- files --------------------------------------------------------------------------

    def _file(self, name):
        if name not in FILES:
            raise ValueError(f"{name} is none of the desk's files")
        return self.folder / name

    def _text(self, name):
        return self._file(name).read_bytes().decode("utf-8")  # line ends as they are

    def _load(self, name):
        return json.loads(self._text(name))

    def _save(self, name, value):
        (self.folder / name).write_text(json.dumps(value, indent=2), encoding="utf-8", newline="\n")

    def _append(self, name, text):
        with open(self._file(name), "a", encoding="utf-8", newline="\n") as file:
            file.write(text)


def tools(folder):
    """The ten tools, each with what it says of itself in MCP's terms."""
    desk = Desk(folder)

    def tool(name, description, **nature):
        return Tool(_Call(desk, name), description, _schema(CALLS[name]), **nature)

    calm = {"idempotent": True, "destructive": False}
    return {
        "read_file": tool("read_file", "Give a file's text.", read_only=True, **calm),
        "send_email": tool("send_email", "Send an e-mail.", destructive=False, high_impact=True),
        "create_ticket": tool("create_ticket", "Open a ticket.", destructive=False, high_impact=True),
        "ensure_ticket": tool("ensure_ticket", "Open a ticket unless one with that title is there.", **calm),
        "append_log": tool("append_log", "Add a line to the log.", destructive=False),
        "set_config": tool("set_config", "Set a value of the configuration.", idempotent=True),
        "delete_file": tool("delete_file", "Delete a file, if it is there.", idempotent=True, high_impact=True),
        "write_file": tool("write_file", "Replace a file's text.", idempotent=True),
        "append_file": tool("append_file", "Add text to a file.", destructive=False),
        "transfer": tool("transfer", "Move money from one account to another.", high_impact=True),
    }


class _Call:
    """A tool's function: runs the desk's method of that name, unless the outside knows the key already."""

    def __init__(self, desk, name):
        self.desk, self.name = desk, name

    def __call__(self, input):
        key, keys = current().key, self.desk.folder / world.KEYS
        known = json.loads(keys.read_text(encoding="utf-8")) if key and keys.exists() else {}
        if key in known:
            return known[key]
        answer = getattr(self.desk, self.name)(**input)
        world.note(self.desk.folder, self.name, input)
        if key:  # the outside files effect and key in one go; no moment lies between
            keys.write_text(json.dumps({**known, key: answer}), encoding="utf-8")
        return answer

    def was_done(self, input, key):
        return self.desk.was_done(self.name, input, key)


def _schema(example):
    kinds = {str: "string", int: "integer"}
    return {"type": "object", "required": list(example),
            "properties": {name: {"type": kinds[type(value)]} for name, value in example.items()}}


def _person(folder):
    """The person at the approval gate says yes, and the world remembers that they were asked."""
    def approve(name, input):
        with open(Path(folder) / world.ASKED, "a", encoding="utf-8") as file:
            file.write(f"{name}: yes\n")
        return True
    return approve


_TOUCHES = {"read_file": "runbook.txt", "send_email": "outbox.jsonl", "create_ticket": "tickets.json", "ensure_ticket": "tickets.json",
            "append_log": "log.txt", "set_config": "config.json", "delete_file": "draft.txt", "write_file": "report.txt",
            "append_file": "report.txt", "transfer": "accounts.json"}


def _scenario(effect):
    return Scenario(
        name="support-desk", effect=effect, task=TASK, files={name: FILES[name] for name in ("outage.txt", _TOUCHES[effect])}, tools=tools, approve=_person,
        script=[turn("First I read the report.", "toolu_01", "read_file", {"path": "outage.txt"}),
                turn("This has to be done.", "toolu_02", effect, CALLS[effect]),
                {"content": [{"type": "text", "text": f"The outage is taken care of: {effect}."}], "stop_reason": "end_turn"}])


SUPPORT_DESK = {effect: _scenario(effect) for effect in CALLS}
