"""Any sequence of starts, crashes, resumes and answers at the gate: hypothesis looks for one that does something twice or forgets it.

What is to hold is kept beside the program in plain sets of what was done, allowed and told;
the program's own files are only read to be checked.
"""
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from course_lib import checkpoint, guard, load_checkpoint, load_effects, tools, values
from course_lib.moments import LABELS, crash_point
from course_lib.scenarios.matrix import memory_folder
from course_lib.transcript import check_transcript
from helpers import Model, World, run, text, use

LOOKS = {"look"}
crashes = st.none() | st.tuples(st.sampled_from(LABELS), st.integers(1, 4))
plans = st.lists(st.sampled_from(["look", "note", "pay"]), min_size=1, max_size=4)


class Lives(RuleBasedStateMachine):
    """One task at a time, in one folder: a model that keeps to its plan, three tools, and a person at the gate."""

    functions = None  # in place of the library's, as Run takes them

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="course-", dir=memory_folder()))
        self.forget_all()

    def teardown(self):
        shutil.rmtree(self.folder)

    def forget_all(self):
        """A new task: nothing has been done in it, and nobody has said yes to anything."""
        self.world, self.yes, self.ended, self.last = World(), [], None, None

    @initialize(plan=plans)
    def plan(self, plan):
        self.new_task(plan)

    def new_task(self, plan):
        self.forget_all()
        turns = [[text(f"Step {n}."), use(f"t{n}", name, step=n)] for n, name in enumerate(plan)]
        self.model = Model(*turns, [text("All done.")])

    def live(self, crash, says_yes, resume):
        def approve(name, input):
            self.yes += [(name, input["step"])] if says_yes else []
            return says_yes

        self.last = run(self.model, self.world, self.folder, crash_after=crash, resume=resume, approve=approve, functions=self.functions)

    @rule(plan=plans, crash=crashes, says_yes=st.booleans())
    def start_another_task(self, plan, crash, says_yes):
        self.new_task(plan)
        self.live(crash, says_yes, resume=False)

    @rule(crash=crashes, says_yes=st.booleans())
    def resume(self, crash, says_yes):
        fresh = not (self.folder / "checkpoint.json").exists()
        before = self.files()
        self.live(crash, says_yes, resume=True)
        if fresh:
            assert self.last.how == "CheckpointMissing" and self.files() == before
            self.live(crash, says_yes, resume=False)
        assert self.last.how in ("done", "killed"), self.last.words

    @precondition(lambda self: self.last and self.last.how == "done")
    @rule(crash=crashes)
    def resume_what_is_finished(self, crash):
        before, asked, words = self.files(), len(self.model.sent), self.last.words
        self.live(crash, True, resume=True)
        assert (self.last.how, self.last.words, self.files(), len(self.model.sent)) == ("done", words, before, asked)

    @invariant()
    def files_are_whole_and_what_they_say_the_api_accepts(self):
        if not (self.folder / "checkpoint.json").exists():
            return
        scene, effects = load_checkpoint(self.folder / "checkpoint.json"), load_effects(self.folder / "effects.json")
        pending = scene["pendingToolUse"]
        breaches = [breach["rule"] for breach in check_transcript(scene["messages"], ends_with_user=False)]
        assert breaches == (["unanswered"] if pending else [])
        for call, result in self.answered(scene):
            if "is_error" not in result:
                assert (effects[call["id"]]["name"], effects[call["id"]]["input"]) == (call["name"], call["input"])

    @invariant()
    def nothing_is_done_twice_or_without_a_yes(self):
        done = [(name, input["step"]) for name, input in self.world.done]
        told = self.told_unknown()
        for call in set(done):
            if call[0] not in LOOKS:
                assert done.count(call) == 1 or call in told, f"{call} was done {done.count(call)} times"
            if call[0] == "pay":
                assert done.count(call) <= self.yes.count(call), f"{call} was done without a yes of its own"

    @invariant()
    def nothing_done_is_forgotten_once_the_run_is_over(self):
        if not self.last or self.last.how != "done":
            return
        scene = load_checkpoint(self.folder / "checkpoint.json")
        heard = {(call["name"], call["input"]["step"]) for call, result in self.answered(scene) if "is_error" not in result}
        done = {(name, input["step"]) for name, input in self.world.done}
        assert heard <= done, f"{heard - done} was reported, and never done"
        assert done <= heard | self.told_unknown(), f"{done - heard} was done, and the model does not know"
        assert len(list(self.answered(scene))) == scene["turns"]
        assert [name for name in self.files() if name.endswith(".tmp")] == []

    def answered(self, scene):
        blocks = [block for message in scene["messages"] if isinstance(message["content"], list) for block in message["content"]]
        results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
        return [(block, results[block["id"]]) for block in blocks if block["type"] == "tool_use" and block["id"] in results]

    def told_unknown(self):
        """The steps of which the model was told in the conversation that their state is unknown."""
        if not (self.folder / "checkpoint.json").exists():
            return set()
        answered = self.answered(load_checkpoint(self.folder / "checkpoint.json"))
        return {(call["name"], call["input"]["step"]) for call, result in answered if result.get("is_error") and "State unknown" in result["content"]}

    def files(self):
        """What the folder holds, but for the lock, which changes its owner each time."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.name != guard.LOCK}


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=150, stateful_step_count=12)


# --- each of its invariants can fail ---------------------------------------------------------------

def runs_everything_again(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.perform(call, tool_set, effects_path=effects_path)


def saves_b_alone(path, scene):
    if scene["pendingToolUse"] is None:
        checkpoint.save_checkpoint(path, scene)


def claims_that_it_was_done(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.result(call, tools.record(call, "done", effects_path))


def denies_that_it_was_done(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.result(call, "It was not run.", is_error=True)


def keeps_no_record(path, tool_use_id, entry):
    pass


def saves_in_place(path, scene):
    data = values.encode(scene)
    with open(path, "wb", buffering=0) as file:
        file.write(data[:len(data) // 2])
        crash_point("mid-save-a")
        file.write(data[len(data) // 2:])


@pytest.mark.parametrize("name, wrong, words", [
    ("reconcile", runs_everything_again, "without a yes of its own|was done 2 times"),
    ("save_checkpoint", saves_b_alone, "was done 2 times|was done, and the model does not know"),
    ("reconcile", claims_that_it_was_done, "was reported, and never done"),
    ("reconcile", denies_that_it_was_done, "was done, and the model does not know"),
    ("save_effect", keeps_no_record, "'t0'"),
    ("save_checkpoint", saves_in_place, "is cut off or not JSON|is empty"),
], ids=lambda value: value.__name__ if callable(value) else "")
def test_a_wrong_function_is_found(name, wrong, words):
    class Wrong(Lives):
        functions = {name: wrong}

    with pytest.raises(Exception, match=words):
        run_state_machine_as_test(Wrong, settings=settings(max_examples=300, stateful_step_count=6, phases=[Phase.generate], report_multiple_bugs=False))
