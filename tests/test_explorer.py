"""Every story of up to two kills, told in process: run, die, resume, die again, resume.

The world decides: the tools' journal, its files and the requests' log say what happened;
checkpoint and ledger only say what the program believes.

The sales report is swept in full each time. Of the support desk's ten tools under all
policies each run tells every story of one kill, and of those with two a sample that is
always the same. The whole sweep, some 28,000 stories in a minute and a half, with its progress:

    EXPLORE=all python -m pytest tests/test_explorer.py -k desk
"""
import json
import os
import random
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from course_lib import checkpoint, ledger, resume, tools, values
from course_lib.moments import Moment, crash_point
from course_lib.scenarios import SALES_REPORT, world
from course_lib.scenarios.code import write_code
from course_lib.scenarios.policies import LESSON_6, POLICIES, Policy, start_under
from course_lib.scenarios.recording import Recording
from course_lib.scenarios.runner import Outcome
from course_lib.scenarios.sales_report import NOTES, REPORT
from course_lib.scenarios.scenario import Scenario
from course_lib.scenarios.support_desk import FILES, SUPPORT_DESK
from test_support_desk import LESSON, ONCE

IN_FULL = os.environ.get("EXPLORE") == "all"
SAMPLE = 8  # stories of two kills for each tool under each policy, where not in full
LOOKS = {"read_notes", "count_words", "read_file"}  # they change nothing
BOOKS = {world.JOURNAL, world.REQUESTS, world.ASKED, checkpoint.FILE, ledger.FILE}
BOOKS_OF = {"intent": {world.INTENTS}, "key": {world.KEYS}}


@dataclass(frozen=True)
class Case:
    """What is run, and what is known of it by hand.

    answers: what each tool returns, or each call of it by its path. after: the world's files after
    a run that nobody kills. adds_up: whether the tool in question changes the world each time anew.
    """

    scenario: Scenario
    answers: dict
    after: dict
    adds_up: bool = False
    policy: Policy = LESSON_6

    def under(self, policy):
        return replace(self, policy=policy)

    def real(self, call):
        """The text that the model is to read when the call was really done."""
        answer = self.answers[call["name"]]
        return values.as_content(answer[call["input"]["path"]] if call["name"] == "read_file" else answer)

    def heard(self, call, answer):
        """The text that it did read. Which number a ticket has, and that the outside vouches for it, makes no difference."""
        if answer["content"] == f"This {call['name']} happened before the crash, the tool itself says; what it returned is lost.":
            return self.real(call)
        return re.sub(r'"T-[0-9]+"', '"T-1"', answer["content"])


def desk(tool):
    """The support desk's case of one tool."""
    scenario, (answer, file, text) = SUPPORT_DESK[tool], ONCE[tool]
    after = {**scenario.files, file: text}
    return Case(scenario, {tool: answer, "read_file": {name: FILES[name] for name in ("outage.txt", "runbook.txt")}},
                {name: text.encode() for name, text in after.items() if text is not None}, "idempotent" not in LESSON[tool][1])


SALES = Case(SALES_REPORT, {"read_notes": NOTES, "count_words": "30 words", "write_report": "wrote report.txt, 32 words"},  # counted by hand
             {"sales-notes.txt": NOTES.encode(), "report.txt": REPORT.encode()})


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


def stories(folder, case=SALES, most_kills=2, sample=None):
    """Every finished story, those with fewer kills first; of those with the most kills only a sample of that size, if given.

    The one place that lists the cases: each life is run without a kill, and in the next round
    it is killed at every moment that it announced.
    """
    this_round = [(Story(), None, None)]
    for kills in range(most_kills + 1):
        next_round = []
        if sample and kills == most_kills and sample < len(this_round):
            this_round = random.Random(f"{case.scenario.effect} {case.policy.name}").sample(this_round, sample)
        for story, kill, seen in this_round:
            if kill:
                story = live(folder, case, story, kill=kill, seen=seen())
            recording = Recording(folder)
            yield live(folder, case, story, listeners=[recording] if kills < most_kills else [])
            next_round += [(story, moment, lambda recording=recording, i=i: recording.files(i))
                           for i, moment in enumerate(recording.moments) if moment.count]  # a remark is no place to die
        this_round = next_round


