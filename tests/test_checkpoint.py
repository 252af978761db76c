"""checkpoint.py: a scene comes back equal, a file that can't be trusted is refused with its reason and left as it is."""
import copy
import json
import os
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.checkpoint import (CheckpointEmpty, CheckpointError, CheckpointMissing, CheckpointTorn, CheckpointUnreadable,
                                   NotACheckpoint, WrongVersion, is_finished, load_checkpoint, opening, save_checkpoint)
from course_lib.errors import CourseError
from course_lib.moments import Run, SimulatedCrash
from course_lib.values import UnsavableValue

CALL = {"id": "toolu_02", "name": "count_words", "input": {"text": "Vendas em março: 12 😀"}}
POINT_A = {
    "version": 1, "task": "Turn sales-notes.txt into a short report and write it to report.txt.", "turns": 2, "tokensUsed": 861,
    "messages": [
        {"role": "user", "content": "Turn sales-notes.txt into a short report and write it to report.txt."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "Eo8BC=="}, {"type": "tool_use", "id": "toolu_01", "name": "read_notes", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "Vendas em março: 12 😀"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Counting.\u2028"}, {"type": "tool_use", **CALL}]},
    ],
    "pendingToolUse": CALL,
}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_02", "content": "5"}]}
POINT_B = {**POINT_A, "messages": [*POINT_A["messages"], RESULT], "pendingToolUse": None}
FINISHED = {**POINT_B, "messages": [*POINT_B["messages"], {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]}

# What the lessons' own programs leave at Point A, as JSON.stringify(cp, null, 2) writes it. Lesson 2 has the
# assistant's turn in messages and raises turns at Point B; lesson 6 pushes that turn after the save.
LESSON_2 = """{
  "version": 1,
  "task": "Summarize notes.txt",
  "turns": 0,
  "tokensUsed": 42,
  "messages": [
    {
      "role": "user",
      "content": "Summarize notes.txt"
    },
    {
      "role": "assistant",
      "content": [
        {
          "type": "tool_use",
          "id": "toolu_01",
          "name": "read_file",
          "input": {
            "path": "notes.txt"
          }
        }
      ]
    }
  ],
  "pendingToolUse": {
    "id": "toolu_01",
    "name": "read_file",
    "input": {
      "path": "notes.txt"
    }
  }
}"""
LESSON_6 = """{
  "version": 1,
  "task": "Turn sales-notes.txt into a short report and write it to report.txt.",
  "turns": 1,
  "tokensUsed": 0,
  "messages": [
    {
      "role": "user",
      "content": "Turn sales-notes.txt into a short report and write it to report.txt."
    }
  ],
  "pendingToolUse": {
    "id": "toolu_01",
    "name": "read_notes",
    "input": {}
  }
}"""
posix = pytest.mark.skipif(os.name == "nt", reason="Windows calls such a place missing, and lets few people make links")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.json"


@pytest.fixture(scope="module")
def one_path(tmp_path_factory):
    return tmp_path_factory.mktemp("runs") / "checkpoint.json"


def refusal(path, data):
    """The error that loading these bytes gives, once it is sure that it is one sentence and the file is as it was."""
    path.unlink(missing_ok=True)  # some file systems sync a file that is cut to nothing and written anew
    path.write_bytes(data)
    with pytest.raises(CheckpointError) as error:
        load_checkpoint(path)
    sentence = str(error.value)
    assert path.read_bytes() == data and os.listdir(path.parent) == ["checkpoint.json"]
    assert sentence.endswith(".") and "\n" not in sentence and "checkpoint.json" in sentence, sentence
    return error.value


def file_of(checkpoint):
    return json.dumps(checkpoint).encode()


def without(key):
    return {name: value for name, value in POINT_A.items() if name != key}


# Equal after saving

@pytest.mark.parametrize("scene", [POINT_A, POINT_B, FINISHED, opening("Summarize notes.txt")], ids=["A", "B", "finished", "opening"])
def test_a_scene_comes_back_equal_and_saving_it_again_changes_no_byte(path, scene):
    save_checkpoint(path, scene)
    saved = path.read_bytes()
    loaded = load_checkpoint(path)
    assert repr(loaded) == repr(scene)
    save_checkpoint(path, loaded)
    assert path.read_bytes() == saved


@pytest.mark.parametrize("text", [LESSON_2, LESSON_6], ids=["lesson 2", "lesson 6"])
def test_a_file_of_a_lessons_own_program_loads_and_ours_has_the_same_bytes(path, text):
    path.write_text(text, encoding="utf-8", newline="\n")
    scene = load_checkpoint(path)
    assert scene == json.loads(text)
    save_checkpoint(path, scene)
    assert path.read_bytes() == text.encode()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda items: st.lists(items) | st.dictionaries(st.text(), items), max_leaves=15), st.text())
