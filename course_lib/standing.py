"""What has happened outside and a scene doesn't know: what a rewind leaves standing. (lesson 5)

Going back to a scene gives back what the agent knew and had decided then. It gives back nothing
of the world: e-mails stay sent. What still stands is put together from the ledgers, which
only grow; from the conversation, where a ledger has failed or is gone; from the call under way; and
from what earlier rewinds have told the model, which its scene carries as ``standing``.

Left out: undoing effects, which is a task of its own and differs from tool to tool.
"""
from contextlib import suppress
from decimal import Decimal, DecimalException

from .errors import CourseError
from .family import ancestors, family
from .moments import alert
from .places import home_of
from .scenes import kept, load_latest, rewind_to
from .tools import UNKNOWN, says
from .values import as_content, same

NOTE = ("This run was taken back to turn {turn}. What its tools did after that is not undone and still stands: {effects}. "
        "Reckon with it, and don't do it again without need.")
MOST = 40  # effects that a note names


def effects_since(turn, point=None, *, folder="checkpoints", tools=None):
    """What a rewind to that turn leaves standing: what has happened, or may have, and the calls of that scene don't tell.

    Gives ``[{"id", "name", "result", "at", ...}, ...]`` in the order they happened, as far as the ledgers
    tell. The result of what may have happened begins with "State unknown". With tools, those that only read are left out.
    """
    then, now = rewind_to(turn, point, folder=folder), load_latest(folder=folder)
    known, own, told = _calls(then), kept(folder).effects(folder), _told(now)
    inherited = _inherited(folder, now)
    before = {**inherited, **{id: entry for id, entry in _standing(now).items() if id not in own and id not in inherited}}
    done = {**told, **before, **own}
    return [{"id": id, "result": None, **done[id]} for id in _in_order([*before, *own], _calls(now), told)
            if id not in known and not says((tools or {}).get(done[id]["name"]), "read_only")]


def tell(scene, turn, standing, own):
    """Add the note that names what is left standing and no note before it has named, and let the scene carry it. own: this branch's ledger."""
    standing = [effect for effect in standing if effect["id"] not in _standing(scene)]
    if not standing:
        return
    words = [*map(_in_words, standing[:MOST]), *([f"and {len(standing) - MOST} more"] if len(standing) > MOST else [])]
    scene["messages"].append({"role": "user", "content": NOTE.format(turn=turn, effects="; ".join(words))})
    # What the ledger has is only named: there it is whole.
    scene["standing"] = {**_standing(scene), **{effect["id"]: {"name": effect["name"]} if effect["id"] in own else
                                                {key: value for key, value in effect.items() if key != "id"} for effect in standing}}


def similar_effects(call, *, folder, tools):
    """Effects of the family that look like this call and that this timeline knows nothing of: ``[(folder, id, entry), ...]``.

    A rewound or forked model asks with a new id, so the ledger misses. Similar means: equal by the
    tool's business_key, or else the same tool with the same values, however they are written.
    It is a hint for a person: what can't be compared is said, and stops nothing.
    """
    try:
        branches = family(folder)
    except CourseError as error:
        alert(f"[similar effect] Could not be looked for: {error}")
        return []
    known = {id: block for id, block in _calls(branches[home_of(folder)]).items() if id != call["id"]}
    alike = _by_key(getattr(tools.get(call["name"]), "business_key", None))
    return [(branch, id, entry) for branch, scene in branches.items() for id, entry in _on_record(branch, scene).items()
            if entry["name"] == call["name"] and "input" in entry and not _is(known.get(id), entry) and alike(entry["input"], call["input"])]


def _on_record(branch, scene):
    try:
        return {**_standing(scene), **kept(branch).effects(branch)}
    except CourseError as error:
        alert(f"[similar effect] What {branch.name} has done is not compared: {error}")
        return _standing(scene)


def _inherited(folder, scene):
    mine, told = _calls(scene), _standing(scene)
    return {id: entry for parent in ancestors(folder, scene) for id, entry in kept(parent).effects(parent).items()
            if _is(mine.get(id), entry) or told.get(id, {}).get("name") == entry["name"]}


def _is(block, entry):
    """Whether a ledger's entry is about this very call; ids are used again by some."""
    return block is not None and block.get("name") == entry["name"] and same(entry.get("input", block.get("input")), block.get("input"))


def _standing(scene):
    found = scene.get("standing")
    return {id: entry for id, entry in found.items() if type(entry) is dict and type(entry.get("name")) is str} if type(found) is dict else {}


def _calls(scene):
    """Every call of a conversation: ``{id: block}``."""
    return {block["id"]: block for message in scene["messages"] if isinstance(message["content"], list) for block in message["content"]
            if block["type"] == "tool_use" and message["role"] == "assistant" and type(block.get("id")) is str}


def _told(scene):
    """What the conversation says has happened, or may have, as ledger entries: a ledger may have failed, or be gone."""
    pending = scene["pendingToolUse"]
    calls = {id: block for id, block in _calls(scene).items() if {"name", "input"} <= block.keys()} | ({pending["id"]: pending} if pending else {})
    answers = {block["tool_use_id"]: block for message in scene["messages"] if isinstance(message["content"], list)
               for block in message["content"] if block["type"] == "tool_result" and block.get("tool_use_id") in calls}
    told = {id: block.get("content") for id, block in answers.items() if not block.get("is_error") or str(block.get("content")).startswith(UNKNOWN)}
    if pending:
        told[pending["id"]] = f"{UNKNOWN}: this call was under way when its run was left."
    return {id: {"name": calls[id]["name"], "result": result, "input": calls[id]["input"]} for id, result in told.items()}


def _in_order(recorded, calls, told):
    """The ids of what was done: as the ledgers have them, and behind the call before it what only the conversation tells."""
    order, before = list(recorded), None
    for id in {**calls, **told}:  # a call under way may not be in the conversation yet
        if id in told and id not in order:
            order.insert(order.index(before) + 1 if before in order else 0, id)
        before = id
    return order


def _in_words(effect):
    words = f"{effect['name']} ({effect['id']})" + (f" with {as_content(effect['input'])[:200]}" if "input" in effect else "")
    doubt = ", of which nobody knows whether it happened" if str(effect.get("result")).startswith(UNKNOWN) else ""
    return (words + doubt).encode("utf-8", "backslashreplace").decode("utf-8")  # half a character would make the note one that no request can carry


def _by_key(key):
    def alike(a, b):
        with suppress(Exception):  # a key that fails on an input says nothing of it
            if key:
                return key(a) == key(b)
        return same(_plain(a), _plain(b))
    return alike


def _plain(value):
    """A value without the accidents of its writing: 100, 100.0 and "100.00" are one, and so are " Ada" and "ada"."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    text = " ".join(str(value).casefold().split())
    try:
        return str(Decimal(text).normalize()) if not isinstance(value, bool) and value is not None else value
    except DecimalException:
        return text