def live(folder, case, story, *, kill=None, seen=None, listeners=()):
    """The story with one more life. The first one, and one that has nothing to resume from, starts afresh."""
    put(folder, story.files)
    resumed = checkpoint.FILE in story.files
    outcome = start_under(case.policy, case.scenario, folder, resume=resumed, crash_after=kill and (kill.label, kill.count), listeners=listeners)
    return Story((*story.lives, Life(resumed, kill, outcome, take(folder), seen)))


def put(folder, files):
    for name in os.listdir(folder):
        (folder / name).unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def take(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def first_failure(folder, case=SALES, most_kills=2):
    """The shortest story that breaks a promise, as ``(rule, sentence)``, or None; and how many stories had 0, 1, 2 kills."""
    counts, endings = [0] * (most_kills + 1), {}
    for story in stories(folder, case, most_kills):
        counts[len(story.kills)] += 1
        for rule, detail in breaches(folder, case, story, endings):
            return (rule, f"{story} {detail}"), counts
    return None, counts


def all_failures(folder, case, most_kills=2, sample=None):
    """For each rule that some story breaks the shortest one, ``{rule: sentence}``; and how many stories there were."""
    found, count, endings = {}, 0, {}
    for count, story in enumerate(stories(folder, case, most_kills, sample), 1):
        for rule, detail in breaches(folder, case, story, endings):
            code = write_code(case.scenario, case.policy, [(kill.label, kill.count) for kill in story.kills])
            found.setdefault(rule, f"{story} {detail} In CrashLab: {code}")
    return found, count


def breaches(folder, case, story, endings):
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
    yield from against_the_gate(case, story)
    end = story.lives[-1]
    scene = json.loads(end.files.get(checkpoint.FILE, b"{}"))
    messages = scene.get("messages", [{"role": "nobody", "content": ""}])
    if end.outcome.status != "done" or messages[-1]["role"] != "assistant" or scene["pendingToolUse"]:
        yield "unfinished", f"The last save is no finished run; the program said: {end.outcome.text}"
    left_over = end.files.keys() - {*case.scenario.files, *case.after, *BOOKS, *BOOKS_OF.get(case.policy.name, ())}
    if left_over:
        yield "left-over", f"It left {', '.join(sorted(left_over))} behind."
    yield from against_the_world(case, story, calls_in(messages))
    put(folder, end.files)
    again = start_under(case.policy, case.scenario, folder, resume=checkpoint.FILE in end.files)
    if take(folder) != end.files or (again.status, again.text) != (end.outcome.status, end.outcome.text):
        yield "restless", "Going on from the finished run once more changed something."
    yield from against_fewer_kills(case, story, messages, endings)


def against_the_gate(case, story):
    """Each time that a high-impact tool is run, a person has said yes to it in the same life."""
    before = {}
    for life in story.lives:
        new = [len(lines_of(life.files, name)) - len(lines_of(before, name)) for name in (world.ASKED, world.JOURNAL)]
        done = [execution["tool"] for execution in lines(life.files, world.JOURNAL)[len(lines_of(before, world.JOURNAL)):]]
        before = life.files
        gated = [tool for tool in done if tool in LESSON and "high_impact" in LESSON[tool][1]]
        if len(gated) > new[0]:
            yield "unapproved", f"{gated[0]} was done without a yes of its own."


def against_the_world(case, story, calls):
    done = lines(story.files, world.JOURNAL)
    for name in {execution["tool"] for execution in done} - LOOKS:
        times = sum(execution["tool"] == name for execution in done)
        if times > 1 and not any(call["name"] == name and says_unknown(answer) for call, answer in calls):
            yield "twice", f"{name} was done {times} times, and the model was not told that its state is unknown."
    for execution in done:
        if not any(same_call(call, execution) and (is_real(case, call, answer) or says_unknown(answer)) for call, answer in calls):
            yield "forgotten", f"{execution['tool']} was done, and the conversation has neither its result nor that its state is unknown."
    for call, answer in calls:
        if "is_error" in answer:
            if not any(nobody_knows(case, life.files, call["name"]) for life in story.lives):
                yield "denied", f"{call['name']} came back as an error, and there was no need to."
        else:
            times = sum(same_call(call, execution) for execution in done)
            as_it_should = call["name"] in LOOKS or (times > 1 and case.adds_up) or world.outside(story.files) == case.after
            if not (times and as_it_should and is_real(case, call, answer)):
                yield "invented", f"{call['name']} was reported as done ({answer['content']!r}), and it was not."
            entry = json.loads(story.files.get(ledger.FILE, b"{}")).get(call["id"], {})
            if (entry.get("name"), entry.get("input"), values.as_content(entry.get("result"))) != (call["name"], call["input"], answer["content"]):
                yield "unrecorded", f"The ledger does not have {call['name']} as the conversation has it."


def against_fewer_kills(case, story, messages, endings):
    """Two kills end like one: like the first, if that one decided the ending, else like the second."""
    calls = calls_in(messages)
    ending = (re.sub(r"(toolu_\d+)_\d+", r"\1", json.dumps([message["content"] for message in messages if message["role"] == "assistant"])),
              [(case.heard(call, answer), answer.get("is_error")) for call, answer in calls],
              world.outside(story.files),
              [execution for execution in lines(story.files, world.JOURNAL) if execution["tool"] not in LOOKS])
    places = [(kill.label, kill.turn) for kill in story.kills]
    if len(places) < 2:
        endings[tuple(places)] = ending
        if ending != endings[()] and not any("is_error" in answer for _, answer in calls):
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


def lines_of(files, name):
    return files.get(name, b"").splitlines()


def lines(files, name):
    return list(map(json.loads, lines_of(files, name)))


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


def nobody_knows(case, files, name):
    """Whether neither these files nor whom the policy can ask can tell what became of a call with side effects."""
    pending = json.loads(files.get(checkpoint.FILE, b"{}")).get("pendingToolUse") or {"name": None, "id": None}
    if pending["name"] != name or name in LOOKS or pending["id"] in json.loads(files.get(ledger.FILE, b"{}")):
        return False
    return {"intent": pending["id"] in json.loads(files.get(world.INTENTS, b"[]")),  # about to start, so perhaps it did
            "key": False,  # the outside sorts it out
            "verify": name == "transfer"}.get(case.policy.name, True)


# --- the sales report --------------------------------------------------------------------

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

    own = SALES.under(Policy("own", "", {"run_tool_uses": run_tool_uses}))
    places = [str(story.kills[0].label) for story in stories(folder, own, most_kills=1) if story.kills]
    assert places.count("my-own-instant") == 3


# --- the support desk under every policy ------------------------------------------------------

EVERY, CHANGING = set(LESSON), set(LESSON) - LOOKS
HIGH_IMPACT = {tool for tool, (_, says) in LESSON.items() if "high_impact" in says}
# The promises that a policy breaks, for which tools and why. All others it keeps, for all tools; so "nothing done twice unless the
# model is told that the state is unknown" holds for no-ledger, record-first, lesson-6, intent, key and verify.
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
    "lesson-6": {}, "intent": {}, "key": {}, "verify": {},
}


