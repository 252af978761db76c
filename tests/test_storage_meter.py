"""StorageMeter: the bytes it counts are those on disk, and they grow as the lesson says."""
import json
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Run, Tool, run_agent
from course_lib.scenarios.growth import HISTORY, TURNS, growth, sizes
from course_lib.widgets import storage_meter
from course_lib.widgets.storage_meter import CHOICES, FIGURES, StorageMeter, figures, meter_html, others_html, size
from tests.helpers import Model, text, use
from tests.markup import PAYLOADS, Parsed


@pytest.fixture(params=[TURNS, HISTORY])
def kept(request, tmp_path):
    """The folder of a run of two turns."""
    with Run(durability="kill"):
        run_agent(Model([use("t1", "look")], [use("t2", "look")], [text("done")]), "look", {"look": Tool(lambda input: "seen", read_only=True)}, folder=tmp_path, keep=request.param)
    return tmp_path


def test_the_sizes_are_the_bytes_on_disk_turn_by_turn(kept):
    first, last = sizes(kept)
    files = {path.name: path.stat().st_size for path in kept.iterdir()}
    if "history.jsonl" in files:
        assert last == files["history.jsonl"]
        assert (kept / "history.jsonl").read_bytes()[:first].endswith(b"\n") and b"t2" not in (kept / "history.jsonl").read_bytes()[:first]
    else:
        assert first == files["turn-001-A.json"] + files["turn-001-B.json"]
        assert last == sum(count for name, count in files.items() if name.startswith("turn-"))


def test_twice_the_turns_take_four_times_the_files_and_twice_the_lines():
    found = growth(40)
    assert len(found[TURNS]) == len(found[HISTORY]) == 40
    assert found[TURNS][-1] / found[TURNS][19] == pytest.approx(4, rel=.05)  # 2n saves of n/2 turns on average: n²
    assert found[HISTORY][-1] / found[HISTORY][19] == pytest.approx(2, rel=.02)


def test_a_line_a_save_is_no_more_than_what_came_in():
    bytes_after = growth(9)[HISTORY]
    assert 3000 < bytes_after[7] - bytes_after[6] < 1.25 * 3000  # 500 bytes of input, in the call and in the effect; 2000 of result; the frame around them


def test_the_table_names_quarter_half_and_whole():
    page = unescape(meter_html({TURNS: [100, 400, 900, 1600], HISTORY: [100, 200, 300, 400]}))
    assert "grew 4.0-fold, the history 2.0-fold" in page and "From turn 2 to turn 4" in page
    assert Parsed(meter_html({TURNS: [100, 400, 900, 1600], HISTORY: [100, 200, 300, 400]})).text.count("times as much") == 3
    assert "1.60 KB" in page and "4.0 times as much" in page and "900 bytes" not in page


def test_another_number_of_turns_is_run_and_drawn():
    meter = StorageMeter()
    for turns in CHOICES[:3]:
        meter.choose(turns)
        assert f"a run of {turns} turns made just now" in unescape(meter.result) and meter.alert.value == ""
        assert meter.static_html() in meter.result


def test_two_machines_store_the_same_picture():
    assert StorageMeter().static_html() == StorageMeter().static_html()


def test_without_figures_of_others_it_says_so(tmp_path, monkeypatch):
    for broken in (None, "", "{"):
        path = tmp_path / "history.json"
        if broken is not None:
            path.write_text(broken)
        monkeypatch.setattr(storage_meter, "FIGURES", path)
        assert figures() is None and "not measured here" in StorageMeter().others.value


def test_the_figures_of_others_are_shown_as_they_were_measured():
    data = {"date": "2026-01-05", "rivals": {"a": {"title": "A & <b>", "turns": {"10": {"disk": {"median": 42_400, "minimum": 1}}, "100": {"disk": {"median": 1_350_000, "minimum": 1}}}},
                                             "b": {"title": "B", "turns": {"10": {"disk": {"median": 7, "minimum": 7}}}}}}
    shown = Parsed(others_html(data))
    assert "A & <b>42.4 KB1.35 MB" in shown.text and "B7 bytes–" in shown.text and "2026-01-05" in shown.text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_in_the_figures_is_markup(payload):
    data = {"date": payload, "rivals": {"a": {"title": payload, "turns": {"10": {"disk": {"median": 1, "minimum": 1}}}}}}
    assert set(Parsed(others_html(data)).tags) <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.skipif(not FIGURES.exists(), reason="the benchmark has not been run")
def test_the_figures_that_are_kept_can_be_shown():
    assert "history.jsonl" in others_html(json.loads(FIGURES.read_text(encoding="utf-8")))


@pytest.mark.parametrize("count, said", [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.00 KB"), (30_117, "30.1 KB"), (999_499, "999 KB"), (999_500, "1.00 MB"),
                                         (350_465, "350 KB"), (30_527_641, "30.5 MB"), (2_700_000_000, "2.70 GB"), (99_960, "100 KB")])
def test_bytes_are_told_to_three_digits(count, said):
    assert size(count) == said


@given(st.integers(0, 10**13))
def test_what_is_told_is_near_what_was_counted(count):
    number, unit = size(count).split()
    assert float(number) * {"bytes": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit] == pytest.approx(count, rel=.0051)
