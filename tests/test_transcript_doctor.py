"""TranscriptDoctor without a browser: examples, pasted text, files, mending, limits, hostile text."""
import base64
import html
import json
import re

import pytest
from markup import OURS, PAYLOADS, Parsed, is_only_ours

from course_lib.errors import CourseError
from course_lib.repair import LONE
from course_lib.scenarios.broken import BROKEN, SOUND
from course_lib.transcript import RULES, check_transcript
from course_lib.widgets.transcript_doctor import MAX_DRAWN, MAX_LINK, MAX_PASTED, TranscriptDoctor, meaning

TASK = {"role": "user", "content": "go"}


def choose(control, **state):
    """As the browser does it."""
    control._handle_msg({"content": {"data": {"method": "update", "state": state}}, "buffers": []})


def click(button):
    button._handle_msg({"content": {"data": {"method": "custom", "content": {"event": "click"}}}, "buffers": []})


def upload(doctor, data):
    state = {"value": [{"name": "session.jsonl", "type": "", "size": len(data), "last_modified": 1767603600000}]}
    doctor.file._handle_msg({"content": {"data": {"method": "update", "state": state, "buffer_paths": [["value", 0, "content"]]}}, "buffers": [memoryview(data)]})


def downloaded(doctor):
    """The file behind the link."""
    return json.loads(base64.b64decode(re.search(r'<a download="mended.json" href="data:application/json;base64,([^"]*)"', doctor.remedy.value)[1]))


@pytest.mark.parametrize("number, name", list(enumerate(BROKEN, 1)))
def test_each_example_is_shown_examined_and_mended(number, name):
    doctor = TranscriptDoctor()
    choose(doctor.example, index=number)
    breach = check_transcript(BROKEN[name])[0]
    shown = html.unescape(doctor.findings.value)
    assert json.loads(html.unescape(doctor.shown.value).removeprefix("<pre>").removesuffix("</pre>")) == BROKEN[name]
    assert all(words in shown for words in (breach["where"], breach["id"], breach["text"], meaning(breach["rule"])))
    assert not doctor.mend_button.disabled and doctor.remedy.value == ""
    click(doctor.mend_button)
    assert doctor.alert.value == "" and doctor.changes[0]["what"] in html.unescape(doctor.remedy.value)
    assert downloaded(doctor) == doctor.mended and check_transcript(doctor.mended) == []


def test_an_example_leaves_what_stands_in_the_text_box_alone():
    doctor = TranscriptDoctor()
    choose(doctor.pasted, value=json.dumps(SOUND))
    choose(doctor.example, index=1)
    assert doctor.pasted.value == json.dumps(SOUND) and "✗" in doctor.findings.value
    click(doctor.examine_button)
    assert "✓" in doctor.findings.value and doctor.shown.value == ""


@pytest.mark.parametrize("rule", [*RULES, LONE])
def test_every_breach_says_what_it_means(rule):
    assert meaning(rule).endswith(".")


def test_a_sound_conversation_is_said_to_be_sound_and_offers_no_mend():
    doctor = TranscriptDoctor()
    doctor.pasted.value = json.dumps(SOUND)
    click(doctor.examine_button)
    assert "✓ 3 messages, nothing that the API would refuse" in doctor.findings.value and doctor.mend_button.disabled


def test_a_file_is_examined_and_no_copy_of_it_stays_in_the_notebook():
    doctor = TranscriptDoctor()
    upload(doctor, json.dumps(BROKEN["resumed twice"]).encode())
    assert "single-result" in [breach["rule"] for breach in doctor.breaches]
    assert doctor.file.value == () and doctor.pasted.value == ""
    upload(doctor, json.dumps(SOUND).encode())
    assert doctor.breaches == [] and "✓" in doctor.findings.value


def test_what_cannot_be_read_is_an_alert_and_nothing_of_the_last_patient_stays():
    doctor = TranscriptDoctor()
    choose(doctor.example, index=1)
    click(doctor.mend_button)
    doctor.pasted.value = "{"
    click(doctor.examine_button)
    assert "read as JSON" in doctor.alert.value and 'role="alert"' in doctor.alert.value and "<details>" not in doctor.alert.value
    assert doctor.findings.value == doctor.remedy.value == "" and doctor.mend_button.disabled and doctor.mended is None


def test_from_python_examine_takes_text_or_bytes_and_raises_what_it_cannot_read():
    doctor = TranscriptDoctor()
    for given in (json.dumps(BROKEN["resumed twice"]), json.dumps(BROKEN["resumed twice"]).encode()):
        doctor.examine(given)
        doctor.mend()
        assert check_transcript(doctor.mended) == [] and len(doctor.changes) == 1
    with pytest.raises(CourseError):
        doctor.examine("")
    with pytest.raises(CourseError, match="examine it first"):
        doctor.mend()


def test_what_only_a_person_can_mend_is_listed_and_no_file_is_offered():
    doctor = TranscriptDoctor()
    doctor.examine(json.dumps([{"role": "robot", "content": "x"}]))
    doctor.mend()
    assert "without a person" in doctor.remedy.value and "messages.0.role" in doctor.remedy.value and "download" not in doctor.remedy.value


def test_of_very_many_breaches_the_first_are_drawn_and_the_rest_is_counted():
    doctor = TranscriptDoctor()
    doctor.examine(json.dumps([{"role": "assistant", "content": [{"type": "tool_use", "id": f"toolu_{i:05}", "name": "read", "input": {}} for i in range(5000)]}]))
    doctor.mend()
    assert len(doctor.breaches) == 5001 and doctor.findings.value.count("<li>") == MAX_DRAWN
    assert f"… and {5001 - MAX_DRAWN} more" in doctor.findings.value
    assert len(doctor.findings.value) < 100_000 and doctor.remedy.value.count("<li>") == MAX_DRAWN


def test_a_big_result_is_no_link_and_the_way_to_it_is_named():
    doctor = TranscriptDoctor()
    doctor.examine(json.dumps([{"role": "user", "content": "x" * (MAX_LINK + 1)}, {"role": "user", "content": ""}]))
    doctor.mend()
    assert "<a " not in doctor.remedy.value and "course doctor FILE --out" in doctor.remedy.value and len(doctor.remedy.value) < 10_000


def test_too_much_in_the_text_box_is_refused_with_the_way_out():
    doctor = TranscriptDoctor()
    doctor.pasted.value = json.dumps([{"role": "user", "content": "x" * MAX_PASTED}])
    click(doctor.examine_button)
    assert "course doctor FILE" in doctor.alert.value and doctor.findings.value == ""


@pytest.mark.parametrize("text", PAYLOADS)
def test_hostile_text_is_text(text):
    doctor = TranscriptDoctor()
    doctor.examine(json.dumps([TASK, {"role": "assistant", "content": [{"type": "tool_use", "id": text, "name": text, "input": {text: text}}]},
                               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": text + "!", "content": text}]}]))
    doctor.mend()
    is_only_ours(doctor.findings.value)
    remedy = Parsed(doctor.remedy.value)
    assert set(remedy.tags) <= OURS | {"a"} and remedy.attributes <= {"style", "role", "download", "href"}
    assert all(c.isprintable() or c == "\n" for c in remedy.text)


def test_the_static_twin_is_plain_and_the_same_each_time():
    bundles = [TranscriptDoctor()._repr_mimebundle_()[0] for _ in range(2)]
    assert bundles[0]["text/html"] == bundles[1]["text/html"] and bundles[0]["text/plain"] == "TranscriptDoctor()"
    assert "<style" not in bundles[0]["text/html"] and all(name in bundles[0]["text/html"] for name in BROKEN)