@pytest.mark.parametrize("tool", LESSON)
@pytest.mark.parametrize("name", POLICIES)
def test_the_desks_stories_break_the_promises_that_the_policy_is_known_to_break_and_no_other(name, tool, folder, capsys):
    assert name in BREAKS, f"say in BREAKS which promises {name} breaks, for which tools and why"
    found, count = all_failures(folder, desk(tool).under(POLICIES[name]), sample=None if IN_FULL else SAMPLE)
    if IN_FULL:
        with capsys.disabled():
            print(f" {name}/{tool}: {count} stories, breaks {', '.join(sorted(found)) or 'nothing'}", flush=True)
    known = {rule: because for rule, (tools, because) in BREAKS[name].items() if tool in tools}
    news = [f"{rule}: {found[rule]}" for rule in found if rule not in known]
    assert not news, "The shortest stories that break a promise:\n" + "\n".join(news)
    unseen = [f"{rule}: {because}" for rule, because in known.items() if rule not in found]
    assert not unseen, f"No story of {name} and {tool} shows what it is known for:\n" + "\n".join(unseen)


# --- the explorer itself --------------------------------------------------------------------------

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
    if nobody_knows(SALES, take(Path(path).parent), "write_report"):
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
    failure, _ = first_failure(folder, SALES.under(Policy("wrong", "", {name: wrong})))
    assert failure is not None, "nothing found"
    assert (failure[0], failure[1][:len(story)]) == (rule, story), failure[1]
