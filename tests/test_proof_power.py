"""Power cuts over a whole run: every folder that the disk model allows is gone on from; and without either sync something is lost."""
import pytest

from course_lib import checkpoint, ledger, storage
from course_lib.proof import power
from course_lib.proof.cases import BEGINNINGS, HISTORY, begun, case_of
from course_lib.proof.stories import Story
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.policies import POLICIES, Policy
from course_lib.scenarios.support_desk import SUPPORT_DESK

SALES = case_of(SALES_REPORT)


@pytest.mark.parametrize("life", BEGINNINGS)
def test_whenever_the_power_goes_a_resume_puts_all_right(life):
    left = []
    assert power.cut(SALES, begun(SALES, BEGINNINGS[life]), progress=left.append) == []
    assert len(left) > 15


@pytest.mark.parametrize("tool", ["append_log", "transfer", "write_file"])
def test_the_same_holds_for_tools_whose_effects_add_up_or_need_a_yes(tool):
    case = case_of(SUPPORT_DESK[tool])
    assert power.cut(case, Story()) == []


@pytest.mark.parametrize("crash", [None, ("after-save-a", 2), ("after-tool", 3)])
def test_the_same_holds_for_a_history_though_it_syncs_no_point_b(crash):
    case = SALES.under(HISTORY)
    assert power.cut(case, begun(case, crash)) == []


def test_a_history_that_is_not_synced_forgets_what_was_done():
    assert "twice" in dict(power.cut(SALES.under(HISTORY), Story(), dropped="fsync"))


def test_without_the_files_sync_a_checkpoint_may_be_empty():
    (rule, story), *_ = power.cut(SALES, Story(), dropped="fsync")
    assert rule == "torn" and story.startswith("Started, lost its power after operation") and "checkpoint.json was no whole file" in story


def test_without_the_folders_sync_an_effect_may_be_done_twice():
    (rule, story), *_ = power.cut(SALES, Story(), dropped="fsync folder")
    assert (rule, story.count(";")) == ("twice", 1) and "write_report was done 2 times" in story


def test_a_save_that_does_not_sync_is_found_as_well_as_a_sync_that_is_left_out(monkeypatch):
    def write_atomic(path, data, *, moment, **facts):
        temp = path.with_name(f"{path.name}.0123456789ab.tmp")
        fd = storage.os.open(temp, storage.os.O_WRONLY | storage.os.O_CREAT)
        storage.os.write(fd, data)
        storage.os.close(fd)
        storage.os.replace(temp, path)

    monkeypatch.setattr(checkpoint, "write_atomic", write_atomic)
    assert "torn" in dict(power.cut(SALES, Story()))


def test_a_record_that_is_synced_only_after_point_b_is_found(monkeypatch):
    late = []

    def save_effect(path, tool_use_id, entry):
        late.append((path, tool_use_id, entry))

    def save_checkpoint(path, scene):
        checkpoint.save_checkpoint(path, scene)
        while late:
            ledger.save_effect(*late.pop())

    case = SALES.under(Policy("late", "", {"save_effect": save_effect, "save_checkpoint": save_checkpoint}))
    assert "unrecorded" in dict(power.cut(case, Story()))


# --- what is put to the model is what the run asked for -----------------------------------------------

def test_every_write_of_a_run_is_noted_in_the_disk_models_terms(tmp_path):
    operations, worlds = power.watch(SALES, tmp_path, Story())
    kinds = [operation[0] for operation in operations]
    # Three turns with A, record and B, and the final answer: ten saves of six operations; before them the fresh start syncs the folder.
    save = ["create", "write", "write", "fsync", "rename", "fsync folder"]
    assert kinds == ["fsync folder", *save * 10]
    assert len(worlds) == len(operations) + 1
    assert [("report.txt" in world) for world in worlds].index(True) < len(worlds) - 12, "the report comes before the last record, B and the end"


def test_what_the_last_write_leaves_is_what_is_on_the_disk(tmp_path):
    operations, worlds = power.watch(SALES, tmp_path, Story())
    final = [files for issued, _, files in power.states(operations, worlds, {}) if issued == len(operations)]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} in [*final, *(files for _, _, files in power.states(operations, worlds, {}))]


def test_a_call_that_is_not_noted_must_not_reach_the_disk_unseen(tmp_path):
    with pytest.raises(AttributeError, match="not noted"):
        power._Watching(tmp_path).link


def test_an_added_line_is_noted_at_its_place(tmp_path):
    watching = power._Watching(tmp_path)
    for text in (b"one\n", b"two\n"):
        fd = watching.open(tmp_path / "effects.json", power.os.O_WRONLY | power.os.O_CREAT)
        watching.lseek(fd, 0, power.os.SEEK_END)
        watching.write(fd, text)
        watching.close(fd)
    assert watching.operations == [("create", "effects.json"), ("write", "effects.json", 0, b"one\n"), ("write", "effects.json", 4, b"two\n")]


@pytest.mark.parametrize("policy", ["intent"])
def test_an_intent_is_no_less_durable(policy):
    case = case_of(SUPPORT_DESK["transfer"]).under(POLICIES[policy])
    assert power.cut(case, Story()) == []