def test_inputs_texts_and_keys_we_dont_know_come_back_equal_and_typed(one_path, value, text):
    scene = copy.deepcopy({**POINT_A, "task": text, "lineage": value})
    scene["pendingToolUse"] = {**CALL, "input": {"any": value}, "caller": value}
    scene["messages"][1]["content"][0]["thinking"] = text
    scene["messages"][2]["cache"] = value
    with Run(durability="kill"):
        save_checkpoint(one_path, scene)
    assert repr(load_checkpoint(one_path)) == repr(scene)


def test_half_a_surrogate_pair_from_the_model_is_kept_as_an_escape(path):  # C49
    scene = {**POINT_A, "pendingToolUse": {**CALL, "input": {"text": "\ud99c"}}}
    save_checkpoint(path, scene)
    assert rb'"text": "\ud99c"' in path.read_bytes()
    assert load_checkpoint(path) == scene


def test_a_byte_order_mark_and_a_last_newline_from_an_editor_do_no_harm(path):
    path.write_bytes(b"\xef\xbb\xbf" + file_of(POINT_A) + b"\r\n")
    assert load_checkpoint(path) == POINT_A


# Refused when loading

def test_no_file_means_that_there_is_nothing_to_resume_from(path):
    with pytest.raises(CheckpointMissing, match="nothing to resume from; start without --resume"):
        load_checkpoint(path)
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("where", ["checkpoint.json", *[pytest.param(f"{name}/checkpoint.json", marks=posix) for name in ("notes.txt", "loop")]])
def test_what_the_system_wont_read_is_unreadable_and_neither_missing_nor_torn(tmp_path, where):
    (tmp_path / "checkpoint.json").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    if where.startswith("loop"):
        (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(CheckpointUnreadable, match=r"^checkpoint\.json could not be read: [\w ]+; make it readable and resume again\.$"):
        load_checkpoint(tmp_path / where)


def test_a_file_cut_at_any_byte_is_refused(path):
    save_checkpoint(path, POINT_A)
    whole = path.read_bytes()
    assert isinstance(refusal(path, b""), CheckpointEmpty)
    for cut in range(1, len(whole)):
        error = refusal(path, whole[:cut])
        assert type(error) is CheckpointTorn and "delete it and start over" in str(error), f"cut at {cut}: {error!r}"
        error = refusal(path, whole[:cut] + bytes(len(whole) - cut))  # the right size, its end never written (C38)
        assert type(error) is CheckpointTorn, f"zeros from {cut}: {error!r}"


@pytest.mark.parametrize("data, kind, words", [
    (b"", CheckpointEmpty, "is empty"),
    (bytes(512), CheckpointTorn, "all zero bytes"),
    (b" \n", CheckpointTorn, "not JSON"),
    (b"version: 1", CheckpointTorn, "not JSON"),
    (b"{'version': 1}", CheckpointTorn, "not JSON"),
    (file_of(POINT_A) + file_of(POINT_A), CheckpointTorn, "Extra data"),
    (file_of(POINT_A).replace(b"861", b"NaN"), CheckpointTorn, "NaN is not JSON"),
    (file_of(POINT_A).replace(b"861", b"1e999"), CheckpointTorn, "tokensUsed: inf"),
    (file_of(POINT_A).replace(b"sales", b"\xff\xfe"), CheckpointTorn, "utf-8"),
    (json.dumps(POINT_A).encode("utf-16"), CheckpointTorn, "utf-8"),
    (b"[" * 100_000, CheckpointTorn, "nested"),
    (file_of({**POINT_A, "more": "x"}).replace(b'"x"', b"[" * 150 + b"]" * 150), CheckpointTorn, "deeper than 100 levels"),
    (b"[]", NotACheckpoint, "holds a list"),
    (b"null", NotACheckpoint, "holds null"),
    (b'"version"', NotACheckpoint, "holds a text"),
    (b"1", NotACheckpoint, "holds a number"),
    (b"true", NotACheckpoint, "holds true or false"),
    (b"{}", WrongVersion, "no version"),
], ids=range(18))
def test_what_is_no_checkpoint_has_an_error_of_its_own(path, data, kind, words):
    error = refusal(path, data)
    assert type(error) is kind and words in str(error), repr(error)


@pytest.mark.parametrize("key", ["task", "turns", "tokensUsed", "messages", "pendingToolUse"])
def test_a_missing_key_is_named(path, key):
    error = refusal(path, file_of(without(key)))
    assert type(error) is NotACheckpoint and f"has no {key};" in str(error), repr(error)


@pytest.mark.parametrize("key, value", [
    *[("task", value) for value in (None, 1, ["a"])],
    *[(key, value) for key in ("turns", "tokensUsed") for value in ("2", 2.0, -1, True, None)],
    *[("messages", value) for value in (None, {}, "hello", [], ["hello"], [[]], [{"role": "user"}], [{"content": "hello"}],
                                       [{"role": "system", "content": "x"}], [{"role": ["user"], "content": "x"}], [{"role": "user", "content": None}],
                                       [{"role": "user", "content": ["x"]}], [{"role": "user", "content": [{"text": "x"}]}],
                                       [{"role": "user", "content": [{"type": 1}]}])],
    *[("pendingToolUse", value) for value in (False, "toolu_01", [], {}, [CALL], {**CALL, "id": 1}, {**CALL, "name": None}, {**CALL, "input": "x"},
                                              {"id": "t", "name": "n"}, {"id": "t", "input": {}}, {"name": "n", "input": {}})],
])
def test_a_wrong_type_is_named_with_what_belongs_there(path, key, value):
    error = refusal(path, file_of({**POINT_A, key: value}))
    assert type(error) is NotACheckpoint and f"In checkpoint.json, {key} is not " in str(error), repr(error)


@pytest.mark.parametrize("version, shown", [('"1"', 'version "1"'), ("true", "version true"), ("2", "version 2"), ("0", "version 0"), ("-1", "version -1"),
                                            ("1.5", "version 1.5"), ("1.0", "version 1.0"), ("null", "version null"), ("[1]", "version [1]")])
def test_another_version_is_refused_by_name_as_it_stands_in_the_file_before_anything_else(path, version, shown):  # C52
    data = f'{{"version": {version}, "pendingToolUse": [{json.dumps(CALL)}]}}'.encode()
    error = refusal(path, data)
    assert type(error) is WrongVersion
    assert f"has {shown}, and this program reads only version 1; resume it with the program that wrote it" in str(error)


def test_all_errors_are_told_apart_and_have_one_root():
    kinds = {CheckpointMissing, CheckpointUnreadable, CheckpointEmpty, CheckpointTorn, NotACheckpoint, WrongVersion}
    assert all(issubclass(kind, CheckpointError) for kind in kinds) and issubclass(CheckpointError, CourseError)
    assert not any(issubclass(a, b) for a in kinds for b in kinds - {a})


# Refused when saving

@pytest.mark.parametrize("scene, kind, words", [
    (without("turns"), NotACheckpoint, "checkpoint.json has no turns; nothing was saved."),
    ({**POINT_A, "messages": []}, NotACheckpoint, "messages is not a list of messages, each with role and content; nothing was saved."),
    ({**POINT_A, "version": 2}, WrongVersion, "has version 2, and this program reads only version 1; nothing was saved."),
    ([POINT_A], NotACheckpoint, "holds a list"),
    ({**POINT_A, "turns": Decimal(2)}, UnsavableValue, "turns can't be saved: Decimal is not a JSON type"),
    ({**POINT_A, "messages": [*POINT_A["messages"][:3], {"role": "assistant", "content": [{"type": "tool_use", "input": {"price": float("nan")}}]}]},
     UnsavableValue, "messages.3.content.0.input.price can't be saved: nan is not JSON"),
    (object(), UnsavableValue, "The value can't be saved: object is not a JSON type"),
], ids=["key", "messages", "version", "list", "Decimal", "NaN", "object"])
def test_a_scene_that_would_not_load_again_is_not_saved_and_the_old_file_stays(path, scene, kind, words):  # C43
    save_checkpoint(path, POINT_B)
    before, heard = path.read_bytes(), []
    with Run(listeners=[heard.append]), pytest.raises(CourseError) as error:
        save_checkpoint(path, scene)
    assert type(error.value) is kind and words in str(error.value), repr(error.value)
    assert path.read_bytes() == before and os.listdir(path.parent) == ["checkpoint.json"]
    assert heard == [], "nothing was written, so there was no moment"


# What a save says of itself

@pytest.mark.parametrize("scene, moment, pending", [(POINT_A, "save-a", "count_words"), (POINT_B, "save-b", None), (FINISHED, "final-save", None)])
def test_a_save_announces_the_point_that_the_scene_is_at(path, scene, moment, pending):
    heard = []
    with Run(listeners=[heard.append]):
        save_checkpoint(path, scene)
    assert [(m.label, m.facts) for m in heard] == [(f"mid-{moment}", {"pending": pending}), (f"after-{moment}", {"pending": pending})]


def test_dying_inside_point_b_leaves_point_a(path):
    save_checkpoint(path, POINT_A)
    with pytest.raises(SimulatedCrash), Run(crash_after=("mid-save-b", 1)):
        save_checkpoint(path, POINT_B)
    assert load_checkpoint(path) == POINT_A


def test_a_run_is_finished_when_the_model_has_spoken_last_and_nothing_is_pending():
    assert [is_finished(scene) for scene in (opening("x"), POINT_A, POINT_B, FINISHED)] == [False, False, False, True]
