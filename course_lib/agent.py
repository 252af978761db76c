"""The loop: ask, save A, run the tool, save B, ask again. (lesson 6)

Point A is saved after the response has arrived and before any tool of it runs, with the
assistant's turn already in messages, so that text and thinking blocks come back as they
came. Point B is saved once the result is in messages. Whatever fails in between, the
last save is what a resume starts from.

Left out: several calls a turn (the first one runs, the others are told so).
"""
import copy

from . import checkpoint, history, ledger
from .checkpoint import is_finished, opening, save_checkpoint
from .errors import CourseError
from .guard import fingerprint, fresh_start, owning
from .keeping import keeping, way_of
from .ledger import IdClash, find, known_effects
from .moments import crash_point, current, own_run, part
from .places import home_of
from .resume import close_turn, take_up
from .standing import similar_effects
from .stops import final_text, sound, tokens_of, tool_calls
from .tools import definitions, only_answer, run_tool_uses
from .transcript import lone_surrogates

MODEL = "claude-sonnet-5-5"  # the one place that names it
MAX_TOKENS = 4096
MAX_TURNS = 20


class RequestNotSent(CourseError):
    """The conversation holds something no request can carry."""


def run_agent(client, task, tools, *, folder=".", resume=False, max_turns=MAX_TURNS, approve=None, keep="file",
              attempts=None):
    """Run a task to its end and give the final text.

    client: anything with the SDK's ``messages.create``. tools: ``{name: Tool}``. folder: where
    checkpoint.json and effects.json live. resume: go on from them instead of starting anew (task
    may then be None, or the file's). approve: see run_tool_uses. keep: what becomes of earlier saves, "file"
    (one checkpoint.json), "turns" (a file each, see turns.py) or "history" (a line each, see
    history.py); a resume keeps what the folder has. attempts: how many resumes in a row may get no
    further, for a restart that nobody watches. Raises CourseError, and what the client raises;
    each leaves the last save to resume from.
    """
    _check_arguments(client, task, tools, resume, max_turns)
    folder = home_of(folder)  # a tool may change the current folder
    path, effects_path = folder / checkpoint.FILE, folder / ledger.FILE
    way = way_of(folder) if resume else keep
    with own_run(folder, goes_on=resume) as run, keeping(way), owning(folder):
        run.approve = approve
        if resume:
            scene = take_up(folder, tools, model=MODEL, task=task, attempts=attempts)
        else:
            fresh_start(folder)
            scene = {**opening(task), "fingerprint": fingerprint(MODEL, tools)}
            if way != "file":
                id = run.family = run.new_id()
                scene["lineage"] = {"family": id, "run": id, "root": home_of(folder).name}
        run.similar = lambda call: similar_effects(call, folder=folder, tools=tools) if run.family else []
        text = _loop(client, scene, tools, path, effects_path, max_turns)
        if way == "history":
            history.write_files(folder)
        return text


def _check_arguments(client, task, tools, resume, max_turns):
    # Before anything is cleared: a fresh start with a slip in it must not cost the run before.
    wrong = ("the task is to be a text that says what to do" if not resume and not (type(task) is str and task.strip())
             else "tools is to be a dict of tools, by name" if not isinstance(tools, dict) or not all(map(callable, tools.values()))
             else "the client has no messages.create" if not callable(getattr(getattr(client, "messages", None), "create", None))
             else "max_turns is to be a whole number" if type(max_turns) is not int else None)
    if wrong:
        raise CourseError(f"run_agent can't begin: {wrong}; nothing was changed.")


def _loop(client, scene, tools, path, effects_path, max_turns):
    seen = _Seen()
    while not is_finished(scene):
        seen.look_at_new(scene["messages"])
        reply = _ask(client, scene, tools)
        calls = tool_calls(reply)
        scene["tokensUsed"] += tokens_of(reply)
        if calls and scene["turns"] >= max_turns:
            return f"Reached the max of {max_turns} turns, stopping on our own"
        if calls:
            seen.refuse_clashes(calls, effects_path)
            scene["turns"] += 1
        scene["messages"].append({"role": "assistant", "content": reply["content"]})
        if calls:
            _run_turn(scene, calls[0], path, tools, effects_path)
        else:
            part(save_checkpoint)(path, scene)
    return final_text(scene["messages"][-1]["content"])


def _ask(client, scene, tools):
    current().turn = scene["turns"] + 1
    crash_point("before-request")
    # Copies: a client may cut its list short or mark the last message, and the scene is not its to change.
    *before, last = scene["messages"]
    reply = sound(client.messages.create(
        model=MODEL, max_tokens=MAX_TOKENS, tools=definitions(tools),
        tool_choice={"type": "auto", "disable_parallel_tool_use": True}, messages=[*before, copy.deepcopy(last)]).to_dict())
    crash_point("after-response")
    return reply


def _run_turn(scene, call, path, tools, effects_path):
    scene["pendingToolUse"] = {"id": call["id"], "name": call["name"], "input": call["input"]}
    part(save_checkpoint)(path, scene)  # Point A
    results = part(run_tool_uses)(
        [call], tools, effects_path=effects_path, approve=current().approve)
    close_turn(scene, only_answer(results, call))
    part(save_checkpoint)(path, scene)  # Point B


class _Seen:
    """What of the conversation has been looked at, so that a turn of a long one costs no more than one of a short one."""

    def __init__(self):
        self.count, self.ids = 0, set()

    def look_at_new(self, messages):
        """Raise RequestNotSent for what no request can carry; note which ids are used."""
        for number, message in enumerate(messages[self.count:], self.count):
            lone = lone_surrogates(message, f"messages.{number}")
            if lone:
                raise RequestNotSent(f"The request can't be sent: {lone[0]} holds half of a surrogate pair, which is no character; "
                                     "mend that text in checkpoint.json and resume; where earlier saves are kept, go back to a turn before it.")
            self.ids |= {block["id"] for block in message["content"] if block["type"] == "tool_use"} if isinstance(message["content"], list) else set()
        self.count = len(messages)

    def refuse_clashes(self, calls, effects_path):
        """Raise IdClash for an id that has named another call; asked before Point A, so that no file ever holds one id for two calls."""
        for call in calls:
            if call["id"] in self.ids:
                raise IdClash(f"The model named a new {call['name']} call {call['id']}, an id this conversation has used already; "
                              "nothing was run: start over without --resume, with a model that gives each call an id of its own.")
            self.ids.add(call["id"])
            find(known_effects(effects_path), call)
