"""The command ``course prove``: what it prints, and that it can fail. (Its parts have tests of their own.)"""
import pytest

from course_lib import cli
from course_lib.proof import kills, prove, sandbox


def tried(**figures):
    """A part that tries so much and finds nothing."""
    def part(proof):
        for name, count in figures.items():
            setattr(proof, name, getattr(proof, name) + count)
    return part


def test_the_figures_are_the_sums_of_what_was_tried(monkeypatch, capsys):
    monkeypatch.setattr(prove, "PARTS", {"Stories": tried(stories=1200, lives=300), "More": tried(stories=34, kills=5, faults=6, cuts=7)})
    assert cli.main(["prove", "--seed", "11"]) == 0
    out = capsys.readouterr().out
    figures = dict(line.split("  ", 1) for line in out.splitlines() if line and not line.startswith(" ") and "  " in line)
    assert figures["scenarios tried"].split()[:5] == ["1,234", "(in", "300", "lives;", "seed"] and "seed 11, all of them" in out
    assert [figures[name].split()[0] for name in ("kills survived", "faults injected", "power cuts", "lost")] == ["5", "6", "7", "nothing"]


def test_what_is_lost_is_told_in_its_shortest_story_and_the_command_fails(monkeypatch, capsys):
    def part(proof):
        proof.lose([("twice", "A long story of an e-mail that was sent two times."), ("torn", "A short one.")])

    monkeypatch.setattr(prove, "PARTS", {"Stories": part})
    assert cli.main(["prove"]) == 1
    out = capsys.readouterr().out
    assert "2 broken promises\n  LOST: torn: A short one.\n  LOST: twice: A long story" in out and "nothing" not in out


def test_what_the_machine_can_not_do_is_named_as_not_run(monkeypatch, capsys):
    monkeypatch.setattr(kills.shutil, "which", lambda name: None)
    monkeypatch.setattr(prove, "PARTS", {"Kills": prove.kill_for_real, "Disks": prove.fail_for_real})
    assert prove.prove() == 0
    out = capsys.readouterr().out
    assert "not run: real kills: strace is not here" in out and "a folder that is really read-only: bubblewrap is not here" in out


def test_what_may_not_be_traced_or_sandboxed_is_said_too(monkeypatch):
    monkeypatch.setattr(kills.sys, "platform", "linux")
    monkeypatch.setattr(kills.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(kills, "_strace_works", lambda: False)
    monkeypatch.setattr(sandbox, "_bubblewrap_works", lambda: False)
    assert kills.why_not() == "strace may not trace here"
    assert sandbox.why_not() == "bubblewrap may make no such place here"


def test_a_part_that_finds_no_harm_in_a_missing_sync_counts_as_lost(monkeypatch):
    monkeypatch.setattr(prove.power, "cut", lambda *args, **options: [])
    proof = prove.Proof()
    prove.cut_the_power(proof)
    assert len(proof.lost) == 2 and all("prove nothing" in sentence for sentence in proof.lost)


def test_a_policy_that_hides_its_weakness_counts_as_lost(monkeypatch):
    monkeypatch.setattr(prove, "SUPPORT_DESK", {"send_email": prove.SUPPORT_DESK["send_email"]})
    monkeypatch.setattr(prove, "POLICIES", {"blind": prove.POLICIES["blind"]})
    monkeypatch.setattr(prove, "HISTORY", prove.LESSON_6)
    real = prove.explore

    def explore(case, *args, **options):
        explored = real(case, *args, **options)
        explored.found.pop("twice", None)
        return explored

    monkeypatch.setattr(prove, "explore", explore)
    proof = prove.Proof(sample=3)
    prove.tell_stories(proof)
    assert [sentence.split(":")[:2] for sentence in proof.lost] == [["blind did not show what it is known to break", " twice"]]


@pytest.mark.parametrize("argv", [["--seed", "x"], ["--fast"]])
def test_a_wrong_option_is_refused(argv, capsys):
    with pytest.raises(SystemExit):
        cli.main(["prove", *argv])
    assert "usage" in capsys.readouterr().err.lower()
