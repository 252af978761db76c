"""Every story of up to two kills, told in process: run, die, resume, die again, resume.

The world decides: the tools' journal, the report and the requests' log say what happened;
checkpoint and ledger only say what the program believes.
"""
import json
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from course_lib import checkpoint, ledger, resume, tools, values
from course_lib.moments import Moment, crash_point
from course_lib.scenarios import SALES_REPORT, world
from course_lib.scenarios.recording import Recording
from course_lib.scenarios.runner import Outcome, start
from course_lib.scenarios.sales_report import NOTES, REPORT

REAL = {"read_notes": NOTES, "count_words": "30 words", "write_report": "wrote report.txt, 32 words"}  # counted by hand
CHANGES_THE_WORLD = {"write_report"}
AT_THE_END = {"sales-notes.txt", "report.txt", world.JOURNAL, world.REQUESTS, checkpoint.FILE, ledger.FILE}


@dataclass(frozen=True)
class Life:
    """One start or resume. kill: the Moment it died at, or None; files: what it left, ``{name: bytes}``."""

    resumed: bool
    kill: Moment | None
    outcome: Outcome
    files: dict
    seen: dict | None  # what was on disk at that moment of the same life without the kill

    def __str__(self):
        how = "resumed" if self.resumed else "started"
        return f"{how}, {f'killed at {self.kill.label}:{self.kill.count} in turn {self.kill.turn}' if self.kill else 'ran to its end'}"


@dataclass(frozen=True)
class Story:
    lives: tuple = ()

    @property
    def files(self):
        return self.lives[-1].files if self.lives else {}

    @property
    def kills(self):
        return [life.kill for life in self.lives if life.kill]

    def __str__(self):
        return f"{'; '.join(map(str, self.lives))}.".capitalize()


@pytest.fixture
def folder(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else tmp_path) as name:
        yield Path(name)


def stories(folder, functions=None, most_kills=2):
    """Every finished story, those with fewer kills first.

    The one place that lists the cases: each life is run without a kill, and in the next round
    it is killed at every moment that it announced.
    """
    this_round = [(Story(), None, None)]
    for kills in range(most_kills + 1):
        next_round = []
        for story, kill, seen in this_round:
            if kill:
                story = live(folder, story, functions, kill=kill, seen=seen)
            recording = Recording(folder)
            yield live(folder, story, functions, listeners=[recording] if kills < most_kills else [])
            next_round += [(story, moment, recording.files(i))
                           for i, moment in enumerate(recording.moments) if moment.count]  # a remark is no place to die
        this_round = next_round


def live(folder, story, functions, *, kill=None, seen=None, listeners=()):
    """The story with one more life. The first one, and one that has nothing to resume from, starts afresh."""
    put(folder, story.files)
    resumed = checkpoint.FILE in story.files
    outcome = start(SALES_REPORT, folder, resume=resumed, crash_after=kill and (kill.label, kill.count),
                    functions=functions, listeners=listeners)
    return Story((*story.lives, Life(resumed, kill, outcome, take(folder), seen)))


