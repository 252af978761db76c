"""The benchmark measures what it says, and the figures on record are the page's and keep what was promised (DESIGN section 13)."""
import json
import os
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("benchmark")
sys.path.append(str(FOLDER))

import compare  # noqa: E402
import measure  # noqa: E402
import page  # noqa: E402
import syncs  # noqa: E402
import workload  # noqa: E402
from rivals import OURS, RIVALS  # noqa: E402

FIGURES = json.loads(compare.DATA.read_text(encoding="utf-8"))
HERE = [name for name in RIVALS if not RIVALS[name].packages]  # those that need nothing beyond the course


def turns_of(name, turns, folder):
    folder.mkdir()
    return measure.run(name, turns, folder) | {"disk": measure.on_disk(folder)}


# --- what is measured ------------------------------------------------------------------------

@pytest.mark.parametrize("name", HERE)
def test_a_store_gives_back_the_conversation_it_was_given(name, tmp_path):
    figures = measure.measure(name, 6, tmp_path)  # it compares every message itself
    assert set(figures) == {"seconds", "cpu", "written", "disk", "resume", "rewind", "walk", "fork", "fork_bytes", "go_back"}
    if name in ("history", "turns", "loop"):
        assert None not in (figures["resume"], figures["rewind"], figures["fork"], figures["go_back"])


def test_a_store_that_gives_back_another_conversation_is_not_measured(tmp_path, monkeypatch):
    from rivals.history import Store
    monkeypatch.setattr(Store, "resume", lambda store: workload.conversation(6)[:-1])
    with pytest.raises(AssertionError, match="other messages"):
        measure.measure("history", 6, tmp_path)


@pytest.mark.parametrize("name, a_turn", [
    ("history", 2),  # Point A and the effect; Point B says nothing new
    ("loop", 2),
    ("raw", 2),
    ("plain", 6),  # three files, and for each the folder's list of names
])
def test_the_disk_is_forced_so_often_in_a_turn(name, a_turn, tmp_path, monkeypatch):
    def count(turns):
        (folder := tmp_path / f"{turns}").mkdir()
        calls = []
        with measure.closing(measure.open_store(name, folder)) as store, monkeypatch.context() as patch:
            if name == "raw":
                store.prepare(turns)
                patch.setattr("rivals.raw.sync", calls.append)
            for sync in {"fsync", "fdatasync"} & set(dir(os)):
                patch.setattr(os, sync, calls.append)
            store.run(turns)
        return len(calls)
    assert count(30) - count(10) == 20 * a_turn


