"""Which of a student's answers to an exercise counts, where there are several files: a notebook as it was given beside a filled-in copy, the same text sent twice."""
from dataclasses import replace

from ...words import tr
from ..catalogue import exercise
from ..exercise import NotAttempted

LONGEST_ANSWER = {"form": 20_000, "code": 200_000}  # characters; a right answer has a tenth of that
ANSWERED, ELSEWHERE, UNTOUCHED, MISSING = range(4)  # how much there is of an answer; less of it does not compete with more


def one_each(found):
    """For each exercise of each student what there is of it. Two different answers are a problem: nobody but the student knows which one counts."""
    groups = {}
    for submission in found:  # where nobody knows the exercise, nothing is known to be about the same
        groups.setdefault((submission.student, submission.exercise, submission.exercise or submission.file), []).append(submission)
    for group in groups.values():
        if len(group) > 1:
            ranks = [_rank(submission) for submission in group]
            group = [submission for submission, rank in zip(group, ranks) if rank == min(ranks)]
            different = {submission.text.replace("\r\n", "\n").strip() if submission.text else submission.file for submission in group}
            if min(ranks) == ANSWERED and len(different) > 1:
                files = ", ".join(dict.fromkeys(submission.file for submission in group))
                group = [replace(group[0], file=files, problem=tr("There is more than one answer to this exercise; which one counts?"))]
        yield group[0]


def _rank(submission):
    if submission.text is None:
        return MISSING
    if submission.problem:
        return ELSEWHERE if submission.text else ANSWERED  # what can't be read may be anything
    return UNTOUCHED if is_untouched(submission.exercise, submission.text) else ANSWERED


def is_untouched(id, text):
    """Whether there is nothing of a student's in an answer. No program is run for that."""
    if not text.strip() or len(text) > LONGEST_ANSWER[exercise(id).kind]:
        return not text.strip()
    try:
        with exercise(id).subject(text):
            return False
    except NotAttempted:
        return True
    except Exception:  # whatever it is, the check meets it again and tells of it
        return False
