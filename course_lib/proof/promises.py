"""What no story may do, whatever cut it short. The world decides: the tools' journal, the files and the requests' log.

Checkpoint and ledger only say what the program believes. Each rule has a name, and each can
be broken: tests/test_proof_explorer.py does, and sees it found.
"""
import json
import re

from .. import checkpoint, history, ledger, values
from ..scenarios import world
from .beliefs import effects_of, scene_of, torn_in, turn_files
from .stories import masked

BOOKS = {world.JOURNAL, world.REQUESTS, world.ASKED, checkpoint.FILE, ledger.FILE}
BOOKS_OF = {"intent": {world.INTENTS}, "key": {world.KEYS}, "history": {history.FILE}}  # what a policy keeps besides


def broken(case, story, again):
    """What a finished story did that it must not, as (rule, sentence). again: the life that going on once more makes."""
    torn = list(against_the_files(story))
    yield from torn
    if torn:  # what half a file says is not worth judging
        return
    for life in story.lives:
        if life.kill and life.outcome.status != "killed":
            yield "undead", "The kill was caught, and the program went on."
        if not all(record["status"] == 200 for record in lines(life.files, world.REQUESTS)):
            yield "refused", f"The API refused a request: {life.outcome.text}"
    yield from against_the_gate(case, story)
    end = story.lives[-1]
    scene = scene_of(end.files)
    if end.outcome.status != "done" or scene["messages"][-1]["role"] != "assistant" or scene["pendingToolUse"]:
        yield "unfinished", f"The last save is no finished run; the program said: {end.outcome.text}"
    left_over = end.files.keys() - {*case.scenario.files, *case.after, *BOOKS, *BOOKS_OF.get(case.policy.name, ()), *turn_files(end.files)}
    if left_over:
        yield "left-over", f"It left {', '.join(sorted(left_over))} behind."
    yield from against_the_world(case, story, calls_in(scene["messages"]))
    if again.files != end.files or (again.outcome.status, again.outcome.text) != (end.outcome.status, end.outcome.text):
        yield "restless", "Going on from the finished run once more changed something."


def against_the_files(story):
    """Whatever a life leaves, the harness's files are whole."""
    for torn in filter(None, (torn_in(life.files) for life in story.lives)):
        yield "torn", f"{torn} was no whole file then."


def against_the_gate(case, story):
    """Each time that a high-impact tool is run, a person has said yes to it in the same life."""
    before = {}
    for life in story.lives:
        yes, done = (lines_of(life.files, name)[len(lines_of(before, name)):] for name in (world.ASKED, world.JOURNAL))
        gated = [tool for tool in (json.loads(line)["tool"] for line in done) if tool in case.gated]
        if len(gated) > len(yes):
            yield "unapproved", f"{gated[0]} was done without a yes of its own."
        before = life.files


def against_the_world(case, story, calls):
    """Nothing is done twice or forgotten without a word, and nothing is claimed that was not done."""
    done = lines(story.files, world.JOURNAL)
    for name in {execution["tool"] for execution in done} - case.looks:
        times = sum(execution["tool"] == name for execution in done)
        if times > 1 and not any(call["name"] == name and says_unknown(answer) for call, answer in calls):
            yield "twice", f"{name} was done {times} times, and the model was not told that its state is unknown."
    for execution in done:
        if not any(same_call(call, execution) and (is_real(case, call, answer) or says_unknown(answer)) for call, answer in calls):
            yield "forgotten", f"{execution['tool']} was done, and the conversation has neither its result nor that its state is unknown."
    entries = effects_of(story.files)
    for call, answer in calls:
        if "is_error" in answer:
            if not any(nobody_knows(case, life.files, call["name"]) for life in story.lives):
                yield "denied", f"{call['name']} came back as an error, and there was no need to."
        else:
            times = sum(same_call(call, execution) for execution in done)
            as_it_should = call["name"] in case.looks or (times > 1 and case.adds_up) or world.outside(story.files) == case.after
            if not (times and as_it_should and is_real(case, call, answer)):
                yield "invented", f"{call['name']} was reported as done ({answer['content']!r}), and it was not."
            entry = entries.get(call["id"], {})
            if (entry.get("name"), entry.get("input"), values.as_content(entry.get("result"))) != (call["name"], call["input"], answer["content"]):
                yield "unrecorded", f"The ledger does not have {call['name']} as the conversation has it."


def against_the_kills(case, story, endings):
    """What is known of a kill at a moment: what it leaves, and that several end like one. endings: kept between the calls, for comparison."""
    for life in story.lives:
        if life.kill and masked(life.files) != masked(life.seen):
            yield "tidied", "The kill left other bytes than there were at that moment."
    ending = ending_of(case, story)
    places = [(kill.label, kill.turn) for kill in story.kills]
    if len(places) < 2:
        endings[tuple(places)] = ending
        if ending != endings[()] and not any("is_error" in answer for _, answer in calls_in(scene_of(story.files)["messages"])):
            yield "other-ending", "It ended in another way than the run that nobody killed."
    else:
        # The first kill that decides the ending decides it for good; a place that only resumes come by decides nothing.
        alone = (endings.get((place,), endings[()]) for place in places)
        if ending != next((each for each in alone if each != endings[()]), endings[()]):
            yield "other-ending", "It ended in another way than with one kill."


def ending_of(case, story):
    """How a story ended, so that it can be compared: what the model said, what it heard, the world and what was done to it."""
    messages = scene_of(story.files)["messages"]
    return (re.sub(r"(toolu_\d+)_\d+", r"\1", json.dumps([message["content"] for message in messages if message["role"] == "assistant"])),
            [(case.heard(call, answer), answer.get("is_error")) for call, answer in calls_in(messages)],
            world.outside(story.files),
            [execution for execution in lines(story.files, world.JOURNAL) if execution["tool"] not in case.looks])


def nobody_knows(case, files, name):
    """Whether neither these files nor whom the policy can ask can tell what became of a call with side effects."""
    pending = scene_of(files)["pendingToolUse"]
    if pending is None or pending["name"] != name or name in case.looks or pending["id"] in effects_of(files):
        return False
    return {"intent": pending["id"] in json.loads(files.get(world.INTENTS, b"[]")),  # about to start, so perhaps it did
            "key": False,  # the outside sorts it out
            "verify": name == "transfer"}.get(case.policy.name, True)


def calls_in(messages):
    """(tool_use, its tool_result) for each answered call."""
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    answers = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    return [(block, answers[block["id"]]) for block in blocks if block["type"] == "tool_use" and block["id"] in answers]


def same_call(call, execution):
    return (call["name"], call["input"]) == (execution["tool"], execution["input"])


def is_real(case, call, answer):
    return "is_error" not in answer and case.heard(call, answer) == case.real(call)


def says_unknown(answer):
    return answer.get("is_error") is True and answer["content"].startswith("State unknown")


def lines_of(files, name):
    return files.get(name, b"").splitlines()


def lines(files, name):
    return list(map(json.loads, lines_of(files, name)))