def test_strace_counts_what_the_floor_is_known_to_do(monkeypatch):
    if not shutil.which("strace"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("NOT COUNTED: strace, which counts the syncs of every rival, is not installed")
    monkeypatch.setattr(syncs, "SHORT", 2)
    monkeypatch.setattr(syncs, "LONG", 7)
    assert syncs.syncs_a_turn("raw") == 2


@pytest.mark.parametrize("name", ["history", "raw"])
def test_a_turn_adds_its_own_bytes_however_many_came_before(name, tmp_path):
    sizes = [turns_of(name, turns, tmp_path / f"{turns}")["disk"] for turns in (20, 40, 80)]
    early, late = (sizes[1] - sizes[0]) / 20, (sizes[2] - sizes[1]) / 40
    assert late == pytest.approx(early, rel=0.01)
    # The input stands in the call and in the effect, the result in the effect only; JSON's own signs come on top.
    once = 2 * workload.INPUT_BYTES + workload.RESULT_BYTES
    assert once < late < 1.25 * once


def test_the_plain_files_grow_with_the_square_in_what_is_written(tmp_path):
    if not Path("/proc/self/io").exists():
        pytest.skip("only Linux counts the bytes that a process has written")
    written = [turns_of("plain", turns, tmp_path / f"{turns}")["written"] for turns in (20, 40, 80)]
    assert 3.5 < (written[2] - written[1]) / (written[1] - written[0]) < 4.5
    assert turns_of("history", 80, tmp_path / "history")["written"] < written[2] / 10


def test_each_start_of_the_workload_gives_the_same_bytes():
    assert [len(workload.result(turn)) for turn in (1, 5000)] == [2000, 2000]
    assert len(workload.call(7)["content"][1]["input"]["body"]) == 500
    assert workload.conversation(3)[:5] == workload.conversation(2)
    texts = [workload.result(turn) for turn in range(1, 200)]
    assert len(set(texts)) == len(texts), "a store that keeps equal texts once would look better than it is"


# --- the command ---------------------------------------------------------------------------------

@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A place without the extra, and with files of its own for the figures: (data, page)."""
    def version(package):
        raise metadata.PackageNotFoundError(package)
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    monkeypatch.setattr(compare, "DATA", tmp_path / "figures" / "history.json")
    monkeypatch.setattr(compare, "PAGE", tmp_path / "docs" / "figures.md")
    monkeypatch.setattr(compare, "ROUNDS", 1)
    monkeypatch.setattr(compare, "_machine", lambda: FIGURES["machine"])
    monkeypatch.setattr(compare, "syncs_a_turn", lambda name: None)
    return compare.DATA, compare.PAGE


def test_one_command_writes_the_figures_and_the_page_made_from_them(bare, capsys):
    compare.main(["--turns", "4"])
    data = json.loads(bare[0].read_text(encoding="utf-8"))
    assert bare[1].read_text(encoding="utf-8") == page.render(data)
    assert data["command"] == "python tests/benchmark/compare.py --turns 4"
    assert list(data["rivals"]) == HERE and list(data["rivals"][OURS]["turns"]) == ["4"]
    assert f"{len(HERE)} of {len(HERE)}" in capsys.readouterr().err


def test_what_is_not_installed_is_left_out_in_words(bare, capsys):
    compare.main(["--turns", "2", "--quick"])
    said = capsys.readouterr()
    for name in RIVALS.keys() - HERE:
        assert f"{RIVALS[name].title} is left out" in said.err and f"| {RIVALS[name].title} |" not in said.out
    assert ".[benchmark]" in said.err


def test_the_quick_way_prints_the_page_and_writes_nothing(bare, capsys):
    compare.main(["--turns", "2", "--quick"])
    assert "## 2 turns" in capsys.readouterr().out
    assert not any(path.exists() for path in bare)


def test_stopped_it_leaves_the_figures_as_they_were(bare, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr(compare, "measured", stopped)
    with pytest.raises(SystemExit, match="nothing was written"):
        compare.main([])
    assert not any(path.exists() for path in bare)


@pytest.mark.parametrize("turns", ["1", "0", "-3", "many"])
def test_a_number_of_turns_without_a_middle_is_refused(turns, capsys):
    with pytest.raises(SystemExit):
        compare.main([f"--turns={turns}"])
    assert "no number of turns" in capsys.readouterr().err


def test_a_store_that_fails_is_named_with_its_reason(monkeypatch):
    monkeypatch.setattr(compare, "MEASURE", "no-such-file.py")
    with pytest.raises(SystemExit, match="history.jsonl could not be measured at 2 turns: .*no-such-file"):
        compare.measured("history", 2)


@pytest.mark.parametrize("value, text", [
    (0, "0"), (0.00712, "0.00712"), (1.25, "1.25"), (13.94, "13.9"), (999.6, "1,000"), (5000, "5,000"), (2710.3, "2,710")])
def test_numbers_are_short_and_plain(value, text):
    assert page.number(value) == text


# --- the figures on record --------------------------------------------------------------------

def test_the_page_and_the_data_agree():
    assert compare.PAGE.read_text(encoding="utf-8") == page.render(FIGURES)


def test_the_figures_are_of_every_rival_and_every_number_of_turns():
    assert FIGURES["command"] == "python tests/benchmark/compare.py"
    assert {name: list(rival["turns"]) for name, rival in FIGURES["rivals"].items()} == {
        name: [str(turns) for turns in compare.TURNS if turns <= rival.largest] for name, rival in RIVALS.items()}


def figure(name, turns, what, kind="median"):
    return FIGURES["rivals"][name]["turns"][str(turns)][what][kind]


@pytest.mark.parametrize("rival, times", [("full", 20), ("delta", 3), ("dbos", 4), ("agents", 1)])
def test_a_thousand_turns_are_kept_so_much_faster(rival, times):
    assert figure(rival, 1000, "seconds") >= times * figure(OURS, 1000, "seconds")


def test_a_thousand_turns_take_a_three_hundredth_of_the_disk():
    assert figure("full", 1000, "disk") >= 300 * figure(OURS, 1000, "disk")


@pytest.mark.parametrize("name", [OURS, "loop"])
def test_a_turn_costs_as_much_at_five_thousand_as_at_a_hundred(name):
    early, late = (figure(name, turns, "cpu", "minimum") / turns for turns in (100, 5000))
    assert late <= 1.25 * early


@pytest.mark.parametrize("turns", [1000, 5000])
def test_the_history_stays_near_the_floor(turns):
    assert figure(OURS, turns, "seconds") <= 1.4 * figure("raw", turns, "seconds")


@pytest.mark.parametrize("rival", ["agents", "dbos"])
def test_the_middle_of_five_thousand_turns_is_nearer_than_elsewhere(rival):
    assert figure(OURS, 5000, "rewind") < figure(rival, 5000, "rewind")
    assert figure(OURS, 5000, "fork") < figure(rival, 5000, "fork") / 10 and figure(OURS, 5000, "fork_bytes") < 1000


def test_syncs_are_two_a_turn():
    assert FIGURES["rivals"][OURS]["syncs_a_turn"] == FIGURES["rivals"]["raw"]["syncs_a_turn"] == 2