def put(folder, files):
    for name in os.listdir(folder):
        (folder / name).unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def take(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def first_failure(folder, functions=None, most_kills=2):
    """The shortest story that breaks a promise, as ``(rule, sentence)``, or None; and how many stories had 0, 1, 2 kills."""
    counts, endings = [0] * (most_kills + 1), {}
    for story in stories(folder, functions, most_kills):
        counts[len(story.kills)] += 1
        for rule, detail in breaches(folder, story, functions, endings):
            return (rule, f"{story} {detail}"), counts
    return None, counts


def breaches(folder, story, functions, endings):
    """What a story did that it must not, as (rule, sentence). endings: kept between the calls, for comparison."""
    for life in story.lives[:-1]:
        if life.outcome.status != "killed":
            yield "undead", "The kill was caught, and the program went on."
        for name in {checkpoint.FILE, ledger.FILE} & life.files.keys():
            if not is_json(life.files[name]):
                yield "torn", f"{name} was half a file after the kill."
        if masked(life.files) != masked(life.seen):
            yield "tidied", "The kill left other bytes than there were at that moment."
    for life in story.lives:
        if not all(record["status"] == 200 for record in lines(life.files, world.REQUESTS)):
            yield "refused", f"The API refused a request: {life.outcome.text}"
    end = story.lives[-1]
    scene = json.loads(end.files.get(checkpoint.FILE, b"{}"))
    messages = scene.get("messages", [{"role": "nobody", "content": ""}])
    if end.outcome.status != "done" or messages[-1]["role"] != "assistant" or scene["pendingToolUse"]:
        yield "unfinished", f"The last save is no finished run; the program said: {end.outcome.text}"
    if end.files.keys() - AT_THE_END:
        yield "left-over", f"It left {', '.join(sorted(end.files.keys() - AT_THE_END))} behind."
    yield from against_the_world(story, calls_in(messages))
    put(folder, end.files)
    again = start(SALES_REPORT, folder, resume=True, functions=functions)
    if take(folder) != end.files or (again.status, again.text) != (end.outcome.status, end.outcome.text):
        yield "restless", "Resuming the finished run once more changed something."
    yield from against_fewer_kills(story, messages, endings)


def against_the_world(story, calls):
    done = lines(story.files, world.JOURNAL)
    for name in CHANGES_THE_WORLD:
        times = sum(execution["tool"] == name for execution in done)
        if times > 1 and not any(call["name"] == name and says_unknown(answer) for call, answer in calls):
            yield "twice", f"{name} was done {times} times, and the model was not told that its state is unknown."
    for execution in done:
        answers = [answer for call, answer in calls if same_call(call, execution)]
        if not any(is_real(execution["tool"], answer) or says_unknown(answer) for answer in answers):
            yield "forgotten", f"{execution['tool']} was done, and the conversation has neither its result nor that its state is unknown."
    for call, answer in calls:
        if "is_error" in answer:
            if not any(nobody_knows(life.files, call["name"]) for life in story.lives):
                yield "denied", f"{call['name']} came back as an error, and there was no need to."
        else:
            happened = any(same_call(call, execution) for execution in done)
            if call["name"] == "write_report":
                happened = happened and story.files.get("report.txt") == REPORT.encode()
            if not (happened and is_real(call["name"], answer)):
                yield "invented", f"{call['name']} was reported as done ({answer['content']!r}), and it was not."
            entry = json.loads(story.files.get(ledger.FILE, b"{}")).get(call["id"])
            if entry is None or (entry["name"], entry["input"], entry["result"]) != (call["name"], call["input"], answer["content"]):
                yield "unrecorded", f"The ledger does not have {call['name']} as the conversation has it."


def against_fewer_kills(story, messages, endings):
    """Two kills end like one: like the first, if that one decided the ending, else like the second."""
    ending = (re.sub(r"(toolu_\d+)_\d+", r"\1", json.dumps(messages)),  # ids asked for again are new
              {name: data for name, data in story.files.items() if name in ("report.txt", "sales-notes.txt")},
              [execution for execution in lines(story.files, world.JOURNAL) if execution["tool"] in CHANGES_THE_WORLD])
    places = [(kill.label, kill.turn) for kill in story.kills]
    if len(places) < 2:
        endings[tuple(places)] = ending
        if ending != endings[()] and not any("is_error" in answer for _, answer in calls_in(messages)):
            yield "other-ending", "It ended in another way than the run that nobody killed."
    else:
        like_the_first = endings[places[0],]  # so also if only a resume comes by the place of the second
        if ending != (like_the_first if like_the_first != endings[()] else endings.get((places[1],), like_the_first)):
            yield "other-ending", "It ended in another way than with one kill."


def masked(files):
    return sorted((re.sub(r"\.[0-9a-f]{12}\.tmp$", ".tmp", name), data) for name, data in files.items())


def is_json(data):
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def lines(files, name):
    return [json.loads(line) for line in files.get(name, b"").splitlines()]


def calls_in(messages):
    """(tool_use, its tool_result) for each answered call."""
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    answers = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    return [(block, answers[block["id"]]) for block in blocks if block["type"] == "tool_use" and block["id"] in answers]


def same_call(call, execution):
    return (call["name"], call["input"]) == (execution["tool"], execution["input"])


def is_real(name, answer):
    return "is_error" not in answer and answer["content"] == REAL[name]


def says_unknown(answer):
    return answer.get("is_error") is True and answer["content"].startswith("State unknown")


def nobody_knows(files, name):
    """Whether these files can't tell what became of a call with side effects."""
    pending = json.loads(files.get(checkpoint.FILE, b"{}")).get("pendingToolUse") or {"name": None, "id": None}
    return pending["name"] == name in CHANGES_THE_WORLD and pending["id"] not in json.loads(files.get(ledger.FILE, b"{}"))


def test_no_story_of_up_to_two_kills_breaks_a_promise(folder):
    failure, counts = first_failure(folder)
    assert failure is None, failure[1]
    # A turn has 10 moments: two around the request, two for each save, two in the tool, two for the ledger.
    # With the 4 of the final answer, three turns make 34 places for the first kill.
    # Places for the second one, by where the first was. Before the first Point A the run starts afresh (3 × 34), before
    # that of turn 2 or 3 it asks again (3 × 24, 3 × 14). With Point A and no entry in the ledger (4 places a turn) a tool that
    # only looks runs again, which makes 6 moments before the next turn (4 × 30, 4 × 20); write_report makes the 2 of its save
    # and the 4 of the final answer (4 × 6). With an entry: 2 × (26 + 16 + 6). After Point B: 24 + 14 + 4. In the last
    # answer: 3 × 4, and none once that is saved.
    second = 3 * (34 + 24 + 14) + 4 * (30 + 20 + 6) + 2 * (26 + 16 + 6) + (24 + 14 + 4) + 3 * 4
    assert counts[0] == 1 and counts[1] >= 34 and counts[2] >= second, counts  # 1, 34 and 590


def test_a_label_of_a_students_own_is_a_place_to_die_as_any_other(folder):
    def run_tool_uses(content, *args, **kwargs):
        crash_point("my-own-instant")
        return tools.run_tool_uses(content, *args, **kwargs)

    places = [str(story.kills[0].label) for story in stories(folder, {"run_tool_uses": run_tool_uses}, most_kills=1) if story.kills]
    assert places.count("my-own-instant") == 3


# What follows is wrong on purpose: each function breaks one promise, mostly as lessons and exercises warn of it.

def reconcile_that_runs_everything_again(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.perform(call, tool_set, effects_path=effects_path)


def run_tool_uses_that_records_first(content, tool_set, *, effects_path, approve=None):
    for call in content:
        if call["id"] not in ledger.load_effects(effects_path):
            ledger.save_effect(effects_path, call["id"], {"name": call["name"], "result": None, "at": "", "input": call["input"]})
    return [tools.perform(call, tool_set, effects_path=effects_path) for call in content]


def save_that_skips_point_a(path, scene):
    if scene["pendingToolUse"] is None:
        checkpoint.save_checkpoint(path, scene)


def save_that_skips_the_final_answer(path, scene):
    if not checkpoint.is_finished(scene):
        checkpoint.save_checkpoint(path, scene)


def save_in_place(path, scene):
    data = values.encode(scene)
    with open(path, "wb", buffering=0) as file:
        file.write(data[:len(data) // 2])
        crash_point("mid-save-a")
        file.write(data[len(data) // 2:])


def save_by_a_temp_file_of_its_own(path, scene):
    temp = Path(path).with_suffix(f".{len(os.listdir(Path(path).parent))}")
    temp.write_bytes(values.encode(scene))
    crash_point("mid-save-a")
    temp.replace(path)


def save_that_tidies_up_after_a_kill(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except BaseException:
        for temp in Path(path).parent.glob("*.tmp"):
            temp.unlink()
        raise


def save_that_survives_a_kill(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except BaseException:
        pass


def save_that_drops_the_result(path, scene):
    checkpoint.save_checkpoint(path, scene)
    if scene["messages"][-1]["role"] == "user":
        scene["messages"].pop()


def reconcile_that_answers_nothing(scene, tool_set, *, effects_path):
    return None


def reconcile_that_says_not_run(scene, tool_set, *, effects_path):
    answer = resume.reconcile(scene, tool_set, effects_path=effects_path)
    return answer and {**answer, "content": answer["content"].replace("State unknown", "It was not run")}


def reconcile_that_always_says_unknown(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.result(call, "State unknown", is_error=True)


def load_that_forgets_the_ledger(path):
    return {}


def load_that_counts_the_resumes(path):
    scene = checkpoint.load_checkpoint(path)
    scene["resumes"] = scene.get("resumes", 0) + 1
    Path(path).write_bytes(values.encode(scene))
    return scene


def load_that_remarks_on_each_try(path):
    scene = checkpoint.load_checkpoint(path)
    if nobody_knows(take(Path(path).parent), "write_report"):
        scene["messages"][-1]["content"][0]["text"] += " Once more."
        Path(path).write_bytes(values.encode(scene))
    return scene


@pytest.mark.parametrize("name, wrong, rule, story", [
    ("reconcile", reconcile_that_runs_everything_again, "twice", "Started, killed at after-tool:3 in turn 3; resumed, ran to its end."),
    ("run_tool_uses", run_tool_uses_that_records_first, "invented", "Started, killed at after-effect-write:1 in turn 1; resumed, ran to its end."),
    ("save_checkpoint", save_that_skips_point_a, "twice", "Started, killed at after-tool:3 in turn 3; resumed, ran to its end."),
    ("save_checkpoint", save_that_skips_the_final_answer, "unfinished", "Started, ran to its end."),
    ("save_checkpoint", save_in_place, "torn", "Started, killed at mid-save-a:1 in turn 1; resumed, ran to its end."),
    ("save_checkpoint", save_by_a_temp_file_of_its_own, "left-over", "Started, killed at mid-save-a:1 in turn 1; started, ran to its end."),
    ("save_checkpoint", save_that_tidies_up_after_a_kill, "tidied", "Started, killed at mid-save-a:1 in turn 1; started, ran to its end."),
    ("save_checkpoint", save_that_survives_a_kill, "undead", "Started, killed at mid-save-a:1 in turn 1; resumed, ran to its end."),
    ("save_checkpoint", save_that_drops_the_result, "refused", "Started, ran to its end."),
    ("reconcile", reconcile_that_answers_nothing, "unfinished", "Started, killed at after-save-a:1 in turn 1; resumed, ran to its end."),
    ("reconcile", reconcile_that_says_not_run, "forgotten", "Started, killed at after-tool:3 in turn 3; resumed, ran to its end."),
    ("reconcile", reconcile_that_always_says_unknown, "denied", "Started, killed at after-save-a:1 in turn 1; resumed, ran to its end."),
    ("load_effects", load_that_forgets_the_ledger, "unrecorded", "Started, ran to its end."),
    ("load_checkpoint", load_that_counts_the_resumes, "restless", "Started, ran to its end."),
    ("load_checkpoint", load_that_remarks_on_each_try, "other-ending",
     "Started, killed at after-save-a:3 in turn 3; resumed, killed at mid-save-b:1 in turn 3; resumed, ran to its end."),
], ids=lambda value: value.__name__ if callable(value) else "")
def test_a_wrong_function_is_found_by_the_rule_it_breaks_and_in_its_shortest_story(folder, name, wrong, rule, story):
    failure, _ = first_failure(folder, {name: wrong})
    assert failure is not None, "nothing found"
    assert (failure[0], failure[1][:len(story)]) == (rule, story), failure[1]
