"""TornWriteLab: the chosen kill and the chosen power cut, in the file's own bytes and load_checkpoint's own words."""
import pytest
from markup import Parsed

from course_lib.scenarios import torn
from course_lib.widgets.torn_write_lab import KINDS, TornWriteLab, counts_html, kinds, operation_text, power_cut_html, ways, writers

SIZE = len(torn.two_saves()[1])


@pytest.fixture(scope="module")
def lab():
    return TornWriteLab()


@pytest.mark.parametrize("way, count, words", [
    ("plain", 0, "CheckpointEmpty: checkpoint.json is empty"),
    ("plain", SIZE // 2, "CheckpointTorn: checkpoint.json is cut off"),
    ("plain", SIZE, "the new save, whole"),
    ("in place", 0, "the old save, whole"),
    ("in place", 200, "accepted, and it is neither: turns is 3, and 5 messages make 2 turns"),
    ("atomic", SIZE // 2, "the old save, whole"),
    ("atomic", SIZE, "the old save, whole"),
])
def test_it_says_what_load_checkpoint_makes_of_the_kill(lab, way, count, words):
    lab.kill(way, count)
    assert words in lab.text
    assert words in Parsed(lab.left.value).text


def test_the_file_is_shown_with_its_real_size_and_the_temp_file_beside_it(lab):
    lab.kill("plain", 100)
    assert "checkpoint.json: 100 bytes" in Parsed(lab.left.value).text and ".tmp" not in lab.left.value
    lab.kill("atomic", 100)
    assert f"checkpoint.json: {len(torn.two_saves()[0])} bytes, unchanged" in Parsed(lab.left.value).text
    assert "checkpoint.json.tmp: 100 bytes" in Parsed(lab.left.value).text


def test_the_controls_do_what_the_methods_do(lab):
    lab.kill("plain", 0)
    lab.way.value = "in place"
    lab.count.value = 200
    assert "it is neither" in lab.left.value
    lab.writer.value = "file"
    assert "may be forgotten" in lab.lost.value


def test_the_buttons_jump_to_where_the_answer_changes(lab):
    lab.kill("plain", 0)
    seen = []
    for _ in range(4):
        seen.append(lab.count.value)
        lab.later.click()
    assert seen == [0, 1, SIZE, SIZE]
    lab.earlier.click()
    assert lab.count.value == SIZE - 1


def test_where_every_answer_is_the_same_the_buttons_go_to_the_ends(lab):
    lab.kill("atomic", 50)
    lab.later.click()
    assert lab.count.value == SIZE
    lab.earlier.click()
    assert lab.count.value == 0


def test_no_number_of_bytes_beyond_the_file_can_be_chosen(lab):
    lab.kill("plain", SIZE + 5)
    assert lab.count.value == SIZE
    lab.count.value = -1
    assert lab.count.value == 0


def test_the_table_counts_every_kill_of_every_way():
    text = Parsed(counts_html()).text
    assert f"{SIZE + 1} kills" in text
    for way in torn.WAYS:
        assert sum(torn.kills(way)[kind] for kind in KINDS) == SIZE + 1  # no kind is left out of the table


@pytest.mark.parametrize("writer, sign", [("plain", "✗"), ("rename", "✗"), ("file", "✗"), ("folder", "✗"), ("both", "✓")])
def test_only_the_writer_with_both_syncs_is_called_safe(writer, sign):
    text = Parsed(power_cut_html(writer)).text
    assert text.startswith(sign) and "write checkpoint.json" in text


def test_an_empty_and_a_zeroed_file_can_be_looked_at():
    markup = power_cut_html("rename")
    assert Parsed(markup).tags.count("details") >= 2 and "checkpoint.json</b>: 0 bytes" in markup
    assert "<details>" not in power_cut_html("both")


def test_an_operation_is_a_line_with_sizes_instead_of_bytes():
    assert operation_text("write", "a", 5, b"xyz") == "write a 3 bytes"
    assert operation_text("truncate", "a", 0) == "truncate a 0"
    assert operation_text("fsync folder") == "fsync folder"


def test_every_way_writer_and_kind_has_words():
    assert ways().keys() == torn.WAYS.keys() and writers().keys() == torn.WRITERS.keys() and set(kinds()) == set(KINDS)
    for writer in torn.WRITERS:
        assert set(torn.power_cuts(writer)) <= set(KINDS)


def test_the_static_twin_is_the_first_state_and_plain():
    fresh = TornWriteLab()
    parsed = Parsed(fresh.static_html())
    assert "CheckpointTorn" in parsed.text and "The power goes" in parsed.text and "style" not in parsed.tags
    assert repr(fresh) == "TornWriteLab()"
